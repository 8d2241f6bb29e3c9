"""The caller: turns each operation of a trace into concrete calls, and keeps its books from what came back.

``Caller.plan(operation)`` is a generator: it yields a ``Planned`` call and must be sent its ``Outcome``. An operation that
does not apply yields nothing (it is skipped). Guarantees that equal outcomes give equal calls; it looks at nothing of
the allocator but outcomes and the public available sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping

from msgspec import Struct

from oracle.call import Call
from oracle.contract import Contract
from oracle.family_sizes import COMPRESSION
from oracle.geometry import BANDS, WITH_DEVICE, WITH_PEERS, Geometry
from oracle.legality import UNALIGNED_START, Breaches
from oracle.observation import Outcome
from oracle.operations import (
    TWO_SIDED,
    Alloc,
    Backup,
    Base,
    Decode,
    Extend,
    ExtendTail,
    Load,
    Restore,
    Unit,
)
from oracle.ownership import Ownership

LARGEST_AMOUNT_PAGES = 8
SWA_FORMS = frozenset({"free_swa", "free_swa_segment"})
FULL_ONLY_FORMS = frozenset({"free_full", "free_full_segment"})
ALLOCATING = (Alloc, Extend, ExtendTail, Decode, Load, Backup, Restore)


class Planned(Struct, frozen=True):
    """A call that is about to be made, and the preconditions that it breaks (none: it is legal)."""

    call: Call
    breaches: Breaches = ()


Plan = Generator[Planned, Outcome, None]
Planner = Callable[["Caller", Base], Plan]


class Caller:
    """The caller of one allocator of ``geometry``, which follows ``contract``: it says what exists and what is legal.

    ``may_break``: the preconditions that the caller may break, None for all of them, empty for a legal caller.
    ``available_full``, ``available_swa``, ``available_joint`` (both at once, where that is not their minimum) and
    ``available_states`` are the public available sizes in slots, noted by the runner after each operation; so is
    ``available_device``.
    """

    def __init__(
        self,
        geometry: Geometry,
        contract: Contract,
        *,
        may_break: frozenset[str] | None = None,
    ) -> None:
        self.geometry = geometry
        self.contract = contract
        self.may_break = may_break
        self.page_size = geometry.page_size
        self.hybrid = geometry.family in WITH_PEERS
        """Whether FULL slots have peers."""
        self.two_sided = geometry.family in TWO_SIDED
        """Whether frees of an SWA side exist."""
        self.tiered = geometry.family in WITH_DEVICE
        """Whether slots have a place on a device."""
        self.compressed = geometry.family == "hisparse-dsv4"
        """Whether several slots share one place on the device."""
        self.ringed = geometry.family == "swa-ring"
        """Whether each request needs a request slot, which has the ring of its window."""
        self.device_page = self.page_size // COMPRESSION if self.compressed else self.page_size
        """Slots on a page of the device."""
        self.bands = BANDS.get(geometry.family, ())
        self.unified = bool(self.bands)
        self.books = Ownership(geometry.page_size)
        self.saved: Ownership | None = None
        """The books as they were at the last backup."""
        self.saved_is_valid = False
        """Whether only allocations came after the last backup, so that a restore is legal."""
        self.available_full = geometry.size
        self.available_swa = geometry.size_swa if self.hybrid else geometry.size
        self.available_joint: int | None = None
        self.available_states = 0
        self.available_device = 0

    def plan(self, operation: Base) -> Plan:
        """The calls of ``operation``, one after the other; each wants the outcome of the last."""
        from oracle.planning import planner_of
        from oracle.planning.device import with_places
        from oracle.planning.moves import guarded
        from oracle.planning.rings import with_request_slots

        self.saved_is_valid = self.saved_is_valid and isinstance(operation, ALLOCATING)
        self.books.written.clear()
        self.books.loaded_peers.clear()
        plan = planner_of(type(operation), self.geometry.family)(self, operation)
        if self.ringed:
            return with_request_slots(self, plan)
        if self.compressed:
            return with_places(self, plan)
        return guarded(self, plan) if self.unified else plan

    def allows(self, breaches: Iterable[str]) -> bool:
        """Whether this caller makes a call that breaks ``breaches``."""
        return self.may_break is None or self.may_break.issuperset(breaches)

    def has(self, *methods: str) -> bool:
        """Whether the target has all these methods."""
        return self.contract.methods.issuperset(methods)

    def may_call(self, planned: Planned) -> bool:
        """Whether the target has the method and this caller makes the call."""
        direct = planned.call.pool != "composite"
        methods = self.contract.pool_methods if direct else self.contract.methods
        return planned.call.method in methods and self.allows(planned.breaches)

    def read_sizes(self, queries: Mapping[str, int]) -> None:
        """Note the available sizes from what the public size queries answer, by name."""
        available = queries.get("available_size", 0)
        self.available_full = queries.get("full_available_size", available)
        self.available_swa = queries.get("swa_available_size", available)
        if self.ringed:
            self.available_swa = self.available_full
        self.available_device = queries.get("device_available_size", 0)
        if self.unified:
            self.available_joint = available
            self.available_states = queries.get("state_schedulable_size", 0)

    def gives_back(self, method: str) -> bool:
        """Whether a free by ``method`` gives the slots themselves back, and not their peers only (§6.3, §6.8)."""
        keeping = FULL_ONLY_FORMS if self.geometry.family == "pure-swa" else SWA_FORMS
        return method not in keeping

    def start_breaches(self, start_pos: int) -> Breaches:
        """Breaches of "a segment starts on a page", where that is asked for (§3, §13.2)."""
        refused = self.contract.segment_start == "page-start" and start_pos % self.page_size
        return (UNALIGNED_START,) if refused else ()

    def slots_of(self, amount: int, unit: Unit, *, room: int = 0, full_only: bool = False) -> int:
        """Read an ``amount`` in slots. ``room``: slots still open on the row's last page; ``full_only``: no peers are wanted."""
        size = self.page_size
        if unit == "tokens":
            return amount % (LARGEST_AMOUNT_PAGES * size + 1)
        if unit == "pages":
            return (1 + amount % LARGEST_AMOUNT_PAGES) * size
        if unit == "edge":
            return (1 + amount // 3 % LARGEST_AMOUNT_PAGES) * size + amount % 3 - 1
        available = self.available_full
        if not full_only:
            joint = available if self.available_joint is None else self.available_joint
            available = min(available, self.available_swa, joint)
        step = amount % 8
        pages = available // size + ((step + 1) // 2 if step % 2 else -(step // 2))
        return max(0, pages * size + room)
