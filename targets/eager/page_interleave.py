"""The allocator of pages that are spread over ranks: each class of pages has lists of its own (contract_paged_swa §9).

Guarantees that the pages of a request come from the classes in turn, and that a refusal takes nothing and resolves no base.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import torch

from targets.eager import debug_checks
from targets.eager.base import BaseAllocator, ResizeConfig
from targets.eager.rotation_plan import RotationPlan, RotationPlanner, fullest_class

if TYPE_CHECKING:
    from collections.abc import Iterator


class PageInterleaveAllocator(BaseAllocator):
    """``size`` slots on each of ``shard_size`` ranks, in pages of ``page_size``; page ``p`` belongs to class ``p % shard_size``.

    ``class_free[r]`` is the free list of class r, ``class_staged[r]`` what is staged under ``need_sort`` (page ids, int64, never
    changed in place). ``free_page_ids_group`` is inherited from paged allocators and of no use. ``debug_mode`` is read here, once.
    """

    planner_class: type[RotationPlanner] = RotationPlanner

    def __init__(
        self,
        size: int,
        page_size: int,
        shard_size: int,
        device: str,
        *,
        need_sort: bool = False,
    ) -> None:
        super().__init__(size * shard_size, page_size, device, need_sort=need_sort)
        self.shard_size = shard_size
        self.num_pages = self.size // page_size
        self.debug_mode = debug_checks.debug_mode_is_on()
        self.planner = self.planner_class(shard_size, page_size)
        self.clear()

    def clear(self) -> None:
        """Every page is free, ascending in each class; nothing staged or pending, no group."""
        self.class_free = [self._all_pages(owner) for owner in range(self.shard_size)]
        self.class_staged = [pages[:0] for pages in self.class_free]
        self.free_group = None
        self.free_page_ids_group: list[torch.Tensor] = []

    def class_free_page_counts(self) -> list[int]:
        """Free and staged pages of each class."""
        return [
            free.numel() + staged.numel()
            for free, staged in zip(self.class_free, self.class_staged, strict=True)
        ]

    def available_size(self) -> int:
        """Slots that can be handed out in turn: as many rounds as the emptiest class has pages."""
        return self.shard_size * self.page_size * min(self.class_free_page_counts())

    def aggregate_free_size(self) -> int:
        """Slots of all free and staged pages, whether or not they can be handed out in turn."""
        return self.page_size * sum(self.class_free_page_counts())

    def least_full_class(self) -> int:
        """The class with the most free pages, the lowest of several."""
        return fullest_class(self.class_free_page_counts())

    def get_all_free_pages(self) -> torch.Tensor:
        """The free lists of the classes in order, then what is staged."""
        return torch.cat((*self.class_free, *self.class_staged))

    def merge_and_sort_free(self) -> None:
        """Merge what is staged in each class and sort; a class where nothing is staged keeps its order."""
        for owner, staged in enumerate(self.class_staged):
            if staged.numel():
                self.class_free[owner] = torch.cat((self.class_free[owner], staged)).sort().values
                self.class_staged[owner] = staged[:0]

    def alloc(self, need_size: int) -> NoReturn:
        """Raises NotImplementedError: a page needs a class to come from."""
        raise NotImplementedError(f"{need_size} slots need a class to start from: use alloc_cyclic")

    def alloc_decode(
        self, seq_lens: torch.Tensor, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor
    ) -> NoReturn:
        """Raises NotImplementedError: rows grow by whole pages."""
        raise NotImplementedError("rows on interleaved pages grow by alloc_extend")

    def resize(self, config: ResizeConfig) -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError("interleaved pages cannot be resized")

    def alloc_extend(
        self,
        prefix_lens: torch.Tensor,  # noqa: ARG002 (the arguments that callers know)
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,  # noqa: ARG002
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        num_new_pages: int | None = None,  # noqa: ARG002
        rotation_bases: list[int | None] | None = None,
    ) -> torch.Tensor | None:
        """Slots int64 ``[extend_num_tokens]`` for rows growing from prefix to seq lengths ``[bs]``, or None and nothing changed.

        ``rotation_bases`` ``[bs]``: the class of each row's first page; a None is replaced in the caller's list when the call succeeds.
        Raises AssertionError, nothing changed, without bases, for a prefix inside a page, a row that gets no page, or a wrong total.
        """
        prefixes, lengths = prefix_lens_cpu.tolist(), seq_lens_cpu.tolist()
        assert rotation_bases is not None, "interleaved pages need a rotation base for each row"
        assert len(rotation_bases) == len(prefixes), (
            f"{len(prefixes)} rows need as many rotation bases, not {len(rotation_bases)}"
        )
        counts = self.class_free_page_counts()
        plan = self.planner.plan(prefixes, lengths, rotation_bases, counts)
        if self.debug_mode:
            self._check_owners(prefixes, last_loc, plan)
        grown = [seq - prefix for prefix, seq in zip(prefixes, lengths, strict=True)]
        assert sum(grown) == extend_num_tokens, (
            f"rows that grow by {sum(grown)} slots cannot take {extend_num_tokens}"
        )
        if any(need > count for need, count in zip(plan.needs, counts, strict=True)):
            return None
        self._merge_if_short_of(plan)
        rotation_bases[:] = plan.bases
        return self._take(plan, grown)

    def alloc_cyclic(self, start_class: int, need_size: int) -> torch.Tensor | None:
        """Slots int64 ``[need_size]`` of a new row whose first page comes from ``start_class``, or None and nothing changed."""
        prefix, length = torch.tensor([0]), torch.tensor([need_size])
        none_yet = torch.full((1,), -1, device=self.device)
        base = start_class % self.shard_size
        return self.alloc_extend(
            prefix, prefix, length, length, none_yet, need_size, rotation_bases=[base]
        )

    def free(self, free_index: torch.Tensor) -> None:
        """Release the pages of any slots to their classes, each page once, ascending; in a group the slots wait."""
        if free_index.numel() == 0:
            return
        if self.free_group is not None:
            self.free_group.append(self._own(free_index))
        else:
            self._release(debug_checks.distinct(free_index // self.page_size).to(torch.int64))
        if self.debug_mode:
            self._check_classes()

    def free_segment(self, free_index: torch.Tensor, *, start_pos: int) -> None:  # noqa: ARG002
        """As ``free``, wherever the segment starts."""
        self.free(free_index)

    def free_page_ids(self, page_ids: torch.Tensor) -> None:
        """Raises NotImplementedError, in a group only at its end (§9)."""
        if page_ids.numel() == 0:
            return
        if self.free_group is None:
            self._release_page_ids(page_ids)
        self.free_page_ids_group.append(self._own(page_ids))

    def free_group_begin(self) -> None:
        """As the base form, and starts an empty page-id pile."""
        super().free_group_begin()
        self.free_page_ids_group = []

    def free_group_end(self) -> None:
        """Release the plain pile. Raises NotImplementedError when pages wait by id, which stay there."""
        super().free_group_end()
        if self.free_page_ids_group:
            self._release_page_ids(*self.free_page_ids_group)

    def owner_of(self, pages: torch.Tensor) -> torch.Tensor:
        """The class of each page."""
        return pages % self.shard_size

    def _all_pages(self, owner: int) -> torch.Tensor:
        first = self.shard_size + owner
        end = first + self.num_pages // self.shard_size * self.shard_size
        return torch.arange(first, end, self.shard_size, dtype=torch.int64, device=self.device)

    def _merge_if_short_of(self, plan: RotationPlan) -> None:
        short = any(
            need > free.numel() for need, free in zip(plan.needs, self.class_free, strict=True)
        )
        if self.need_sort and short:
            self.merge_and_sort_free()

    def _take(self, plan: RotationPlan, grown: list[int]) -> torch.Tensor:
        taken = [0] * self.shard_size
        pieces = []
        for start, new_pages, slots in zip(plan.starts, plan.new_pages, grown, strict=True):
            pages = torch.cat(list(self._pages_in_turn(start, new_pages, taken)))
            pieces.append(self._slots_of(pages)[:slots])
        for owner, count in enumerate(taken):
            self.class_free[owner] = self.class_free[owner][count:]
        return torch.cat(pieces)

    def _pages_in_turn(self, start: int, count: int, taken: list[int]) -> Iterator[torch.Tensor]:
        for step in range(count):
            owner = (start + step) % self.shard_size
            yield self.class_free[owner][taken[owner] : taken[owner] + 1]
            taken[owner] += 1

    def _slots_of(self, pages: torch.Tensor) -> torch.Tensor:
        within = torch.arange(self.page_size, dtype=torch.int64, device=self.device)
        return (pages.unsqueeze(1) * self.page_size + within).view(-1)

    def _release(self, pages: torch.Tensor) -> None:
        owners = self.owner_of(pages)
        lists = self.class_staged if self.need_sort else self.class_free
        for owner in range(self.shard_size):
            freed = pages[owners == owner]
            if freed.numel():
                lists[owner] = torch.cat((freed, lists[owner]))

    def _release_page_ids(self, *page_ids: torch.Tensor) -> NoReturn:
        raise NotImplementedError(f"{len(page_ids)} frees by page id: pages go back by their slots")

    def _check_owners(
        self, prefix_lens: list[int], last_loc: torch.Tensor, plan: RotationPlan
    ) -> None:
        last = last_loc.tolist()
        for prefix, slot, start in zip(prefix_lens, last, plan.starts, strict=True):
            owner = slot // self.page_size % self.shard_size
            assert prefix == 0 or owner == (start - 1) % self.shard_size, (
                f"the page of slot {slot} is of class {owner}, and the next one would be of class {start}"
            )

    def _check_classes(self) -> None:
        for owner, lists in enumerate(zip(self.class_free, self.class_staged, strict=True)):
            pages = torch.cat(lists)
            strangers = pages[self.owner_of(pages) != owner]
            assert strangers.numel() == 0, f"class {owner} holds the pages {strangers.tolist()}"
            debug_checks.assert_no_duplicate_page(pages)
