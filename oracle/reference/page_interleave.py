"""The page-interleave allocator: pages in classes by rank, page p in class p modulo the number of ranks (contract_paged_swa §9).

A row takes its pages from the classes in turn, so a row is refused as soon as one class runs dry. A refused or failed extend
leaves the caller's rotation bases as they were (rule 1).
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.call import Call
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.observation import PoolState, Snapshot
from oracle.reference import page_layout
from oracle.reference.pool import Pool, joined
from oracle.reference.raised import leave_undefined, not_implemented, require
from oracle.reference.signals import Signals


class PageInterleavePool(Pool):
    """``classes`` holds the free pages of each class (consumed from the head), ``staged`` what need_sort has not merged yet.

    ``bases`` are the caller's rotation bases after the last extend that was given some.
    """

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        super().__init__(geometry.page_size, contract)
        self.signals = Signals(mode.level, contract)
        self.ranks = geometry.family_sizes.ranks
        self.size = geometry.size * self.ranks
        self.need_sort = geometry.need_sort
        self.debug = mode.debug and contract.has_debug
        self.bases: list[int | None] = []
        self.clear()

    def clear(self) -> None:
        """Every class has its pages but the first one, in order; an open group is dropped (§9, rule 4)."""
        ranks, pages = self.ranks, self.size // self.page_size // self.ranks
        self.classes = [[n * ranks + rank for n in range(1, pages + 1)] for rank in range(ranks)]
        self.staged: list[list[int]] = [[] for _ in range(ranks)]
        self.group = None

    def resize(self, size: int) -> None:
        """Does not exist here (§9)."""
        not_implemented(f"a page-interleave allocator cannot be resized to {size}")

    def alloc(self, need: int) -> list[int] | None:
        """Does not exist here (§9)."""
        not_implemented(f"a page-interleave allocator cannot place {need} slots without a class")

    def alloc_decode(self, call: Call) -> list[int] | None:
        """Does not exist here (§9)."""
        not_implemented(f"a page-interleave allocator has no {call.method}")

    def alloc_cyclic(self, start_class: int, need: int) -> list[int] | None:
        """A new row of ``need`` slots, its first page from ``start_class`` (§9)."""
        return self._extend([0], [need], [-1], [start_class], need)

    def alloc_extend(self, call: Call) -> list[int] | None:
        """New pages for requests that grow from a page end; None, with nothing merged, when a class is short (§9).

        ``bases`` then has the caller's list: with its open bases resolved if slots were handed out.
        """
        self.bases = list(call.rotation_bases)
        require(
            len(call.rotation_bases) == len(call.seq_lens),
            f"rotation: {len(call.rotation_bases)} bases for {len(call.seq_lens)} requests",
        )
        leave_undefined(
            unless=0 < len(call.seq_lens) == len(call.prefix_lens) == len(call.last_loc),
            reason="an extend of no request, or of lengths that do not fit each other",
        )
        needs = page_layout.new_pages_of_extend(call.prefix_lens, call.seq_lens, self.page_size)
        page_layout.check_new_pages(call.num_new_pages, sum(needs))
        bases = list(call.rotation_bases)
        slots = self._extend(
            call.prefix_lens, call.seq_lens, call.last_loc, bases, call.extend_num_tokens
        )
        if slots is not None:
            self.bases = bases
        return slots

    def free(self, slots: Sequence[int]) -> None:
        """Release the pages of ``slots`` to their classes, each once and sorted, or defer the slots (§9)."""
        if not slots:
            return
        if self.group is not None:
            self._leave_earlier_duplicates()
            self.enqueue(slots)
            return
        pages = sorted({slot // self.page_size for slot in slots})
        lists = self.staged if self.need_sort else self.classes
        for rank in range(self.ranks):
            freed = [page for page in pages if page % self.ranks == rank]
            lists[rank] = freed + lists[rank]
        require(not (self.debug and self._duplicated()), "debug: duplicate pages in a class")

    def free_segment(self, slots: Sequence[int], start_pos: int) -> None:  # noqa: ARG002 (ignored)
        """As ``free`` (§9)."""
        self.free(slots)

    def free_group_end(self) -> None:
        """Close the group, then release all that waited in one free (§3)."""
        if not self.group:
            self._leave_earlier_duplicates()
        super().free_group_end()

    def merge_and_sort_free(self) -> None:
        """Merge what is staged in each class and sort; where nothing is, the order stays (§1, §9)."""
        for rank, pages in enumerate(self.staged):
            if pages:
                self.classes[rank] = sorted(self.classes[rank] + pages)
                self.staged[rank] = []

    def available_size(self) -> int:
        """What can be handed out whichever class comes first: every class as if it had the fewest pages (§9)."""
        return self.ranks * self.page_size * min(self._counts())

    def snapshot(self) -> Snapshot:
        """Everything that can be seen of the allocator (§14)."""
        counts = self._counts()
        available = self.available_size()
        return Snapshot(
            full=PoolState(
                size=self.size,
                available=available,
                free=[],
                staged=[],
                staged_count=0,
                group=None if self.group is None else self.group[:],
                page_pile=[],
                all_free=joined(self.classes) + joined(self.staged),
            ),
            swa_set_pile=[],
            swa_page_pile=[],
            queries={
                "available_size": available,
                "size": self.size,
                "aggregate_free_size": self.page_size * sum(counts),
                "least_full_class": _fullest(counts),
            },
            new_pages=[],
            classes=self.classes[:],
            class_staged=self.staged[:],
        )

    def _extend(
        self,
        prefix_lens: Sequence[int],
        seq_lens: Sequence[int],
        last_loc: Sequence[int],
        bases: list[int | None],
        extend_num_tokens: int,
    ) -> list[int] | None:
        """Both passes of §9. ``bases`` is resolved in place, whatever comes of it."""
        self._leave_earlier_duplicates()
        leave_undefined(unless=min(prefix_lens) >= 0, reason="a prefix is negative")
        draws = self._draws(prefix_lens, seq_lens, last_loc, bases)
        total = sum(seq_lens) - sum(prefix_lens)
        require(extend_num_tokens == total, f"tokens: {extend_num_tokens} are not {total}")
        wanted = joined(draws)
        needs = [wanted.count(rank) for rank in range(self.ranks)]
        if any(need > count for need, count in zip(needs, self._counts(), strict=True)):
            return None
        if any(need > len(pages) for need, pages in zip(needs, self.classes, strict=True)):
            self.merge_and_sort_free()
        slots: list[int] = []
        heads = [iter(pages) for pages in self.classes]
        for prefix, seq, draw in zip(prefix_lens, seq_lens, draws, strict=True):
            pages = [next(heads[rank]) for rank in draw]
            slots += page_layout.slots_of_extend([prefix], [seq], [-1], pages, self.page_size)
        self.classes = [list(rest) for rest in heads]
        return slots

    def _draws(
        self,
        prefix_lens: Sequence[int],
        seq_lens: Sequence[int],
        last_loc: Sequence[int],
        bases: list[int | None],
    ) -> list[list[int]]:
        """Pass 1: the classes that each request draws its pages from, in the order of its pages."""
        counts = self._counts()
        draws: list[list[int]] = []
        for at, (prefix, seq, last) in enumerate(zip(prefix_lens, seq_lens, last_loc, strict=True)):
            require(prefix % self.page_size == 0, f"prefix: {prefix} is no whole pages")
            first = prefix // self.page_size
            need = page_layout.whole_pages(seq, self.page_size) - first
            require(need > 0, f"new pages: {need} from prefix {prefix} to {seq}")
            base = bases[at]
            if base is None:
                base = bases[at] = _fullest(counts)
            if self.debug and prefix:
                owner = last // self.page_size % self.ranks
                expected = (base + first - 1) % self.ranks
                require(
                    owner == expected,
                    f"debug: the prefix ends in class {owner}, and the rotation in {expected}",
                )
            draws.append([(base + first + page) % self.ranks for page in range(need)])
            for rank in draws[-1]:
                counts[rank] -= 1
        return draws

    def _counts(self) -> list[int]:
        return [
            len(free) + len(staged) for free, staged in zip(self.classes, self.staged, strict=True)
        ]

    def _duplicated(self) -> bool:
        pages = joined(self.classes) + joined(self.staged)
        return len(set(pages)) < len(pages)

    def _leave_earlier_duplicates(self) -> None:
        """Give no prediction where debug mode may or may not see a duplicate of an earlier call (§9 names no place for it)."""
        leave_undefined(
            unless=not (self.debug and self._duplicated()),
            reason="a duplicate of an earlier call is seen again or not",
        )


def _fullest(counts: Sequence[int]) -> int:
    """The class with the most free pages, the lowest on ties (§9)."""
    return counts.index(max(counts))
