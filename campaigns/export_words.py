"""What the calls of a trace are about, in the caller's words: which request and positions, which pages, why it is a breach.

Guarantees sentences only; nothing here decides anything. Request numbers are the caller's, 1 for the first one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oracle import legality
from oracle.call import Call
from oracle.observation import Outcome
from oracle.ownership import Ownership

BREACH_REASONS = {
    legality.STALE: "they were given back before, so they are no longer the caller's",
    legality.SHARED: "another row still holds these pages",
    legality.UNALIGNED_NEED: "a paged pool hands out whole pages only",
    legality.UNALIGNED_START: "a segment starts on a page boundary, and this one does not",
    legality.PEER_STILL_MAPPED: "a free of the FULL side alone leaves a live peer behind",
    legality.PEER_OVERWRITTEN: "these slots have peers already, which nothing points to afterwards",
    legality.DUPLICATE_SLOTS: "at page size 1 a slot that is named twice is freed twice",
    legality.TOMBSTONED_PARTIAL_PAGE: "the row's partial last page has no peers to continue",
    legality.SEGMENTS_OUT_OF_ORDER: "segments ascend in the row and share no page",
    legality.NESTED_GROUP: "a free group is open already",
    legality.UNBALANCED_GROUP_END: "no free group is open",
    legality.LIVE_MAPPING_CLEARED: "these slots have peers, which nothing points to afterwards",
    legality.FREED_ROW_MAPPED: "the row was freed in this group, and now gets peers",
    legality.RAW_SLOTS: "nobody handed these slots out",
    legality.MISUSE: "the contract refuses this call for this family and page size",
    legality.RESTORE_AFTER_FREES: "something other than allocations came after the backup",
    legality.STRADDLED_PAGE: "its peers lie on two SWA pages, which another page shares",
    legality.INCOMPLETE_PEERS: "whoever passes peers on has whole SWA pages of them",
    legality.UNBACKED_PARTIAL_PAGE: "the row's partial last page has no place on the device",
    legality.INCOMPLETE_BACKING: "a page goes back whose places on the device are not all named",
    legality.BACKING_LEFT: "these slots have places on the device, which nothing points to afterwards",
    legality.UNALIGNED_BUFFER: "a buffer is made of whole pages of the device",
    legality.DEVICE_TOO_SMALL: "the device has too few free pages",
    legality.UNALIGNED_PREFIX: "rows on interleaved pages grow from a page boundary on",
    legality.UNALIGNED_PROTECTED: "what the tree owns ends on a page boundary",
    legality.UNALIGNED_CURSOR: "the cursor of what is evicted stands inside a page",
    legality.STALE_CURSOR: "the cursor says less than what was evicted already",
    legality.FLOOR_IGNORED: "what lies below the floor was never evicted by the window",
    legality.OTHER_CLASS: "the row's next page is the turn of another class",
}
UNMAPPED = (legality.UNMAPPED_REPRESENTATIVE, legality.UNMAPPED_SLOT)
STRADDLED = "the tail began off a page boundary, so these pages have their peers on two SWA pages"
ALLOCATING = frozenset(
    {
        "alloc",
        "alloc_extend",
        "alloc_extend_swa_tail",
        "alloc_decode",
        "alloc_logical_only",
        "alloc_cyclic",
        "alloc_device_buffer",
    }
)
FURTHER_WORDS = {
    "take_request_slots": "{need} more requests run (the allocator is not called)",
    "return_request_slots": "{need} requests are over (the allocator is not called)",
    "free_hisparse_indices": "a buffer on the device goes back",
    "configure_spec_scratch": "what a request slot reserves on the device is set",
    "request_slot_reserve": "asks what a request slot reserves on the device",
    "alloc_group_begin": "{need} states are taken out in advance",
    "alloc_group_end": "what is left of the states that were taken out goes back",
}
"""Of calls that only some families have and that name no slots of rows: what they are about."""


class Teller:
    """Describes each call before and after it; remembers which slots ever had a peer."""

    def __init__(self) -> None:
        self._had_peer: set[int] = set()

    def before(
        self, call: Call, breaches: tuple[str, ...], books: Ownership
    ) -> tuple[str, tuple[str, ...]]:
        """What ``call`` is about, and for each breach why it is one."""
        self._had_peer |= books.peered
        slots = named_slots(call, books.page_size)
        return describe(slots, books), tuple(
            f"{breach}: {self._reason(breach, slots, books)}" for breach in breaches
        )

    def after(self, call: Call | None, outcome: Outcome, books: Ownership) -> str:
        """To whom an allocation went; "" where the call is no allocation."""
        if call is None or call.method not in ALLOCATING:
            return ""
        if not outcome.value:
            few = "hands out no slots" if outcome.value is not None else "there are too few slots"
            return "asks for slots" if outcome.error else few
        if call.method == "alloc_device_buffer":
            return f"makes a buffer of {call.need} slots on the device"
        self._had_peer.difference_update(outcome.value)
        self._had_peer |= books.peered
        if call.pool == "swa":
            return f"takes SWA {pages_text(outcome.value, books.page_size)} for new peers"
        return f"hands out {describe(outcome.value, books)}"

    def _reason(self, breach: str, slots: Sequence[int], books: Ownership) -> str:
        if breach == legality.UNALIGNED_TAIL:
            return f"{describe(slots, books)}: {STRADDLED}" if slots else STRADDLED
        if breach not in UNMAPPED:
            return BREACH_REASONS.get(breach, "the caller broke this precondition")
        bare = [slot for slot in slots if slot not in books.peered]
        lost = not self._had_peer.isdisjoint(bare)
        why = "their peers were freed before" if lost else "their peers were never allocated"
        return f"{describe(bare, books)}: {why}"


def further_words(call: Call) -> str:
    """What a call is about that only some families have and that names no slots of rows; "" for any other one."""
    return FURTHER_WORDS.get(call.method, "").format(need=call.need)


def named_slots(call: Call, page_size: int) -> tuple[int, ...]:
    """The slots that a call names: its own, those of its segments, or the first ones of its pages."""
    if call.segments:
        return tuple(slot for segment in call.segments for slot in segment.slots)
    if call.method == "free_page_ids":
        return tuple(page * page_size for page in call.slots)
    return call.slots


def describe(slots: Iterable[int], books: Ownership) -> str:
    """``positions 0..7 of request 1 (pages 1..2)``; slots that no row got are named themselves."""
    slots = list(slots)
    if not slots:
        return "no slots"
    told: list[str] = []
    for request, positions, run in _by_request(slots, books):
        if request is None:
            told.append(f"slots {_ranges(run)}, which no row holds")
            continue
        gone = all(slot // books.page_size not in books.holders for slot in run)
        one = "position" if len(set(positions)) == 1 else "positions"
        told.append(
            f"{one} {_ranges(positions)} of request {request}" + (" (given back)" if gone else "")
        )
    return f"{' and '.join(told)}, on {pages_text(slots, books.page_size)}"


def pages_text(slots: Iterable[int], page_size: int) -> str:
    """``pages 1..2``; at page size 1 ``slots 4..7``."""
    pages = list(dict.fromkeys(slot // page_size for slot in slots))
    thing = "slot" if page_size == 1 else "page"
    return f"{thing}{'' if len(pages) == 1 else 's'} {_ranges(pages)}"


def _by_request(
    slots: list[int], books: Ownership
) -> list[tuple[int | None, list[int], list[int]]]:
    """Runs of slots that were written for the same request: (request, positions, slots)."""
    runs: list[tuple[int | None, list[int], list[int]]] = []
    for slot in slots:
        request, position = books.tags.get(slot, (None, 0))
        if not runs or runs[-1][0] != request:
            runs.append((request, [], []))
        runs[-1][1].append(position)
        runs[-1][2].append(slot)
    return runs


def _ranges(values: Sequence[int]) -> str:
    """``0..7, 12``: runs of consecutive numbers, in the order given."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ", ".join(f"{start}..{stop}" if stop > start else str(start) for start, stop in runs)
