"""Which preconditions a hostile caller of one example breaks.

A caller that breaks everything breaks the commonest precondition first, and what follows is its noise. So most hostile
examples break one or two chosen ones only. Guarantees that only breaches which can occur are chosen.
"""

from __future__ import annotations

from oracle import legality
from oracle.contract import Contract
from oracle.geometry import BANDS, WITH_DEVICE, WITH_PEERS, Geometry

HYBRID_ONLY = frozenset(
    {
        legality.UNMAPPED_REPRESENTATIVE,
        legality.UNMAPPED_SLOT,
        legality.UNALIGNED_TAIL,
        legality.STRADDLED_PAGE,
        legality.PEER_STILL_MAPPED,
        legality.INCOMPLETE_PEERS,
        legality.PEER_OVERWRITTEN,
        legality.TOMBSTONED_PARTIAL_PAGE,
        legality.LIVE_MAPPING_CLEARED,
        legality.FREED_ROW_MAPPED,
    }
)
TIERED_ONLY = frozenset(
    {
        legality.UNBACKED_PARTIAL_PAGE,
        legality.INCOMPLETE_BACKING,
        legality.BACKING_LEFT,
        legality.UNALIGNED_BUFFER,
        legality.DEVICE_TOO_SMALL,
    }
)
INTERLEAVED_ONLY = frozenset({legality.UNALIGNED_PREFIX, legality.OTHER_CLASS})
ROWS_ONLY = frozenset(
    {
        legality.UNALIGNED_PROTECTED,
        legality.UNALIGNED_CURSOR,
        legality.STALE_CURSOR,
        legality.FLOOR_IGNORED,
    }
)
BY_CURSORS = frozenset(
    {
        legality.DUPLICATE_SLOTS,
        legality.SEGMENTS_OUT_OF_ORDER,
        legality.LIVE_MAPPING_CLEARED,
        legality.FREED_ROW_MAPPED,
    }
)
"""What a caller who frees rows by their cursors has no occasion for."""
NO_PEERS_PASSED_ON = frozenset(
    {
        legality.INCOMPLETE_PEERS,
        legality.PEER_OVERWRITTEN,
        legality.LIVE_MAPPING_CLEARED,
        legality.FREED_ROW_MAPPED,
    }
)
"""What a hisparse-dsv4 allocator gives no occasion for: it has no calls that set or clear its mapping."""
NO_GROUP = frozenset({legality.NESTED_GROUP, legality.UNBALANCED_GROUP_END})
STATES_ONLY = frozenset(
    {legality.STALE, legality.RAW_SLOTS, legality.DUPLICATE_SLOTS, legality.NESTED_GROUP}
)
"""All that can be got wrong with an allocator of states."""
NOT_UNIFIED = frozenset(
    {
        legality.UNALIGNED_TAIL,
        legality.STRADDLED_PAGE,
        legality.INCOMPLETE_PEERS,
        legality.LIVE_MAPPING_CLEARED,
        legality.FREED_ROW_MAPPED,
        legality.MISUSE,
        legality.UNBALANCED_GROUP_END,
    }
)
"""What unified families give no occasion for: the mapping is the allocator's own, and whole pages are bound. Ending a group
that is not open is left out because nothing is promised about it."""
SLOTS_ONLY = frozenset({legality.UNMAPPED_SLOT, legality.DUPLICATE_SLOTS})
PAGES_ONLY = frozenset(
    {
        legality.UNMAPPED_REPRESENTATIVE,
        legality.UNALIGNED_TAIL,
        legality.STRADDLED_PAGE,
        legality.UNALIGNED_NEED,
        legality.UNALIGNED_START,
        legality.TOMBSTONED_PARTIAL_PAGE,
        legality.UNALIGNED_PROTECTED,
        legality.UNALIGNED_CURSOR,
    }
)

OFTEN = {
    legality.UNMAPPED_REPRESENTATIVE: 10,
    legality.UNALIGNED_TAIL: 10,
    legality.UNMAPPED_SLOT: 15,
    legality.STALE: 2,
    legality.RAW_SLOTS: 2,
    legality.SEGMENTS_OUT_OF_ORDER: 4,
    legality.NESTED_GROUP: 3,
    legality.UNBALANCED_GROUP_END: 3,
    legality.FREED_ROW_MAPPED: 10,
    legality.STALE_CURSOR: 10,
    legality.FLOOR_IGNORED: 5,
    legality.UNALIGNED_CURSOR: 5,
}
"""Errors that real callers made, and how many times as often as the rest they are chosen: the first three need several
operations to show, and the third of them a pool of page size 1."""

DRAWN = 100
"""A choice is drawn below this: small enough for Hypothesis to draw evenly."""

EVERYTHING = 20
"""A first choice below this may break everything."""


def possible_breaches(geometry: Geometry, contract: Contract) -> tuple[str, ...]:
    """The preconditions that a caller of an allocator of this geometry can break, in the order of ``BREACHES``.

    Those that are to be chosen more often are repeated.
    """
    hybrid, pages = geometry.family in WITH_PEERS, geometry.page_size > 1
    unified, tiered = geometry.family in BANDS, geometry.family in WITH_DEVICE
    impossible = set(SLOTS_ONLY if pages else PAGES_ONLY)
    if not hybrid:
        impossible |= HYBRID_ONLY
    if unified:
        impossible |= NOT_UNIFIED
    if geometry.family == "paged":
        impossible.add(legality.MISUSE)
    elif not unified and not tiered:
        impossible.add(legality.UNALIGNED_NEED)
    impossible |= _elsewhere(geometry)
    if not unified or geometry.bytes_shared.lazy:
        impossible.add(legality.GUARDED_MOVE)
    if not (unified and hybrid):
        impossible.add(legality.UNBOUND_RESERVATION)
    if "restore_state" not in contract.methods:
        impossible.add(legality.RESTORE_AFTER_FREES)
    possible = [breach for breach in legality.BREACHES if breach not in impossible]
    return tuple(breach for breach in possible for _ in range(OFTEN.get(breach, 1)))


def _elsewhere(geometry: Geometry) -> set[str]:
    """The breaches that only families other than this one give occasion for."""
    family = geometry.family
    if family == "mamba-slots":
        return set(legality.BREACHES) - STATES_ONLY
    elsewhere: set[str] = set()
    if family not in WITH_DEVICE:
        elsewhere |= TIERED_ONLY
    if family != "page-interleave":
        elsewhere |= INTERLEAVED_ONLY
    elsewhere |= BY_CURSORS if family == "hybrid-rows" else ROWS_ONLY
    if family == "hisparse-dsv4":
        elsewhere |= NO_PEERS_PASSED_ON
    if family == "hisparse":
        elsewhere |= NO_GROUP | {legality.BACKING_LEFT}
    return elsewhere


def chosen_breaches(
    possible: tuple[str, ...], first: int, second: int | None
) -> tuple[str, ...] | None:
    """The breaches of one example from two drawn numbers: None (all of them) for one in five, else one or two, and misuse.

    ``first`` and ``second`` are below ``DRAWN``.
    """
    if first < EVERYTHING:
        return None
    chosen = [possible[(first - EVERYTHING) * len(possible) // (DRAWN - EVERYTHING)]]
    if second is not None:
        chosen.append(possible[second * len(possible) // DRAWN])
    # Only a tail that starts inside a page makes a FULL page straddle two SWA pages.
    if legality.STRADDLED_PAGE in chosen:
        chosen.append(legality.UNALIGNED_TAIL)
    # Misuse is refused and changes nothing, so it hides nothing: it always may happen.
    if legality.MISUSE in possible:
        chosen.append(legality.MISUSE)
    return tuple(dict.fromkeys(chosen))
