"""Which slots an extend or a decode hands out, given the pages it may take (contract_paged_swa §5.3, §5.4).

Pure functions on lists: nothing here knows a free list.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.call import Call
from oracle.reference.raised import leave_undefined


def whole_pages(length: int, page_size: int) -> int:
    """The pages that ``length`` slots touch, counted from a page start."""
    return -(-length // page_size)


def new_pages_of_extend(
    prefix_lens: Sequence[int], seq_lens: Sequence[int], page_size: int
) -> list[int]:
    """The pages each request needs on top of those its prefix has (§5.3 step 2)."""
    return [
        whole_pages(seq, page_size) - whole_pages(prefix, page_size)
        for prefix, seq in zip(prefix_lens, seq_lens, strict=True)
    ]


def slots_of_extend(
    prefix_lens: Sequence[int],
    seq_lens: Sequence[int],
    last_loc: Sequence[int],
    pages: Sequence[int],
    page_size: int,
) -> list[int]:
    """The new slots of each request in batch order: the rest of its open page, then new pages (§5.3 step 3)."""
    slots: list[int] = []
    needs = new_pages_of_extend(prefix_lens, seq_lens, page_size)
    first_page = 0
    for prefix, seq, last, need in zip(prefix_lens, seq_lens, last_loc, needs, strict=True):
        filled = min(seq, whole_pages(prefix, page_size) * page_size)
        slots.extend(range(last + 1, last + 1 + filled - prefix))
        for page in pages[first_page : first_page + need]:
            in_page = min(page_size, seq - filled)
            slots.extend(range(page * page_size, page * page_size + in_page))
            filled += in_page
        first_page += need
    return slots


def takes_page(seq: int, page_size: int) -> bool:
    """Whether the last of ``seq`` slots opens a page, as a decode counts it: never at page size 1 (§5.4)."""
    return seq % page_size == 1


def slots_of_decode(
    seq_lens: Sequence[int], last_loc: Sequence[int], pages: Sequence[int], page_size: int
) -> list[int]:
    """The one new slot of each request: the first of the next page, or the one after ``last_loc`` (§5.4 step 3)."""
    slots: list[int] = []
    unused = iter(pages)
    for seq, last in zip(seq_lens, last_loc, strict=True):
        slots.append(next(unused) * page_size if takes_page(seq, page_size) else last + 1)
    return slots


def check_extend_shapes(call: Call) -> None:
    """Give no prediction for an extend whose lengths do not fit each other (§5.3)."""
    leave_undefined(
        unless=len(call.prefix_lens) == len(call.seq_lens) == len(call.last_loc),
        reason="prefix_lens, seq_lens and last_loc of an extend differ in length",
    )
    leave_undefined(
        unless=all(
            0 <= prefix <= seq for prefix, seq in zip(call.prefix_lens, call.seq_lens, strict=True)
        ),
        reason="an extend needs 0 <= prefix <= seq for each request",
    )
    leave_undefined(
        unless=call.extend_num_tokens == sum(call.seq_lens) - sum(call.prefix_lens),
        reason=f"extend_num_tokens {call.extend_num_tokens} is not what the lengths add up to",
    )


def check_new_pages(given: int | None, exact: int) -> None:
    """Give no prediction for a ``num_new_pages`` that is not the exact need (§5.3 step 5)."""
    leave_undefined(
        unless=given is None or given == exact,
        reason=f"num_new_pages {given} is not the exact need of {exact} pages",
    )


def check_decode_shapes(call: Call) -> None:
    """Give no prediction for a decode whose lengths do not fit each other (§5.4)."""
    leave_undefined(
        unless=len(call.seq_lens) == len(call.last_loc),
        reason="seq_lens and last_loc of a decode differ in length",
    )
