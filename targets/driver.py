"""Performs a ``Call`` on any object that has the method names of SGLang's allocators.

Guarantees that whatever the allocator raises becomes part of the ``Outcome``, that the returned slots are read before the
caller overwrites what it passed, that asynchronous asserts speak at once, and that on CUDA any other asynchronous failure is
charged to the call that caused it. Knows no allocator class: where an allocator keeps its sub-allocators is a parameter (``Reach``).
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from oracle.observation import Outcome
from targets.async_asserts import AsyncAssertionError, asserts_on_host
from targets.call_arguments import Arguments
from targets.rows.methods import ROW_METHODS
from targets.watching import watching, watching_now

if TYPE_CHECKING:
    from oracle.call import Call
    from targets.hits import HitRecorder
    from targets.request_slots import RequestSlots
    from targets.rows.calls import RowCaller

_INVARIANT_MESSAGE = re.compile(r"invariant-check FAILED \[([^\]]+)\]")
_REQUEST_CALLS = {"take_request_slots": "take", "return_request_slots": "give_back"}
_CONTRACT_ERRORS = (AssertionError, NotImplementedError, ValueError)


@dataclass
class Reach:
    """Where an allocator keeps what a call can be made on, and the states that it backed up.

    ``full`` and ``swa`` are the attribute names of a hybrid allocator's two sub-allocators. ``backups`` holds what
    ``backup_state`` returned, the newest last: ``restore_state`` takes it from there. ``request_slots`` is the caller's own pool
    of request slots where there is one, ``rows`` makes the calls on rows where there is a layer for them. Use one ``Reach`` for
    each allocator.
    """

    full: str = "full_attn_allocator"
    swa: str = "swa_attn_allocator"
    backups: list[Any] = field(default_factory=list)
    request_slots: RequestSlots | None = None
    rows: RowCaller | None = None

    def subject(self, allocator: object, call: Call) -> Any:
        """The allocator or sub-allocator that ``call.pool`` names. Raises AttributeError when there is none."""
        if call.pool == "composite":
            return allocator
        return getattr(allocator, self.full if call.pool == "full" else self.swa)


def perform(
    allocator: object,
    call: Call,
    device: str,
    *,
    observe: HitRecorder,
    reach: Reach | None = None,
) -> Outcome:
    """Make ``call`` on ``allocator`` with tensors on ``device`` and say what came of it.

    ``observe`` is restarted first and read at the end; whoever evaluates invariants reports to it. Raises nothing that the
    allocator raises; only what is no ``Exception`` (an interrupt) passes through.
    """
    observe.restart()
    reach = reach if reach is not None else Reach()
    arguments = Arguments(call, device, separate=watching_now())
    row = None
    if reach.rows is not None and call.method in ROW_METHODS:
        row = reach.rows.prepare(call, arguments)
    value, dtype, error, message = None, "", "", ""
    try:
        with asserts_on_host(), watching(arguments.twins):
            result = row.make() if row else _invoke(allocator, call, arguments, reach)
        if isinstance(result, torch.Tensor):
            value, dtype = tuple(result.tolist()), str(result.dtype).removeprefix("torch.")
        elif isinstance(result, int):
            value = (int(result),)
        finish(device)
    except Exception as raised:  # noqa: BLE001 (everything an allocator raises is an observation)
        value, dtype = None, ""
        error, message = classify(raised), str(raised)
    if call.overwrite:
        # Only a CUDA context that is already lost refuses this; the next look at the allocator says so.
        with suppress(RuntimeError):
            arguments.overwrite()
    return Outcome(
        value=value,
        error=error,
        message=message,
        hits=observe.hits,
        counted=observe.counts,
        dtype=dtype,
        resolved=(row.cursor(),) if row else arguments.resolved(),
    )


def classify(raised: Exception) -> str:
    """The ``Outcome.error`` of an exception: a contract error's class, ``invariant:NAME`` or ``crash:CLASS``."""
    for contract_error in _CONTRACT_ERRORS:
        if isinstance(raised, contract_error):
            return contract_error.__name__
    if isinstance(raised, RuntimeError):
        named = _INVARIANT_MESSAGE.search(str(raised))
        if named is not None:
            return f"invariant:{named.group(1)}"
    if isinstance(raised, AsyncAssertionError):
        # Where an allocator asserts, the contract says that it asserts, and not on which side of the device.
        return AssertionError.__name__
    return f"crash:{type(raised).__name__}"


def _invoke(allocator: object, call: Call, arguments: Arguments, reach: Reach) -> Any:
    if call.method in _REQUEST_CALLS:
        assert reach.request_slots is not None, "only rings are counted in request slots"
        return getattr(reach.request_slots, _REQUEST_CALLS[call.method])(call.need)
    method = getattr(reach.subject(allocator, call), call.method)
    if call.method == "backup_state":
        reach.backups.append(method())
        return None
    if call.method == "restore_state":
        return method(reach.backups.pop())
    return method(*arguments.positional, **arguments.named)


def finish(device: str) -> None:
    """Wait until ``device`` did what was launched."""
    # An asynchronous device assert would otherwise surface in a later call, which did nothing wrong.
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
