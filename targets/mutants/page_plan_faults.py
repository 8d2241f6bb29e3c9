"""Faults in how a paged allocator extends and decodes rows. Each class is one fault."""

from __future__ import annotations

import torch

from targets.eager.page_plans import PagePlan, new_pages_of_extend
from targets.eager.paged import PagedAllocator
from targets.mutants.mutant import FaultList

FAULTS = FaultList()


@FAULTS.add("law", "divergence")
class OpenPageSkipsASlot(PagedAllocator):
    """A row that goes on inside a page leaves out the slot after its last one."""

    def _rest_of_open_page(self, last_slot: torch.Tensor, count: int) -> torch.Tensor:
        return super()._rest_of_open_page(last_slot, count) + 1


@FAULTS.add("law", "divergence")
class OpenPageRepeatsASlot(PagedAllocator):
    """A row that goes on inside a page gets its last slot again."""

    def _rest_of_open_page(self, last_slot: torch.Tensor, count: int) -> torch.Tensor:
        return super()._rest_of_open_page(last_slot, count) - 1


@FAULTS.add("law", "divergence")
class RowsShareANewPage(PagedAllocator):
    """A row that ends inside a new page leaves the page to the next row of the batch as well."""

    def _fresh_slots_used(self, count: int) -> int:
        return count // self.page_size * self.page_size


@FAULTS.add("law", "divergence")
class LastPageFilledFromItsEnd(PagedAllocator):
    """The slots of a partly filled last page come from the end of the page."""

    def _slots_of_new_pages(self, fresh: torch.Tensor, count: int) -> torch.Tensor:
        whole = count // self.page_size * self.page_size
        page = fresh[whole : whole + self.page_size]
        return torch.cat((fresh[:whole], page[self.page_size - (count - whole) :]))


@FAULTS.add("divergence")
class RowsServedBackwards(PagedAllocator):
    """The last row of a batch gets the first pages of the free list."""

    def _extended_slots(
        self,
        prefix_lens: list[int],
        seq_lens: list[int],
        last_loc: torch.Tensor,
        num_new_pages: int,
    ) -> torch.Tensor:
        prefixes, seqs = prefix_lens[::-1], seq_lens[::-1]
        slots = super()._extended_slots(prefixes, seqs, last_loc.flip(0), num_new_pages)
        lengths = [seq - prefix for prefix, seq in zip(prefixes, seqs, strict=True)]
        return torch.cat(torch.split(slots, lengths)[::-1])


@FAULTS.add("divergence")
class MergeTriggeredByNeed(PagedAllocator):
    """An extend merges when the exact need is not there, not when the bound is not."""

    def room_for(self, bound: int, exact: int) -> bool:  # noqa: ARG002
        """The bound is not looked at."""
        return super().room_for(exact, exact)


@FAULTS.add("divergence")
class RefusedExtendWithoutMerge(PagedAllocator):
    """An extend or decode that is too large even for the staged pages does not merge them."""

    def room_for(self, bound: int, exact: int) -> bool:
        """As ours, but refuses at first sight."""
        if exact > self.get_all_free_pages().numel():
            return False
        return super().room_for(bound, exact)


@FAULTS.add("law", "divergence")
class OnePageTooManyTaken(PagedAllocator):
    """An extend or decode that takes pages takes one more, which nobody gets."""

    def take(self, plan: PagePlan) -> torch.Tensor:
        """Drop one page too many."""
        return super().take(plan._replace(new_pages=plan.new_pages + bool(plan.new_pages)))


@FAULTS.add("law", "divergence")
class OnePageTooFewTaken(PagedAllocator):
    """The last page that an extend or decode hands out stays in the free list."""

    def take(self, plan: PagePlan) -> torch.Tensor:
        """Drop one page too few."""
        return super().take(plan._replace(new_pages=max(plan.new_pages - 1, 0)))


@FAULTS.add("law", "divergence")
class NeedCountedFromNewSlots(PagedAllocator):
    """The pages of an extend are counted from its new slots, as if every row began on a page."""

    def plan_extend(
        self,
        prefix_lens_cpu: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        num_new_pages: int | None = None,
    ) -> PagePlan | None:
        """As ours, with another page count."""
        new_slots = (seq_lens_cpu - prefix_lens_cpu).tolist()
        counted = new_pages_of_extend([0] * len(new_slots), new_slots, self.page_size)
        return super().plan_extend(
            prefix_lens_cpu,
            seq_lens_cpu,
            last_loc,
            extend_num_tokens,
            max(counted, num_new_pages or 0),
        )


@FAULTS.add("law", "divergence")
class DecodeOpensPageTooEarly(PagedAllocator):
    """A decode takes a new page for the last slot of a page instead of for the first."""

    def _opens_page(self, seq_len: int) -> bool:
        return seq_len % self.page_size == 0


@FAULTS.add("law", "divergence")
class DecodeTakesNoPage(PagedAllocator):
    """A decode hands out the first free page and leaves it in the free list."""

    def plan_decode(self, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor) -> PagePlan:
        """As ours, taking nothing."""
        return super().plan_decode(seq_lens_cpu, last_loc)._replace(new_pages=0)


@FAULTS.add("law", "divergence")
class DecodeRowsShareAPage(PagedAllocator):
    """All rows of a decode that open a page get the same one."""

    def plan_decode(self, seq_lens_cpu: torch.Tensor, last_loc: torch.Tensor) -> PagePlan:
        """As ours, with one page for all."""
        plan = super().plan_decode(seq_lens_cpu, last_loc)
        plan.slots[self._openers(seq_lens_cpu)] = self.free_pages[:1] * self.page_size
        return plan


@FAULTS.add(
    "divergence",
    equivalent="A caller passes the exact need or breaks the contract, which leaves the result open then (§5.3 step 5).",
)
class PageCountRecomputed(PagedAllocator):
    """The page count that the caller passes is worked out again."""

    def plan_extend(
        self,
        prefix_lens_cpu: torch.Tensor,
        seq_lens_cpu: torch.Tensor,
        last_loc: torch.Tensor,
        extend_num_tokens: int,
        num_new_pages: int | None = None,  # noqa: ARG002
    ) -> PagePlan | None:
        """As ours, without the caller's count."""
        return super().plan_extend(prefix_lens_cpu, seq_lens_cpu, last_loc, extend_num_tokens)
