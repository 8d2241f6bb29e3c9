"""What the composites of all unified families share: the chain of bands, the free group, states, the caller's events
(contract_unified §1, §3, §9, §10).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain as chained

from oracle.byte_buffer import BandName
from oracle.call import Segment
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.observation import Eviction
from oracle.reference.raised import require
from oracle.reference.signals import Signals
from oracle.unified.band import Band
from oracle.unified.end_band import EndBand
from oracle.unified.floating_band import FloatingBand
from oracle.unified.relief import relieve_band
from oracle.unified.state_wrapper import StateWrapper
from oracle.unified.stream import Forward, Stream


@dataclass
class Piles:
    """What waits in an open group, an entry for each deferred call."""

    tokens: list[list[int]] = field(default_factory=list)
    representatives: list[list[int]] = field(default_factory=list)
    full_tokens: list[list[int]] = field(default_factory=list)
    full_representatives: list[list[int]] = field(default_factory=list)

    def any(self) -> bool:
        """Whether anything waits, on whichever pile."""
        waiting = (self.tokens, self.representatives, self.full_tokens, self.full_representatives)
        return any(waiting)


class UnifiedPool:
    """The bands by name, FULL first; ``chain`` from the low to the high end of the buffer. ``group`` is None when closed."""

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        self.contract = contract
        self.signals = Signals(mode.level, contract)
        self.page_size = geometry.page_size
        self.stream = Stream()
        self.bands: dict[BandName, Band] = {}
        self.group: Piles | None = None
        self.evicted: list[Eviction] = []
        """What the tree of the last call gave up."""
        buffer = geometry.bytes_shared
        grids = geometry.grids()
        self.sink_bytes = max(
            *(grid.entry_bytes for grid in grids.values()),
            *(grid.page_bytes for name, grid in grids.items() if name != "state"),
        )
        full_up = buffer.full_direction == "up"
        for name, grid in grids.items():
            if name == "swa" and "state" in grids:
                self.bands[name] = FloatingBand(name, grid, buffer.total_bytes, contract)
                continue
            grows_up = full_up if name == "full" else not full_up
            self.bands[name] = EndBand(
                name,
                grid,
                buffer.total_bytes,
                contract,
                direction="up" if grows_up else "down",
                owner=name != "swa",
                lazy=buffer.lazy,
            )
        self.chain = list(self.bands.values()) if full_up else list(self.bands.values())[::-1]
        for low, high in zip(self.chain, self.chain[1:], strict=False):
            low.high, high.low = high, low
        full = self.bands["full"]
        assert isinstance(full, EndBand)
        self.full = full
        self.wrapper = StateWrapper(self.bands["state"]) if "state" in self.bands else None
        """The allocator of states above their band."""

    @property
    def state(self) -> Band:
        """The band of states, where there is one."""
        return self.bands["state"]

    def begin_call(self) -> None:
        """Forget the copies and evictions of the call before."""
        self.evicted = []
        for band in self.bands.values():
            band.copies = []

    def pages_of_size(self, slots: int) -> int:
        """Slots as whole pages, a part of one counted as one."""
        return -(-slots // self.page_size)

    def clear(self) -> None:
        """Everything is free, the group is closed and what waited in it is dropped (§3, §9); nothing is prepared, since whoever
        clears the composite clears the wrapper of the states too (§10)."""
        self.group = None
        if self.wrapper is not None:
            self.wrapper.clear()
        for band in self.bands.values():
            if isinstance(band, EndBand | FloatingBand):
                band.clear()

    def free_group_begin(self) -> None:
        """Defer frees from now on (§9)."""
        require(self.group is None, "nested group: a free group is already open")
        self.group = Piles()

    def free_group_end(self) -> None:
        """Apply what waits (§9)."""
        raise NotImplementedError

    def flush_deferred(self) -> None:
        """Free what waits on any pile and leave the group open (§9)."""
        if self.group is not None and self.group.any():
            self.free_group_end()
            self.free_group_begin()

    def require_page_start(self, start_pos: int) -> None:
        """The alignment assertion of every segment form (§9)."""
        aligned = start_pos % self.page_size == 0
        require(aligned, f"alignment: start_pos {start_pos} is no multiple of {self.page_size}")

    def each_segment(
        self, segments: Sequence[Segment], free: Callable[[Sequence[int], int], None]
    ) -> None:
        """``free`` for each segment that is not empty, in order; an overlap is noticed when its turn comes (§9)."""
        last: int | None = None
        for segment in segments:
            if not segment.slots:
                continue
            first = segment.start_pos // self.page_size
            require(last is None or first > last, f"overlap: a segment starts on page {first}")
            free(segment.slots, segment.start_pos)
            last = (segment.start_pos + len(segment.slots) - 1) // self.page_size

    def free_full_band(self, slots: Sequence[int], start_pos: int) -> None:
        """``free_segment`` of the FULL band itself: at once, also in a group (§9); at page size 1 a plain free (§5)."""
        if not slots:
            return
        self.require_page_start(start_pos)
        if self.page_size == 1:
            self.full.free(slots)
        else:
            self.full.free_representatives(slots[:: self.page_size])

    def full_tokens_for_states(self, count: int) -> int:
        """How many FULL slots would have to go before ``count`` states can be allocated (§10)."""
        missing = max(0, count - self.state.schedulable_pages())
        if not missing:
            return 0
        missing_bytes = (missing - 1) * self.state.grid.page_bytes + 1
        return -(-missing_bytes // self.full.grid.entry_bytes)

    def relieve_states(self, count: int) -> None:
        """The ladder of the state band, whatever comes of it (§7)."""
        relieve_band(self.state, count)

    def begin_forward(self, event: int, slots: tuple[int, ...]) -> None:
        """A forward pass writes ``slots`` until its event fires (§3)."""
        end = self.stream.event(event)
        for name, band in self.bands.items():
            if name != "state":
                band.forward_done = end
                band.in_flight = Forward(end, slots)

    def fire_event(self, event: int) -> None:
        """The forward pass is over."""
        self.stream.event(event).fired = True

    def set_gate(self, band: Band, gate: int, state: str) -> None:
        """Install, open, close or take away one move gate (§3)."""
        if state == "absent":
            band.gates.pop(gate, None)
        else:
            band.gates[gate] = state == "open"

    def size_queries(self) -> dict[str, int]:
        """What the public size queries answer."""
        return {} if self.wrapper is None else self.wrapper.size_queries()


def joined(pile: Sequence[Sequence[int]]) -> list[int]:
    """The entries of a pile in order as one list."""
    return list(chained.from_iterable(pile))
