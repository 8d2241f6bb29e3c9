"""The mapping: which FULL slots have peers, and that no two of them share one (contract_paged_swa
§15.3 to §15.7).
"""

from __future__ import annotations

from operator import sub

from oracle.laws.census import Census
from oracle.laws.ledger import Ledger
from oracle.laws.peers import Peers
from oracle.laws.violation import (
    MAPPED_EQUALS_HELD,
    MAPPING_INJECTIVE,
    MAPPING_SUPPORT,
    PADDING_PAGE,
    PAGE_OFFSET,
    Violation,
)
from oracle.laws.wording import near, reading
from oracle.ownership import Ownership

SENTINEL = -1


def judge_padding_peers(peers: Peers, books: Ownership) -> Violation | None:
    """No entry of a live slot points into the padding page; slot 0 itself means unmapped and is the
    support's matter.
    """
    size = books.page_size
    if size == 1 or 0 not in peers.held:
        return None
    wrong = [at for at, value in enumerate(peers.values) if 0 < value < size]
    if not wrong:
        return None
    at = min(wrong, key=peers.slots.__getitem__)
    return Violation(
        law=PADDING_PAGE,
        pool="swa",
        expected="no mapping entry of a live slot points into the padding page",
        got=f"{reading(books, peers.slots[at])} has SWA slot {peers.values[at]} as its peer",
    )


def judge_support(
    mapping: list[int], peers: Peers, books: Ownership, ledger: Ledger
) -> Violation | None:
    """Exactly the live slots with peers in the books are mapped; the padding page is not, and the
    sentinel stands.
    """
    if not mapping or mapping[-1] != SENTINEL:
        return _unsupported("the sentinel at the end of the mapping is -1", _end(mapping))
    if any(mapping[: books.page_size]):
        at = next(at for at, value in enumerate(mapping) if value)
        return _unsupported("the mapping of the padding page is 0", near(mapping, at))
    if not peers.full <= books.holders.keys():
        size = books.page_size
        slot, peer = next(pair for pair in peers.pairs() if pair[0] // size not in books.holders)
        return _unsupported(
            "only slots of held FULL pages have peers",
            f"{reading(books, slot)} has SWA slot {peer} as its peer",
        )
    mapped = len(mapping) - mapping.count(0) - 1
    if mapped == len(peers.slots) and min(peers.held, default=1) > 0:
        return None
    return _missing_peer(peers, books) or _stray_entry(mapping, books, ledger)


def judge_shape(peers: Peers, books: Ownership) -> Violation | None:
    """No two FULL slots share a peer, nor two FULL pages an SWA page, and peers lie at the page
    offset of their slots.

    FULL pages in ``books.straddled`` may have peers at other offsets and on two pages. Expects that
    ``judge_support`` found nothing.
    """
    if _is_regular(peers, books.page_size):
        return None
    if len(set(peers.values)) < len(peers.values):
        return _shared_peer(peers, books)
    found = _wrong_offset(peers, books)
    if found is not None or books.straddled:
        return found
    return _shared_page(peers, books)


def judge_mapped_equals_held(
    census: Census, peers: Peers, gone: set[int], page_size: int
) -> Violation | None:
    """The SWA pages that live slots map to are the pages neither free nor staged nor, in an open
    group, ``gone``.

    Expects that ``judge_one_owner`` found nothing.
    """
    counted = len(census.pages) + len(peers.held)
    if counted == census.total and max(peers.held, default=0) <= census.total:
        return None
    held = set(range(1, census.total + 1)) - census.pages
    foreign = peers.held - held
    lost = held - peers.held - gone
    if not foreign and not lost:
        return None
    if foreign:
        slot, peer = next(pair for pair in peers.pairs() if pair[1] // page_size in foreign)
        got = f"FULL slot {slot} maps to SWA slot {peer} on SWA page {peer // page_size}"
    else:
        got = f"SWA page {min(lost)} is not free, and no live slot maps to it"
    return Violation(
        law=MAPPED_EQUALS_HELD,
        pool="swa",
        expected="live slots map to just the SWA pages neither free nor staged nor deferred",
        got=got,
    )


def _unsupported(expected: str, got: str) -> Violation:
    return Violation(law=MAPPING_SUPPORT, pool="swa", expected=expected, got=got)


def _end(mapping: list[int]) -> str:
    return near(mapping, len(mapping) - 1) if mapping else "an empty mapping"


def _missing_peer(peers: Peers, books: Ownership) -> Violation | None:
    missing = [slot for slot, value in zip(peers.slots, peers.values, strict=True) if value <= 0]
    if not missing:
        return None
    return _unsupported(
        f"{reading(books, min(missing))} has a peer", "it is unmapped, and would read SWA slot 0"
    )


def _stray_entry(mapping: list[int], books: Ownership, ledger: Ledger) -> Violation | None:
    for slot, value in enumerate(mapping[:-1]):
        if value and slot not in books.peered and slot not in ledger.lingering:
            return _unsupported(
                f"{reading(books, slot)} is unmapped", f"its peer is {near(mapping, slot)}"
            )
    return None


def _is_regular(peers: Peers, size: int) -> bool:
    """Whether FULL pages and SWA pages correspond one to one and every peer lies at its slot's page
    offset.
    """
    if len(peers.held) != len(peers.full):
        return False
    if size == 1:
        return True
    page_of = dict(zip(peers.full_pages, peers.swa_pages, strict=True))
    if list(map(page_of.__getitem__, peers.full_pages)) != peers.swa_pages:
        return False
    return not any(distance % size for distance in set(map(sub, peers.values, peers.slots)))


def _shared_peer(peers: Peers, books: Ownership) -> Violation:
    owner: dict[int, int] = {}
    for slot, value in peers.pairs():
        if value in owner:
            break
        owner[value] = slot
    return Violation(
        law=MAPPING_INJECTIVE,
        pool="swa",
        expected=f"SWA slot {value} is the peer of one FULL slot",
        got=f"it is the peer of {reading(books, owner[value])} and of {reading(books, slot)}",
    )


def _shared_page(peers: Peers, books: Ownership) -> Violation | None:
    full_of: dict[int, int] = {}
    swa_of: dict[int, int] = {}
    for slot, value in peers.pairs():
        full, swa = slot // books.page_size, value // books.page_size
        if full_of.setdefault(swa, full) != full:
            expected = f"SWA page {swa} has the peers of one FULL page"
            got = f"it has peers of FULL page {full_of[swa]} and of FULL page {full}"
        elif swa_of.setdefault(full, swa) != swa:
            expected = f"the peers of FULL page {full} are on one SWA page"
            got = f"they are on SWA page {swa_of[full]} and on SWA page {swa}"
        else:
            continue
        got = f"{got}, seen at {reading(books, slot)}"
        return Violation(law=MAPPING_INJECTIVE, pool="swa", expected=expected, got=got)
    return None


def _wrong_offset(peers: Peers, books: Ownership) -> Violation | None:
    size = books.page_size
    for slot, value in peers.pairs():
        if value % size != slot % size and slot // size not in books.straddled:
            return Violation(
                law=PAGE_OFFSET,
                pool="swa",
                expected=f"the peer of {reading(books, slot)} is at page offset {slot % size}",
                got=f"SWA slot {value}, at page offset {value % size}",
            )
    return None
