"""The prediction oracle of the unified families: a reference allocator with the shape of a target.

Guarantees the outcome of each call and the whole state after it, as the contract says. Not written from, and not compared
with, any implementation.
"""

from __future__ import annotations

from oracle import kv_content
from oracle.call import Call
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.observation import Outcome
from oracle.reference.raised import PredictedError, UndefinedError, not_implemented
from oracle.unified.full_and_state import FullAndState
from oracle.unified.performing import ON_BAND, ON_COMPOSITE, SLOTS_RETURNED, Value
from oracle.unified.pool import Piles, UnifiedPool
from oracle.unified.three_pools import ThreePools
from oracle.unified.two_pools import TwoPools
from oracle.unified.verifier import byte_accounting
from oracle.unified_observation import UnifiedSnapshot

POOLS: dict[str, type[UnifiedPool]] = {
    "unified-swa": TwoPools,
    "unified-mamba-swa": ThreePools,
    "unified-mamba": FullAndState,
}


class UnifiedReference:
    """One reference allocator in the state after construction.

    ``undefined`` is "" or one sentence: why the contract leaves the result or the state of the last call open. The
    outcome and the state then mean nothing, and neither do those of later calls.
    """

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        self.undefined = ""
        self._contract = contract
        self._pool = POOLS[geometry.family](geometry, mode, contract)
        self._next_number = 1

    def apply(self, call: Call) -> Outcome:
        """Perform ``call`` and return what it gives back; raises nothing of what the allocator raises."""
        self.undefined = ""
        self._pool.signals.begin_call()
        self._pool.begin_call()
        try:
            outcome = self._outcome(call, self._perform(call))
        except PredictedError as error:
            return self._outcome(call, error=error.kind, message=str(error))
        except UndefinedError as reason:
            self.undefined = str(reason)
            return self._outcome(call)
        self._write_kv(call, outcome)
        return outcome

    def snapshot(self) -> UnifiedSnapshot:
        """The whole state; its lists are the reader's."""
        pool = self._pool
        piles = pool.group or Piles()
        return UnifiedSnapshot(
            bands={name: band.state() for name, band in pool.bands.items()},
            group_open=pool.group is not None,
            token_pile=piles.tokens[:],
            representative_pile=piles.representatives[:],
            full_token_pile=piles.full_tokens[:],
            full_representative_pile=piles.full_representatives[:],
            queries=pool.size_queries(),
            byte_accounting=byte_accounting(pool.chain),
            copies=sorted(copy for band in pool.bands.values() for copy in band.copies),
            prepared=_prepared_states(pool),
        )

    def _perform(self, call: Call) -> Value:
        composite = call.pool == "composite"
        methods = self._contract.methods if composite else self._contract.pool_methods
        table = ON_COMPOSITE if composite else ON_BAND
        known = composite or call.pool in self._pool.bands
        if call.method not in methods or call.method not in table or not known:
            not_implemented(f"{call.method} does not exist on the {call.pool} allocator here")
        return table[call.method](self._pool, call)

    def _write_kv(self, call: Call, outcome: Outcome) -> None:
        slots, bands = kv_content.written_by(call, outcome)
        for name, band in self._pool.bands.items():
            if name in bands:
                size = band.grid.page_size
                kv_content.write(band.content, band.v2p, size, slots, self._next_number)
        self._next_number += len(slots)

    def _outcome(
        self, call: Call, value: Value = None, *, error: str = "", message: str = ""
    ) -> Outcome:
        signals = self._pool.signals
        returned = value is not None and call.method in SLOTS_RETURNED
        return Outcome(
            value=None if value is None else tuple(value),
            error=error,
            message=message,
            hits=tuple(signals.hits),
            counted=signals.counted(),
            dtype="int64" if returned else "",
            evicted=tuple(self._pool.evicted),
        )


def _prepared_states(pool: UnifiedPool) -> list[int] | None:
    """A copy of what is left of the states that were taken out in advance."""
    wrapper = pool.wrapper
    return None if wrapper is None or wrapper.prepared is None else wrapper.prepared[:]
