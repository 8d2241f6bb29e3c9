"""Which slots a request gets when it grows: the rest of its last page, then new ids from the head (contract_unified §5)."""

from __future__ import annotations

from collections.abc import Sequence


def new_page_count(prefix: int, length: int, page_size: int) -> int:
    """How many pages a row needs beyond those of its prefix."""
    return -(-length // page_size) - -(-prefix // page_size)


def slots_of_pages(pages: Sequence[int], page_size: int) -> list[int]:
    """Every slot of whole pages, in order."""
    return [page * page_size + offset for page in pages for offset in range(page_size)]


def grown_slots(
    prefix_lens: Sequence[int],
    seq_lens: Sequence[int],
    last_loc: Sequence[int],
    pages: Sequence[int],
    page_size: int,
) -> list[int]:
    """The new slots of each request in batch order; ``pages`` are handed to whoever starts a page."""
    unused = iter(pages)
    slots: list[int] = []
    for prefix, length, last in zip(prefix_lens, seq_lens, last_loc, strict=True):
        slot = last
        for position in range(prefix, length):
            slot = next(unused) * page_size if position % page_size == 0 else slot + 1
            slots.append(slot)
    return slots
