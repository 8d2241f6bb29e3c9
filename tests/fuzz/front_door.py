"""What a fuzzing test does: run a family's machine under Hypothesis, and report what it raises as a short trace."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from hypothesis import Phase, settings
from hypothesis import seed as with_seed
from hypothesis.stateful import run_state_machine_as_test

from campaigns.output_folder import folder_name
from oracle.finding import Finding, FindingError, signature
from oracle.geometry import Family, Level
from oracle.lockstep import Session, run_trace
from oracle.target import Target
from oracle.trace import Callers, Trace, encode_trace
from strategies.explore import EXAMPLES_A_RUN
from strategies.machines import make_machine
from strategies.reducer import Reduction, reduce_trace
from strategies.setting import MachineSetting

Cause = tuple[str, str, str, str]


def fuzz(
    target: Target,
    family: Family,
    *,
    callers: Callers,
    level: Level,
    seed: int,
    profile: settings,
    label: str = "",
    accepted: Callable[[Finding], bool] | None = None,
) -> list[Reduction]:
    """Run the examples of ``profile``; the reduced traces of the first failing run, none when all passed.

    What is ``accepted`` fails nothing. Runs are short for the reason that ``strategies.explore`` gives; run k has the seed ``seed`` + k.
    """
    failing: dict[Cause, Trace] = {}

    def remember(trace: Trace, session: Session) -> None:
        for finding in session.findings:
            failing[finding.cause] = trace

    setting = MachineSetting(
        targets=(target,), family=family, callers=callers, level=level, label=label
    )
    machine = make_machine(setting, raising="findings", accepted=accepted, on_example=remember)
    generates = Phase.generate in profile.phases
    runs = -(-profile.max_examples // EXAMPLES_A_RUN) if generates else 1
    one_run = settings(profile, max_examples=min(profile.max_examples, EXAMPLES_A_RUN))
    for run in range(runs):
        try:
            run_state_machine_as_test(with_seed(seed + run)(machine), settings=one_run)
        except (FindingError, BaseExceptionGroup) as error:
            causes = dict.fromkeys(finding.cause for finding in _findings_of(error))
            return [_reduce(failing[cause], target, cause) for cause in causes]
    return []


def report(reduction: Reduction, folder: Path) -> str:
    """What a person needs: the finding, its trace, and the command that replays it from the file that is written."""
    finding = reduction.finding
    folder = folder / folder_name(finding.target)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{signature(finding, reduction.trace.operations)}.json"
    data = encode_trace(reduction.trace)
    path.write_bytes(data)
    lines = [finding.sentence(), f"reduced in {reduction.runs} runs to:"]
    lines += [f"  {operation!r}" for operation in reduction.trace.operations]
    lines += [data.decode().rstrip(), shlex.join(["kvoracle", "replay", str(path), finding.target])]
    return "\n".join(lines)


def _reduce(trace: Trace, target: Target, cause: Cause) -> Reduction:
    return reduce_trace(trace, lambda candidate: run_trace(candidate, [target]).findings, cause)


def _findings_of(error: BaseException) -> Iterator[Finding]:
    """The findings in an exception, or in a group of them. Raises anything else again: it is a fault of the suite."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _findings_of(inner)
    elif isinstance(error, FindingError):
        yield error.finding
    else:
        raise error
