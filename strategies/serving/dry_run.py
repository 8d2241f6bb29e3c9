"""A day of traffic without an allocator: the prediction answers in its place."""

from __future__ import annotations

from oracle.caller import Caller
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.operations import Base
from oracle.prediction import Prediction, make_prediction
from oracle.trace import Trace
from strategies.serving.scheduler import serve
from strategies.serving.workload import Workload


def simulated_trace(
    geometry: Geometry, contract: Contract, workload: Workload, seed: int, mode: Mode | None = None
) -> Trace:
    """The trace of a day on an allocator that does what ``contract`` says. Raises ``UsageError`` on an impossible geometry."""
    mode = mode or Mode()
    prediction = make_prediction(geometry, mode, contract)
    caller = Caller(geometry, contract, may_break=frozenset())
    operations: list[Base] = []
    for operation in serve(caller, workload, seed):
        operations.append(operation)
        _perform(caller, prediction, operation)
    return Trace(
        geometry=geometry,
        mode=mode,
        callers="legal",
        operations=tuple(operations),  # type: ignore[arg-type]
        note=f"a simulated day of {workload.requests} requests, seed {seed}",
    )


def _perform(caller: Caller, prediction: Prediction, operation: Base) -> None:
    plan = caller.plan(operation)
    planned = next(plan, None)
    while planned is not None and caller.may_call(planned):
        try:
            planned = plan.send(prediction.apply(planned.call))
        except StopIteration:
            break
    plan.close()
    caller.read_sizes(prediction.snapshot().queries)
