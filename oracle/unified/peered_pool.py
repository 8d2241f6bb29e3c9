"""Allocation and capacity that the two-pool and the three-pool composite share (contract_unified §8)."""

from __future__ import annotations

from collections.abc import Sequence

from oracle.call import Call
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.reference.raised import leave_undefined, require
from oracle.unified import band_alloc
from oracle.unified.peered_frees import PeeredFrees
from oracle.unified.token_ids import grown_slots, new_page_count


class PeeredPool(PeeredFrees):
    """FULL ids whose pages are bound on SWA too. ``size_full`` and ``size_swa`` are the static caps."""

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        super().__init__(geometry, mode, contract)
        ids = len(self.full.free_ids) * self.page_size
        self.size_full = geometry.size or self.full.available_pages() * self.page_size
        self.size_swa = geometry.size_swa or min(self.swa.available_pages() * self.page_size, ids)

    def joint_pages(self) -> int:
        """The most pages that can be allocated on both sides at once."""
        raise NotImplementedError

    def ensure_pages(self, full: int, swa: int) -> bool:
        """Make sure that so many pages fit, moving pages if that helps."""
        raise NotImplementedError

    def available_size(self) -> int:
        """The joint capacity in slots; ``alloc`` of that much succeeds."""
        return self.joint_pages() * self.page_size

    def ensure_capacity(self, full: int, swa: int) -> bool:
        """The same question in slots."""
        if full < 0 or swa < 0:
            return False
        return self.ensure_pages(self.pages_of_size(full), self.pages_of_size(swa))

    def alloc(self, slots: int) -> list[int] | None:
        """A row of whole pages, bound on both sides."""
        if slots < 0 or not self.ensure_capacity(slots, slots):
            return None
        if not slots:
            return []
        allocated = band_alloc.alloc(self.full, slots)
        require(allocated is not None, "full: short of pages after the capacity gate")
        rows = allocated or []
        self.swa.take_and_bind([slot // self.page_size for slot in rows[:: self.page_size]])
        return rows

    def alloc_extend(self, call: Call) -> list[int] | None:
        """Several requests grow."""
        return self._grow(call.prefix_lens, call.seq_lens, call.last_loc)

    def alloc_decode(self, call: Call) -> list[int] | None:
        """Each request grows by one slot."""
        prefixes = [length - 1 for length in call.seq_lens]
        return self._grow(prefixes, call.seq_lens, call.last_loc)

    def alloc_extend_swa_tail(self, call: Call) -> list[int] | None:
        """One request grows; of its new pages only those that its tail overlaps get peers."""
        one = len(call.prefix_lens) == len(call.seq_lens) == 1
        leave_undefined(unless=one, reason="a tail of a batch")
        grown = call.seq_lens[0] - call.prefix_lens[0]
        leave_undefined(unless=0 <= call.swa_tail_len <= grown, reason="a tail longer than the row")
        tail_start = call.seq_lens[0] - call.swa_tail_len
        return self._grow(call.prefix_lens, call.seq_lens, call.last_loc, tail_start=tail_start)

    def _grow(
        self,
        prefix_lens: Sequence[int],
        seq_lens: Sequence[int],
        last_loc: Sequence[int],
        *,
        tail_start: int = 0,
    ) -> list[int] | None:
        size = self.page_size
        lengths = list(zip(prefix_lens, seq_lens, strict=True))
        pages = sum(new_page_count(prefix, length, size) for prefix, length in lengths)
        unbound = 0
        if tail_start:
            first_new, stop = -(-prefix_lens[0] // size), -(-seq_lens[0] // size)
            first_bound = tail_start // size if tail_start < seq_lens[0] else stop
            unbound = min(max(0, first_bound - first_new), pages)
        asked = pages if self.contract.tail_gate == "all-pages" else pages - unbound
        if not self.ensure_pages(pages, asked):
            return None
        ids: list[int] | None = []
        if pages:
            ids = band_alloc.take_ids(self.full, pages)
            require(ids is not None, "full: short of pages after the capacity gate")
            if pages > unbound:
                self.swa.take_and_bind((ids or [])[unbound:])
        return grown_slots(prefix_lens, seq_lens, last_loc, ids or [], size)

    def bind_reserved(self, slots: Sequence[int], peers: Sequence[int]) -> None:
        """Physical SWA pages that were reserved become the peers of FULL pages (§5, load-back)."""
        size = self.page_size
        paired = len(slots) == len(peers)
        leave_undefined(unless=paired, reason="slots and peers that are not as many")
        places = [peer // size for peer in peers[::size]]
        self.swa.bind(self.swa.virtual_pages(slots[::size]), places)

    def finish_load(self) -> None:
        """Pages may move again, whatever is still outstanding (§5)."""
        self.full.pending_load = self.swa.pending_load = 0

    def size_queries(self) -> dict[str, int]:
        """Each side's view, and the joint one that alone may gate an allocation (§8)."""
        size = self.page_size
        queries = super().size_queries()
        queries["available_size"] = self.available_size()
        for name, cap, band in (
            ("full", self.size_full, self.full),
            ("swa", self.size_swa, self.swa),
        ):
            allocated = band.allocated_pages() * size
            schedulable = band.schedulable_pages() * size
            available = min(cap - allocated, schedulable)
            queries[f"{name}_available_size"] = available
            queries[f"conserve_{name}_available_size"] = cap - allocated
            queries[f"schedulable_{name}_available_size"] = schedulable
            queries[f"current_{name}_capacity"] = available + allocated
            queries[f"size_{name}"] = cap
        return queries
