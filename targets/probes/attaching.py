"""Putting the probes that fit a device around a target.

Guarantees that only a target of ours is judged: releases and other people's allocators made no promise, so theirs is counted alone.
"""

from __future__ import annotations

from oracle.target import Target
from targets.probes.host_syncs import host_sync_probe
from targets.probes.launcher_launches import LauncherLaunches
from targets.probes.launches import Launches
from targets.probes.probed_target import ProbedTarget

OURS = ("eager", "fused", "canary", "mutant")


def with_probes(target: Target, device: str) -> ProbedTarget:
    """``target`` on ``device``, watched for host syncs and launches. Raises BlindDetectorError when a probe does not work there."""
    syncs = host_sync_probe(device)
    launches = Launches() if device.startswith("cuda") else LauncherLaunches()
    judged = target.name.partition(":")[0] in OURS
    return ProbedTarget(target, syncs, launches, judged=judged)


def cost_lines(target: ProbedTarget) -> tuple[str, ...]:
    """A line for each method that was called: calls, calls that waited, calls with shapes that depend on values, most launches."""
    lines = []
    for method, tally in sorted(target.tallies.items()):
        places = f" ({', '.join(sorted(tally.places))})" if tally.places else ""
        lines.append(
            f"{method}: {tally.calls} calls, {tally.syncing} waited, {tally.shaping} with shapes by value, "
            f"at most {tally.most_launches} launches{places}"
        )
    return tuple(lines)
