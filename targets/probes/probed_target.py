"""Any target with probes attached: each outcome carries what the call cost.

Guarantees that only the inside of a call is watched, not the driver's reading of what it returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from msgspec.structs import replace

from oracle.call import Call
from oracle.contract import Contract
from oracle.costs import Costs
from oracle.geometry import Geometry, Mode
from oracle.observation import Outcome
from oracle.target import Target
from oracle.unified_observation import AnySnapshot
from targets.probes.cuda_syncs import CudaSyncs
from targets.probes.host_reads import HostReads
from targets.probes.launcher_launches import LauncherLaunches
from targets.probes.launches import Launches
from targets.watching import attached


@dataclass
class Tally:
    """What the calls of one method cost: how many ``calls`` there were, how many of them waited (``syncing``) or had a shape
    that depends on values (``shaping``), every place where one did, and the most launches of one call.
    """

    calls: int = 0
    syncing: int = 0
    shaping: int = 0
    places: set[str] = field(default_factory=set)
    most_launches: int | None = None

    def add(self, costs: Costs) -> None:
        """One more call."""
        self.calls += 1
        self.syncing += bool(costs.syncs)
        self.shaping += bool(costs.shapes)
        self.places.update(costs.syncs, costs.shapes)
        if costs.launches is not None:
            self.most_launches = max(len(costs.launches), self.most_launches or 0)


class ProbedTarget:
    """``target``, watched by ``syncs`` and, if given, ``launches``.

    ``tallies`` reports by method over all runs. ``judged``: outcomes carry costs, so that the judge finds syncs where there must be
    none, and launches beyond the budget on a target that says ``keeps_launch_budget``; without it they are reported only, as is
    right for a release, which made no such promise.
    """

    def __init__(
        self,
        target: Target,
        syncs: CudaSyncs | HostReads,
        launches: Launches | LauncherLaunches | None = None,
        *,
        judged: bool = True,
    ) -> None:
        self.name = target.name
        self.versions = target.versions
        self.tallies: dict[str, Tally] = {}
        self._target = target
        self._syncs = syncs
        self._launches = launches
        self._judged = judged
        self._looked = False

    def contract(self, family: str) -> Contract | None:
        """The target's."""
        return self._target.contract(family)

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        """As the target, unwatched."""
        self._target.reset(geometry, mode)

    def snapshot(self) -> AnySnapshot:
        """The target's, unwatched."""
        return self._target.snapshot()

    def __getattr__(self, name: str) -> object:
        # What only some targets have, such as ``allocator`` and ``notes``.
        return getattr(self._target, name)

    def apply(self, call: Call) -> Outcome:
        """As the target, watched."""
        self._looked = False
        with attached(self):
            outcome = self._target.apply(call)
        if not self._looked:
            return outcome
        costs = Costs(
            syncs=tuple(self._syncs.syncs),
            shapes=tuple(self._syncs.shapes),
            launches=tuple(self._launches.kernels) if self._launches is not None else None,
            budgeted=getattr(self._target, "keeps_launch_budget", False),
        )
        self.tallies.setdefault(call.method, Tally()).add(costs)
        return replace(outcome, costs=costs) if self._judged else outcome

    @contextmanager
    def watch(self, twins: Sequence[torch.Tensor]) -> Iterator[None]:
        """The look of both probes, for the driver."""
        self._looked = True
        if self._launches is None:
            with self._syncs.watch(twins):
                yield
            return
        # The profiler waits for the device, which is no sync of the allocator.
        with self._launches.watch(), self._syncs.watch(twins):
            yield
