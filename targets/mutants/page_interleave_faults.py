"""Faults of the allocator of pages that are spread over ranks. Each class is one fault."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from targets.eager.page_interleave import PageInterleaveAllocator
from targets.eager.rotation_plan import RotationPlan, RotationPlanner
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("divergence", "law")
class ClassesSwappedByMerge(PageInterleaveAllocator):
    """A merge puts the pages of each class into the next one's list."""

    def merge_and_sort_free(self) -> None:
        """As ours, one class further."""
        pending = any(staged.numel() for staged in self.class_staged)
        super().merge_and_sort_free()
        if pending:
            self.class_free = [*self.class_free[1:], self.class_free[0]]


@FAULTS.add("divergence")
class BaseLeftOpen(PageInterleaveAllocator):
    """The base that was chosen for a request is not told to its caller."""

    def alloc_extend(
        self,
        prefix_lens: torch.Tensor,
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        num_new_pages: int | None = None,
        rotation_bases: list[int | None] | None = None,
    ) -> torch.Tensor | None:
        """As ours, on a copy of the bases."""
        return super().alloc_extend(
            prefix_lens,
            prefix_lens_cpu,
            seq_lens,
            seq_lens_cpu,
            last_loc,
            extend_num_tokens,
            num_new_pages,
            rotation_bases=None if rotation_bases is None else list(rotation_bases),
        )


@FAULTS.add("divergence")
class BaseChosenOnRefusal(PageInterleaveAllocator):
    """A base is chosen and told although the pages are short."""

    def alloc_extend(
        self,
        prefix_lens: torch.Tensor,
        prefix_lens_cpu: torch.Tensor,
        seq_lens: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        num_new_pages: int | None = None,
        rotation_bases: list[int | None] | None = None,
    ) -> torch.Tensor | None:
        """As ours, and fills in the bases that stayed open."""
        slots = super().alloc_extend(
            prefix_lens,
            prefix_lens_cpu,
            seq_lens,
            seq_lens_cpu,
            last_loc,
            extend_num_tokens,
            num_new_pages,
            rotation_bases=rotation_bases,
        )
        if slots is None and rotation_bases is not None:
            fullest = self.least_full_class()
            rotation_bases[:] = [fullest if base is None else base for base in rotation_bases]
        return slots


@FAULTS.add("divergence")
class SumOfClassesAvailable(PageInterleaveAllocator):
    """``available_size`` is the sum of all classes, not what can be handed out in turn."""

    def available_size(self) -> int:
        """All of them."""
        return self.aggregate_free_size()


class _StandingPlanner(RotationPlanner):
    def start_class(self, base: int, prefix: int) -> int:  # noqa: ARG002
        """The base, whatever pages there are."""
        return base % self.classes


@FAULTS.add("divergence")
class StartNotMovedByPrefix(PageInterleaveAllocator):
    """A request's next page comes from the class of its first one."""

    planner_class = _StandingPlanner


class _HighestPlanner(RotationPlanner):
    def resolve(self, wanted: int | None, left: Sequence[int]) -> int:
        """The highest of the fullest classes."""
        highest = max(range(len(left)), key=lambda owner: (left[owner], owner))
        return highest if wanted is None else wanted


@FAULTS.add("divergence")
class HighestOfFullestClasses(PageInterleaveAllocator):
    """Of several fullest classes the highest one is chosen."""

    planner_class = _HighestPlanner


class _ForgetfulPlanner(RotationPlanner):
    def plan(
        self,
        prefix_lens: list[int],
        seq_lens: list[int],
        rotation_bases: Sequence[int | None],
        counts: list[int],
    ) -> RotationPlan:
        """As ours, each open base chosen from the counts before the batch."""
        chosen = [self.resolve(base, counts) for base in rotation_bases]
        return super().plan(prefix_lens, seq_lens, chosen, counts)


@FAULTS.add("divergence")
class BatchForgotten(PageInterleaveAllocator):
    """The fullest class is chosen without the pages that the requests before it in the batch take."""

    planner_class = _ForgetfulPlanner


@FAULTS.add("divergence")
class InterleavedPagesBehind(PageInterleaveAllocator):
    """Released pages go behind the list of their class."""

    def _release(self, pages: torch.Tensor) -> None:
        lists = self.class_staged if self.need_sort else self.class_free
        for owner in range(self.shard_size):
            lists[owner] = torch.cat((lists[owner], pages[self.owner_of(pages) == owner]))


@FAULTS.add("divergence")
class ShortClassMergedAlone(PageInterleaveAllocator):
    """Only the classes that are short are merged."""

    def _merge_if_short_of(self, plan: RotationPlan) -> None:
        before = list(self.class_free), list(self.class_staged)
        super()._merge_if_short_of(plan)
        for owner, need in enumerate(plan.needs):
            if need <= before[0][owner].numel():
                self.class_free[owner] = before[0][owner]
                self.class_staged[owner] = before[1][owner]


@FAULTS.add("law", "divergence")
class ReservedPagesHandedOut(PageInterleaveAllocator):
    """The reserved page of each class is in its initial list."""

    def _all_pages(self, owner: int) -> torch.Tensor:
        return super()._all_pages(owner) - self.shard_size


@FAULTS.add("divergence", "law")
class OwnerByPagePair(PageInterleaveAllocator):
    """Pages go back to the class of their pair, not to their own."""

    def owner_of(self, pages: torch.Tensor) -> torch.Tensor:
        """The class of half the page's number."""
        return pages // 2 % self.shard_size
