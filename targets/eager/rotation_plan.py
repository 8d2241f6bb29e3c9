"""Which class each new page of a batch comes from (contract_paged_swa §9, the first pass of ``alloc_extend``).

Guarantees that planning changes nothing, also not the caller's list of bases, and that every check of a request comes before
the plan exists. Hands out nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class RotationPlan(NamedTuple):
    """For each request the class of its first new page and how many pages it gets; ``bases`` are resolved, ``needs`` the
    pages that each class gives in all.
    """

    starts: list[int]
    new_pages: list[int]
    bases: list[int]
    needs: list[int]


def fullest_class(counts: Sequence[int]) -> int:
    """The class with the most free pages, the lowest of several."""
    return counts.index(max(counts))


def cyclic_draw(start: int, pages: int, classes: int) -> list[int]:
    """How many pages each class gives when ``pages`` are drawn in turn from class ``start`` on."""
    draw = [pages // classes] * classes
    for step in range(pages % classes):
        draw[(start + step) % classes] += 1
    return draw


class RotationPlanner:
    """Plans batches for ``classes`` classes of pages of ``page_size`` slots."""

    def __init__(self, classes: int, page_size: int) -> None:
        self.classes = classes
        self.page_size = page_size

    def plan(
        self,
        prefix_lens: list[int],
        seq_lens: list[int],
        rotation_bases: Sequence[int | None],
        counts: list[int],
    ) -> RotationPlan:
        """Plan requests in batch order, with ``counts`` free pages in each class; a base that is open becomes the fullest class then.

        Raises AssertionError for a prefix that ends inside a page and for a request that gets no page.
        """
        left = list(counts)
        plan = RotationPlan([], [], [], [0] * self.classes)
        for prefix, seq, wanted in zip(prefix_lens, seq_lens, rotation_bases, strict=True):
            assert prefix % self.page_size == 0, (
                f"a prefix of {prefix} slots ends inside a page of {self.page_size}"
            )
            new_pages = -(-seq // self.page_size) - prefix // self.page_size
            assert new_pages > 0, f"growing from {prefix} to {seq} slots takes no page"
            base = self.resolve(wanted, left)
            start = self.start_class(base, prefix)
            self._draw(plan, left, start, new_pages)
            plan.starts.append(start)
            plan.new_pages.append(new_pages)
            plan.bases.append(base)
        return plan

    def resolve(self, wanted: int | None, left: Sequence[int]) -> int:
        """The base of a request: the one it has, or the fullest class of what is ``left``."""
        return fullest_class(left) if wanted is None else wanted

    def start_class(self, base: int, prefix: int) -> int:
        """The class of the first new page of a request: one further for each page that it has."""
        return (base + prefix // self.page_size) % self.classes

    def _draw(self, plan: RotationPlan, left: list[int], start: int, pages: int) -> None:
        for owner, count in enumerate(cyclic_draw(start, pages, self.classes)):
            plan.needs[owner] += count
            left[owner] -= count
