"""The state of the hybrid allocator: two pools, the mapping, the piles (contract_paged_swa §1, §6, §6.1, §6.7, §13.2)."""

from __future__ import annotations

from collections.abc import Sequence

from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.observation import Snapshot, new_pages_grid
from oracle.reference.paged_alloc import PagedPool
from oracle.reference.peer_mapping import PeerMapping
from oracle.reference.pending_peers import PendingPeers
from oracle.reference.pool import Pool
from oracle.reference.raised import NEVER_SAVED, UndefinedError, leave_undefined, require
from oracle.reference.signals import Signals
from oracle.reference.token import TokenPool

SubPool = TokenPool | PagedPool


def make_pool(
    size: int, page_size: int, contract: Contract, *, need_sort: bool, debug: bool, paged: bool
) -> SubPool:
    """A paged pool, or a token pool, which has no debug mode (§0)."""
    if paged:
        return PagedPool(size, page_size, contract, need_sort=need_sort, debug=debug)
    return TokenPool(size, contract, need_sort=need_sort)


class HybridState(Pool):
    """``full`` and ``swa`` are token pools at page size 1, paged pools of one page size otherwise.

    ``group`` says whether the composite is in a group, and holds the frees of both sides that are resolved at its end; what
    else waits is in ``swa_set_pile``, ``swa_page_pile`` and ``full_only_pile`` (as in a ``Snapshot``) and in the group of
    ``full``. ``pending`` knows the peers of slots that wait with their mapping in place.
    """

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        super().__init__(geometry.page_size, contract)
        self.signals = Signals(mode.level, contract)
        self.size_full = geometry.size
        self.size_swa = geometry.size_swa
        self.debug = mode.debug and contract.has_debug and geometry.page_size > 1
        self.full, self.swa = (
            make_pool(
                size,
                geometry.page_size,
                contract,
                need_sort=geometry.need_sort,
                debug=self.debug,
                paged=geometry.page_size > 1,
            )
            for size in (geometry.size, geometry.size_swa)
        )
        self.mapping = PeerMapping(geometry.size, geometry.page_size)
        self.pending = PendingPeers(self.mapping)
        self.saved_mapping: list[int] | None = None
        self.empty_piles()

    def empty_piles(self) -> None:
        """Nothing waits any more on the piles beside the plain one."""
        self.swa_set_pile: list[list[int]] = []
        self.swa_page_pile: list[list[int]] = []
        self.full_only_pile: list[list[int]] = []
        self.pending.drop()

    def clear(self) -> None:
        """Back to the state after construction, in a group too (§6.7)."""
        self.swa.clear()
        self.full.clear()
        self.mapping.clear()
        self.group = None
        self.empty_piles()

    def backup_state(self) -> None:
        """Remember the lists of both pools and the mapping: they make one state (§13.1)."""
        self.full.backup_state()
        self.swa.backup_state()
        self.saved_mapping = self.mapping.entries[:]

    def restore_state(self) -> None:
        """Return the lists and the mapping to the last backup; an open group stays as it is (§13.1)."""
        if self.saved_mapping is None:
            raise UndefinedError(NEVER_SAVED)
        self.full.restore_state()
        self.swa.restore_state()
        self.mapping.entries = self.saved_mapping[:]

    def resize(self, size_full: int, size_swa: int) -> None:
        """Take new sizes on both sides and clear; the table keeps its length (§1)."""
        leave_undefined(unless=min(size_full, size_swa) >= 0, reason="a size is negative")
        self.mapping.make_room(size_full)
        self.size_full = size_full
        self.size_swa = size_swa
        self.full.resize(size_full)
        self.swa.resize(size_swa)
        self.clear()

    def merge_and_sort_free(self) -> None:
        """Meant for the sub-allocators: a composite has no lists of its own (§1)."""
        raise UndefinedError("a composite has no free list of its own to merge")

    def new_pages_available(self, full_pages: int, swa_pages: int) -> bool:
        """Whether both sides have that many pages, staged ones included (§6)."""
        return (
            full_pages <= self.full.available_size() // self.page_size
            and swa_pages <= self.swa.available_size() // self.page_size
        )

    def set_full_to_swa_mapping(self, slots: Sequence[int], peers: Sequence[int]) -> None:
        """Map ``slots`` to ``peers``, whatever they were mapped to (§6.1)."""
        if not slots:
            return
        require(len(slots) == len(peers), f"length: {len(slots)} slots get {len(peers)} peers")
        self.mapping.assign(slots, peers)

    def clear_full_to_swa_mapping(self, slots: Sequence[int]) -> None:
        """Unmap exactly ``slots`` (§6.1). The caller has their peers from now on, though a free of theirs waits."""
        self.mapping.peers(slots)
        self.pending.forget_mapped(slots)
        self.mapping.unmap(slots)

    def translate_loc_from_full_to_swa(self, slots: Sequence[int]) -> list[int]:
        """The peers of ``slots`` (§6)."""
        return self.mapping.peers(slots)

    def snapshot(self) -> Snapshot:
        """Everything that can be seen of the allocator (§14)."""
        full, swa = self.full.state(), self.swa.state()
        full_pages, swa_pages = full.available // self.page_size, swa.available // self.page_size
        return Snapshot(
            full=full,
            swa=swa,
            mapping=self.mapping.entries[:],
            group=None if self.group is None else self.group[:],
            swa_set_pile=self.swa_set_pile[:],
            swa_page_pile=self.swa_page_pile[:],
            full_only_pile=self.full_only_pile[:],
            queries={
                "available_size": min(full.available, swa.available),
                "full_available_size": full.available,
                "swa_available_size": swa.available,
                "size": min(self.size_full, self.size_swa),
                "size_full": self.size_full,
                "size_swa": self.size_swa,
            },
            new_pages=[
                f <= full_pages and s <= swa_pages for f, s in new_pages_grid(full_pages, swa_pages)
            ]
            if self.contract.answers_new_pages
            else [],
        )
