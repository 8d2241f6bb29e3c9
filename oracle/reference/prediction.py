"""The prediction oracle: a reference allocator with the shape of a target (contract_paged_swa §14).

Guarantees the outcome of each call and the whole state after it, as the contract says. Not written from, and not
compared with, any implementation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oracle.call import Call
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.observation import Outcome, Snapshot
from oracle.reference.further import FURTHER, Further
from oracle.reference.hybrid_state import SubPool, make_pool
from oracle.reference.hybrid_swa import HybridPool
from oracle.reference.page_interleave import PageInterleavePool
from oracle.reference.pure_swa import PureSwaPool
from oracle.reference.raised import PredictedError, UndefinedError, not_implemented
from oracle.reference.row_layer import RowPool
from oracle.reference.signals import Signals

NUMBERS = frozenset({"request_slot_reserve"})
"""The calls whose value is a plain number, in no tensor."""

# What a call returns is None, slots or a number; the pools differ in class, not in how they are called.
_PERFORM: dict[str, Callable[[Any, Call], list[int] | None]] = {
    "alloc": lambda pool, call: pool.alloc(call.need),
    "alloc_extend": lambda pool, call: pool.alloc_extend(call),
    "alloc_extend_swa_tail": lambda pool, call: pool.alloc_extend_swa_tail(call),
    "alloc_decode": lambda pool, call: pool.alloc_decode(call),
    "free": lambda pool, call: pool.free(call.slots),
    "free_swa": lambda pool, call: pool.free_swa(call.slots),
    "free_full": lambda pool, call: pool.free_full(call.slots),
    "free_segment": lambda pool, call: pool.free_segment(call.slots, call.start_pos),
    "free_swa_segment": lambda pool, call: pool.free_swa_segment(call.slots, call.start_pos),
    "free_full_segment": lambda pool, call: pool.free_full_segment(call.slots, call.start_pos),
    "free_segments": lambda pool, call: pool.free_segments(call.segments),
    "free_full_segments": lambda pool, call: pool.free_full_segments(call.segments),
    "free_page_ids": lambda pool, call: pool.free_page_ids(call.slots),
    "free_group_begin": lambda pool, _: pool.free_group_begin(),
    "free_group_end": lambda pool, _: pool.free_group_end(),
    "merge_and_sort_free": lambda pool, _: pool.merge_and_sort_free(),
    "set_full_to_swa_mapping": lambda pool, call: pool.set_full_to_swa_mapping(
        call.slots, call.peers
    ),
    "clear_full_to_swa_mapping": lambda pool, call: pool.clear_full_to_swa_mapping(call.slots),
    "translate_loc_from_full_to_swa": lambda pool, call: pool.translate_loc_from_full_to_swa(
        call.slots
    ),
    "clear": lambda pool, _: pool.clear(),
    "backup_state": lambda pool, _: pool.backup_state(),
    "restore_state": lambda pool, _: pool.restore_state(),
    "resize": lambda pool, call: (
        pool.resize(call.size, call.size_swa)
        if isinstance(pool, HybridPool | PureSwaPool)
        else pool.resize(call.size)
    ),
    "take_request_slots": lambda pool, call: pool.take_request_slots(call.need),
    "return_request_slots": lambda pool, call: pool.return_request_slots(call.need),
    "alloc_logical_only": lambda pool, call: pool.alloc_logical_only(call),
    "alloc_device_buffer": lambda pool, call: pool.alloc_device_buffer(call.slots, call.need),
    "free_hisparse": lambda pool, call: pool.free_hisparse(call.slots),
    "free_hisparse_indices": lambda pool, call: pool.free_hisparse_indices(call.slots),
    "configure_spec_scratch": lambda pool, call: pool.configure_spec_scratch(
        call.need, call.device_buffer
    ),
    "request_slot_reserve": lambda pool, call: pool.request_slot_reserve(call.need, call.slot_held),
    "alloc_cyclic": lambda pool, call: pool.alloc_cyclic(call.start_class, call.need),
    "alloc_group_begin": lambda pool, call: pool.alloc_group_begin(call.need),
    "alloc_group_end": lambda pool, _: pool.alloc_group_end(),
    "evict_out_of_window": lambda pool, call: pool.evict_out_of_window(call),
    "free_row_segments": lambda pool, call: pool.free_row_segments(
        call.segments, call.evicted, call.dead_lo
    ),
    "free_row": lambda pool, call: pool.free_row(call.slots, call.cursors, call.ranges),
}


class Reference:
    """One reference allocator in the state after construction.

    ``undefined`` is "" or one sentence: why the contract leaves the result or the state of the last call open. The
    outcome and the state then mean nothing, and neither do those of later calls.
    """

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        self.undefined = ""
        self._contract = contract
        self._composite: Further | None = None
        """The allocator, unless it is a single pool, ``_main``."""
        self._below: dict[str, SubPool] = {}
        """The pools below a composite that take calls themselves."""
        if geometry.family == "hybrid-swa":
            self._composite = HybridPool(geometry, mode, contract)
        elif geometry.family in FURTHER:
            self._composite = FURTHER[geometry.family](geometry, mode, contract)
        if isinstance(self._composite, HybridPool):
            self._below = {"full": self._composite.full, "swa": self._composite.swa}
        if self._composite is not None:
            self._signals = self._composite.signals
            return
        self._signals = Signals(mode.level, contract)
        self._main = make_pool(
            geometry.size,
            geometry.page_size,
            contract,
            need_sort=geometry.need_sort,
            debug=mode.debug and contract.has_debug,
            paged=geometry.family == "paged",
        )

    def apply(self, call: Call) -> Outcome:
        """Perform ``call`` and return what it gives back; raises nothing of what the allocator raises."""
        self.undefined = ""
        self._signals.begin_call()
        try:
            value = self._perform(call)
            self._signals.end_call()
        except PredictedError as error:
            return self._outcome(call, error=error.kind, message=str(error))
        except UndefinedError as reason:
            self.undefined = str(reason)
            return self._outcome(call)
        return self._outcome(call, value)

    def snapshot(self) -> Snapshot:
        """The whole state; its lists are the reader's, their inner lists are shared and never change."""
        if self._composite is not None:
            return self._composite.snapshot()
        pool = self._main.state()
        return Snapshot(
            full=pool,
            swa_set_pile=[],
            swa_page_pile=[],
            queries={"available_size": pool.available, "size": pool.size},
            new_pages=[],
        )

    def _perform(self, call: Call) -> list[int] | None:
        pool, methods = self._pool_and_methods(call)
        if call.method not in methods or call.method not in _PERFORM:
            not_implemented(f"{call.method} does not exist on the {call.pool} allocator here")
        return _PERFORM[call.method](pool, call)

    def _pool_and_methods(self, call: Call) -> tuple[Further | SubPool | None, frozenset[str]]:
        if call.pool == "composite":
            return self._composite or self._main, self._contract.methods
        pool = self._below.get(call.pool)
        return pool, frozenset() if pool is None else self._contract.pool_methods

    def _outcome(
        self,
        call: Call,
        value: list[int] | None = None,
        *,
        error: str = "",
        message: str = "",
    ) -> Outcome:
        return Outcome(
            value=None if value is None else tuple(value),
            error=error,
            message=message,
            hits=tuple(self._signals.hits),
            counted=self._signals.counted(),
            dtype="" if value is None or call.method in NUMBERS else "int64",
            resolved=self._resolved(call),
        )

    def _resolved(self, call: Call) -> tuple[int, ...]:
        """The caller's rotation bases after a call that takes some, -1 for one that is still open; the evicted cursor after a call on
        a row, whether or not it raised: only a window eviction moves it.
        """
        if call.method == "evict_out_of_window" and isinstance(self._composite, RowPool):
            return (self._composite.cursor,)
        if call.method in ("free_row", "free_row_segments"):
            return (call.cursors.evicted if call.method == "free_row" else call.evicted,)
        if call.method != "alloc_extend" or not isinstance(self._composite, PageInterleavePool):
            return ()
        return tuple(-1 if base is None else base for base in self._composite.bases)


def make_reference(geometry: Geometry, mode: Mode, contract: Contract) -> Reference:
    """A new reference allocator. Raises ``UsageError`` on a geometry that no allocator can have."""
    geometry.check()
    return Reference(geometry, mode, contract)
