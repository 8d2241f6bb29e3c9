"""Whether the caller keeps the contract: for each form of call the preconditions that it breaks, by name.

Judged from the caller's own books (``oracle.ownership``), never from the allocator's state. An empty result means that
the call is legal (contract_paged_swa §3 to §6, contract_unified §9, the preconditions).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oracle.ownership import Ownership, Request

Breaches = tuple[str, ...]

STALE = "stale"
SHARED = "shared"
UNMAPPED_REPRESENTATIVE = "unmapped-representative"
UNMAPPED_SLOT = "unmapped-slot"
UNALIGNED_TAIL = "unaligned-tail"
STRADDLED_PAGE = "straddled-page"
UNALIGNED_NEED = "unaligned-need"
UNALIGNED_START = "unaligned-start"
PEER_STILL_MAPPED = "peer-still-mapped"
INCOMPLETE_PEERS = "incomplete-peers"
PEER_OVERWRITTEN = "peer-overwritten"
DUPLICATE_SLOTS = "duplicate-slots"
TOMBSTONED_PARTIAL_PAGE = "tombstoned-partial-page"
SEGMENTS_OUT_OF_ORDER = "segments-out-of-order"
NESTED_GROUP = "nested-group"
UNBALANCED_GROUP_END = "unbalanced-group-end"
LIVE_MAPPING_CLEARED = "live-mapping-cleared"
FREED_ROW_MAPPED = "freed-row-mapped"
RAW_SLOTS = "raw-slots"
MISUSE = "misuse"
RESTORE_AFTER_FREES = "restore-after-frees"
GUARDED_MOVE = "guarded-move"
UNBOUND_RESERVATION = "unbound-reservation"
UNBACKED_PARTIAL_PAGE = "unbacked-partial-page"
INCOMPLETE_BACKING = "incomplete-backing"
BACKING_LEFT = "backing-left"
UNALIGNED_BUFFER = "unaligned-buffer"
DEVICE_TOO_SMALL = "device-too-small"
UNALIGNED_PREFIX = "unaligned-prefix"
OTHER_CLASS = "other-class"
UNALIGNED_PROTECTED = "unaligned-protected"
UNALIGNED_CURSOR = "unaligned-cursor"
STALE_CURSOR = "stale-cursor"
FLOOR_IGNORED = "floor-ignored"

BREACHES: Breaches = (
    STALE,
    SHARED,
    UNMAPPED_REPRESENTATIVE,
    UNMAPPED_SLOT,
    UNALIGNED_TAIL,
    STRADDLED_PAGE,
    UNALIGNED_NEED,
    UNALIGNED_START,
    PEER_STILL_MAPPED,
    INCOMPLETE_PEERS,
    PEER_OVERWRITTEN,
    DUPLICATE_SLOTS,
    TOMBSTONED_PARTIAL_PAGE,
    SEGMENTS_OUT_OF_ORDER,
    NESTED_GROUP,
    UNBALANCED_GROUP_END,
    LIVE_MAPPING_CLEARED,
    FREED_ROW_MAPPED,
    RAW_SLOTS,
    MISUSE,
    RESTORE_AFTER_FREES,
    GUARDED_MOVE,
    UNBOUND_RESERVATION,
    UNBACKED_PARTIAL_PAGE,
    INCOMPLETE_BACKING,
    BACKING_LEFT,
    UNALIGNED_BUFFER,
    DEVICE_TOO_SMALL,
    UNALIGNED_PREFIX,
    OTHER_CLASS,
    UNALIGNED_PROTECTED,
    UNALIGNED_CURSOR,
    STALE_CURSOR,
    FLOOR_IGNORED,
)
"""Every precondition that a caller can break, by name."""


def holding(books: Ownership, request: Request, pages: Iterable[int]) -> list[str]:
    """Breaches of "a page has one owner": pages already given back, pages that another row holds too."""
    found = []
    pages = list(pages)
    if not request.gone.isdisjoint(pages):
        found.append(STALE)
    if any(
        books.holders.get(books.page_of(request, page), 0) > 1
        for page in pages
        if page not in request.gone
    ):
        found.append(SHARED)
    return found


def mapped(books: Ownership, request: Request, pages: Iterable[int]) -> list[str]:
    """Breaches of "every representative has a peer" (§6.3, ``swa.peer_mapped``), on an SWA page of its own (§6.2)."""
    found: set[str] = set()
    for page in pages:
        representative = request.slots[page * books.page_size]
        if representative in books.peered:
            if representative // books.page_size in books.straddled:
                found.add(STRADDLED_PAGE)
        elif books.page_size == 1:
            found.add(UNMAPPED_SLOT)
        elif books.peered.isdisjoint(books.page_slots(request, page)):
            found.add(UNMAPPED_REPRESENTATIVE)
        else:
            found.add(UNALIGNED_TAIL)
    # The page that the tail starts in and the page after it straddle together: freed together, it is one error.
    if UNALIGNED_TAIL in found:
        found.discard(STRADDLED_PAGE)
    return sorted(found)


def complete(books: Ownership, slots: Sequence[int]) -> list[str]:
    """Breaches of "who passes peers on has whole SWA pages of them" (§6.4 direct calls, §11.6 recovery)."""
    whole_pages = books.straddled.isdisjoint({slot // books.page_size for slot in slots})
    return [] if whole_pages and books.peered.issuperset(slots) else [INCOMPLETE_PEERS]


def unmapped(books: Ownership, request: Request, pages: Iterable[int]) -> list[str]:
    """Breaches of "no peer is left behind" (§6.3, ``swa.peer_released``): no slot of the pages has a peer."""
    kept = any(not books.peered.isdisjoint(books.page_slots(request, page)) for page in pages)
    return [PEER_STILL_MAPPED] if kept else []


def whole(books: Ownership, request: Request, pages: Iterable[int]) -> list[str]:
    """Breaches of "a set-shaped free takes whole SWA pages": an unaligned tail's pages share them (§6.2)."""
    straddled = any(books.page_of(request, page) in books.straddled for page in pages)
    return [STRADDLED_PAGE] if straddled else []


def distinct(books: Ownership, slots: Sequence[int]) -> list[str]:
    """Breaches of "no slot twice", which only page size 1 has: elsewhere set-shaped frees drop duplicates (§5.5)."""
    return [DUPLICATE_SLOTS] if books.page_size == 1 and len(set(slots)) < len(slots) else []


def continuing(books: Ownership, request: Request, *, hybrid: bool) -> list[str]:
    """Breaches of "a partial page that grows has a live peer at its last slot" (§6.2)."""
    if not hybrid or len(request.slots) % books.page_size == 0:
        return []
    last = request.slots[-1]
    if last // books.page_size in books.straddled:
        return [STRADDLED_PAGE]
    return [] if last in books.peered else [TOMBSTONED_PARTIAL_PAGE]
