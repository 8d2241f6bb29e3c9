"""The kernels of set-shaped frees: mark the pages, then release them ascending and each once (contract_paged_swa §5.5, §6.3, §6.4).

Guarantees the order of ``unique`` in one launch at any size: every program marks, and the last to arrive goes through the marks. Marks
are zero before and after. SWA pages that have no mark are passed over; FULL pages that have none are reported, and nothing is released.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
from __future__ import annotations

import triton
import triton.language as tl

from targets.fused.kernels_lists import copy_values, floor_divide, in_ring, peer_of, set_peer
from targets.fused.kernels_segments import UNRELEASED, count_unreleased, wait_for_all
from targets.fused.launcher import Kernel

SWA_FOUND = tl.constexpr(3)
"""Where a report holds how many SWA pages were released from marks."""
FULL_FOUND = tl.constexpr(4)
"""Where a report holds how many FULL pages were released from marks, STOPPED or FOREIGN."""

OUTSIDE = tl.constexpr(5)
"""Where a report counts FULL slots of pages that have no mark, until the launch ends."""
STOPPED = tl.constexpr(-1)
"""What FULL_FOUND holds when the launch did not come to the FULL side."""
FOREIGN = tl.constexpr(-2)
"""What FULL_FOUND holds when nothing was released there because of pages that have no mark."""

BY_MAPPING = 1
"""The SWA pages are those of the peers of the whole pages of the slots given, which are unmapped."""
BY_VALUE = 2
"""The SWA pages are those of the SWA slots given; 0 is none."""


@triton.jit
def _mark(pages, inside, marks, domain):
    """Mark pages, of which -1 is the lowest."""
    inside = inside & (pages >= -1) & (pages < domain - 1)
    tl.store(marks + pages + 1, tl.full(pages.shape, 1, tl.int8), mask=inside)


@triton.jit
def _release_marked(
    marks,
    domain,
    ring,
    start,
    capacity,
    FRONT: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
):
    """Push the marked pages ascending, in front of or behind ``start``, and return how many; by one program."""
    found = tl.zeros((), tl.int32)
    for base in range(0, domain, TILE):
        index = base + tl.arange(0, TILE)
        inside = index < domain
        page = index
        if FRONT:
            # In front, the highest page goes first, next to the head.
            page = domain - 1 - index
        marked = tl.load(marks + page, mask=inside, other=0, cache_modifier=".cg").to(tl.int32)
        order = found + tl.cumsum(marked, 0) - marked
        position = start + order
        if FRONT:
            position = start + capacity - 1 - order
        chosen = inside & (marked != 0)
        tl.store(ring + in_ring(position, capacity), page.to(tl.int64) - 1, mask=chosen)
        tl.store(marks + page, tl.zeros((TILE,), tl.int8), mask=chosen)
        found += tl.sum(marked)
    return found


@triton.jit
def _forget_marked(marks, domain, TILE: tl.constexpr):  # noqa: N803
    for base in range(0, domain, TILE):
        index = base + tl.arange(0, TILE)
        tl.store(marks + index, tl.zeros((TILE,), tl.int8), mask=index < domain)


@triton.jit
def _release_full(
    go, marks, domain, ring, start, capacity, report,
    FRONT: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Release the marked FULL pages if all is well, and report and return how many, STOPPED or FOREIGN."""
    found = tl.where(go, FOREIGN, STOPPED).to(tl.int32)
    foreign = tl.load(report + OUTSIDE, cache_modifier=".cg")
    if go & (foreign == 0):
        found = _release_marked(marks, domain, ring, start, capacity, FRONT, TILE)
    else:
        _forget_marked(marks, domain, TILE)
    tl.store(report + FULL_FOUND, found.to(tl.int64))
    tl.store(report + OUTSIDE, tl.zeros((), tl.int64))
    return found


@triton.jit
def _copy_pile(pile, count, ring, start, capacity, TILE: tl.constexpr):  # noqa: N803
    for base in range(0, count, TILE):
        copy_values(base + tl.arange(0, TILE), pile, 1, count, ring, start, capacity)


@triton.jit
def _mark_peers(
    swa_source, swa_stride, swa_count, page_size, mapping, entries, leaders, swa_marks, swa_domain,
    SWA: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Mark the SWA pages. What several threads unmap, at least one has read first, so clearing need not wait."""
    first = tl.program_id(0) * TILE
    step = tl.num_programs(0) * TILE
    if SWA == 1:
        for base in range(first, swa_count, step):
            index = base + tl.arange(0, TILE)
            inside = index < swa_count
            given = tl.load(swa_source + index.to(tl.int64) * swa_stride, mask=inside, other=0)
            page = floor_divide(given.to(tl.int64), page_size)
            before = tl.load(
                swa_source + (index - 1).to(tl.int64) * swa_stride,
                mask=inside & (index > base),
                other=0,
            )
            # In a row most slots follow one of their own page, which sees to the page.
            leads = (index == base) | (floor_divide(before.to(tl.int64), page_size) != page)
            leads = (inside & leads).to(tl.int32)
            tl.store(leaders + base + tl.cumsum(leads, 0) - leads, page, mask=leads != 0)
            count = tl.sum(leads) * page_size
            tl.debug_barrier()
            for within in range(0, count, TILE):
                entry = within + tl.arange(0, TILE)
                of_leader = entry < count
                page = tl.load(leaders + base + entry // page_size, mask=of_leader, other=0)
                slot = page * page_size + entry % page_size
                peer = peer_of(mapping, entries, slot, of_leader, 0)
                _mark(peer // page_size, of_leader & (peer > 0), swa_marks, swa_domain)
                set_peer(mapping, entries, slot, tl.zeros((TILE,), tl.int64), of_leader)
    else:
        for base in range(first, swa_count, step):
            index = base + tl.arange(0, TILE)
            inside = index < swa_count
            peer = tl.load(swa_source + index.to(tl.int64) * swa_stride, mask=inside, other=0)
            _mark(peer.to(tl.int64) // page_size, inside & (peer > 0), swa_marks, swa_domain)


@triton.jit
def _mark_pages(
    source, stride, count, page_size, marks, domain, report,
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    first = tl.program_id(0) * TILE
    step = tl.num_programs(0) * TILE
    for base in range(first, count, step):
        index = base + tl.arange(0, TILE)
        inside = index < count
        slot = tl.load(source + index.to(tl.int64) * stride, mask=inside, other=0).to(tl.int64)
        page = floor_divide(slot, page_size)
        foreign = tl.sum((inside & ((page < -1) | (page >= domain - 1))).to(tl.int64))
        if foreign > 0:
            tl.atomic_add(report + OUTSIDE, foreign)
        _mark(page, inside, marks, domain)


def _free_sets(
    swa_source, full_source, swa_stride, swa_count, full_stride, full_count,
    page_size, mapping, entries, leaders,
    swa_marks, swa_domain, swa_ring, swa_start, swa_capacity, swa_room,
    full_marks, full_domain, full_ring, full_start, full_capacity,
    swa_pages, swa_pages_count, swa_pages_start, full_pages, full_pages_count,
    report, stop_at_hit, tickets, ticket_target,
    SWA: tl.constexpr,  # noqa: N803
    FULL: tl.constexpr,  # noqa: N803
    RELEASED: tl.constexpr,  # noqa: N803
    PILES: tl.constexpr,  # noqa: N803
    FRONT: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Release a set on the SWA side, then one on the FULL side unless the SWA side has more than room by then.

    RELEASED: first the report says how many of the FULL slots still have a peer, which may stop the FULL side. PILES: the SWA page
    pile goes in before the SWA set, and the FULL page pile after the FULL set, as a group end does it.
    """
    if SWA:
        _mark_peers(
            swa_source, swa_stride, swa_count, page_size, mapping, entries, leaders,
            swa_marks, swa_domain, SWA, TILE,
        )  # fmt: skip
    if FULL:
        _mark_pages(
            full_source, full_stride, full_count, page_size, full_marks, full_domain, report, TILE
        )
    tl.debug_barrier()
    arrived = tl.atomic_add(tickets, 1)
    tl.debug_barrier()
    if arrived == ticket_target - 1:
        go = stop_at_hit >= 0
        if PILES:
            _copy_pile(swa_pages, swa_pages_count, swa_ring, swa_pages_start, swa_capacity, TILE)
        if SWA:
            found = _release_marked(
                swa_marks, swa_domain, swa_ring, swa_start, swa_capacity, FRONT, TILE
            )
            tl.store(report + SWA_FOUND, found.to(tl.int64))
            go = found <= swa_room
        if RELEASED:
            unreleased = count_unreleased(
                full_source, full_stride, full_count, mapping, entries, TILE
            )
            tl.store(report + UNRELEASED, unreleased)
            go = go & ((unreleased == 0) | (stop_at_hit == 0))
        released = tl.zeros((), tl.int32)
        if FULL:
            released = _release_full(
                go, full_marks, full_domain, full_ring, full_start, full_capacity, report,
                FRONT, TILE,
            )  # fmt: skip
            go = released >= 0
        if PILES:  # noqa: SIM102 (decided when the kernel is compiled)
            if go:
                start = full_start + released
                if FRONT:
                    # Less than a capacity below the edge, so that adding one makes it positive.
                    start = full_start + full_capacity - full_pages_count - released
                start = in_ring(start, full_capacity)
                _copy_pile(full_pages, full_pages_count, full_ring, start, full_capacity, TILE)


def _defer_set(
    source,
    stride,
    count,
    page_size,
    mapping,
    entries,
    swa_pile,
    swa_start,
    full_ring,
    full_start,
    full_capacity,
    report,
    tickets,
    ticket_target,
    stop_at_hit,
    SWA: tl.constexpr,  # noqa: N803
    FULL: tl.constexpr,  # noqa: N803
    RELEASED: tl.constexpr,  # noqa: N803
    MANY: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
):
    """In a group: put the peers of whole pages, repeated ones repeated, on the SWA pile and unmap them; the slots on the FULL pile.

    RELEASED, by one program only: the report says how many slots still have a peer then, which may keep them off the FULL pile.
    """
    first = tl.program_id(0) * TILE
    step = tl.num_programs(0) * TILE
    if SWA:
        for clearing in tl.static_range(2):
            for base in range(first, count * page_size, step):
                index = base + tl.arange(0, TILE)
                inside = index < count * page_size
                slot = tl.load(
                    source + (index // page_size).to(tl.int64) * stride, mask=inside, other=0
                )
                slot = floor_divide(slot.to(tl.int64), page_size) * page_size + index % page_size
                if clearing:
                    set_peer(mapping, entries, slot, tl.zeros((TILE,), tl.int64), inside)
                else:
                    peer = peer_of(mapping, entries, slot, inside, 0)
                    tl.store(swa_pile + swa_start + index, peer, mask=inside)
            if MANY and clearing == 0:
                wait_for_all(tickets, ticket_target)
            else:
                tl.debug_barrier()
    go = True
    if RELEASED:
        unreleased = count_unreleased(source, stride, count, mapping, entries, TILE)
        tl.store(report + UNRELEASED, unreleased)
        go = (unreleased == 0) | (stop_at_hit == 0)
    if FULL:  # noqa: SIM102 (decided when the kernel is compiled)
        if go:
            for base in range(first, count, step):
                index = base + tl.arange(0, TILE)
                inside = index < count
                slot = tl.load(source + index.to(tl.int64) * stride, mask=inside, other=0)
                position = in_ring(full_start + index, full_capacity)
                tl.store(full_ring + position, slot.to(tl.int64), mask=inside)


free_sets = Kernel(_free_sets)
defer_set = Kernel(_defer_set)
