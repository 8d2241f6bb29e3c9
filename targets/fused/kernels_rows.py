"""The kernels that make rows longer: extend, extend with a tail of peers, decode (contract_paged_swa §5.3, §5.4, §6.2).

Guarantees the slots of the contract on both sides in one launch, and that no slot is mapped into the padding page: a row that goes on
after a peer that is gone stops the whole launch (STOP, one program), or gets no peer for the rest of that page.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
from __future__ import annotations

import triton
import triton.language as tl

from targets.fused.kernels_lists import in_ring, pages_spanned, peer_of, set_peer
from targets.fused.launcher import Kernel

ROWS = 128
"""Rows in one tile."""
GONE = tl.constexpr(2)
"""Where a report holds how many rows would go on after a peer that is gone."""


@triton.jit
def last_peers(last_loc, stride, row, inside, mapping, entries):
    """The peer of the last slot of each row of a tile."""
    last = tl.load(last_loc + row.to(tl.int64) * stride, mask=inside, other=0).to(tl.int64)
    return peer_of(mapping, entries, last, inside, 0)


@triton.jit
def is_gone(prefix, seq, peer, page_size):
    """1 for each row that would go on inside a page whose last peer is gone."""
    return ((prefix % page_size != 0) & (seq > prefix) & (peer <= 0)).to(tl.int64)


@triton.jit
def _look_before(
    prefix_lens, seq_lens, last_loc, last_stride, rows, page_size, mapping, entries, peers,
    ROWS: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Keep the peers of all last slots, which allocating may map anew, and count those that are gone."""
    gone = tl.zeros((ROWS,), tl.int64)
    for base in range(0, rows, ROWS):
        row = base + tl.arange(0, ROWS)
        inside = row < rows
        prefix = tl.load(prefix_lens + row, mask=inside, other=0)
        seq = tl.load(seq_lens + row, mask=inside, other=0)
        peer = last_peers(last_loc, last_stride, row, inside, mapping, entries)
        tl.store(peers + row, peer, mask=inside)
        gone += is_gone(prefix, seq, peer, page_size)
    tl.debug_barrier()
    return tl.sum(gone)


@triton.jit
def _sums_before(row, prefix_lens, seq_lens, page_size, ROWS: tl.constexpr):  # noqa: N803
    """How many slots and how many new pages the rows before ``row`` get."""
    slots = tl.zeros((ROWS,), tl.int32)
    pages = tl.zeros((ROWS,), tl.int32)
    for base in range(0, row, ROWS):
        earlier = base + tl.arange(0, ROWS)
        prefix = tl.load(prefix_lens + earlier, mask=earlier < row, other=0).to(tl.int32)
        seq = tl.load(seq_lens + earlier, mask=earlier < row, other=0).to(tl.int32)
        slots += seq - prefix
        pages += pages_spanned(seq, page_size) - pages_spanned(prefix, page_size)
    return tl.sum(slots), tl.sum(pages)


@triton.jit
def _tail_peers(index, inside, page_size, swa_ring, swa_head, swa_capacity):
    """The peers of the slots ``index`` of a tail, which lies on fresh pages."""
    index = tl.maximum(index, 0)
    position = in_ring(swa_head + index // page_size, swa_capacity)
    return tl.load(swa_ring + position, mask=inside, other=0) * page_size + index % page_size


@triton.jit
def _unmap_front(row_tiles, tail_start, out, mapping, entries, TILE: tl.constexpr):  # noqa: N803
    """Unmap the slots in front of a tail. A page that is free twice can lie in both; then the front speaks last."""
    tl.debug_barrier()
    for tile in range(tl.program_id(0), row_tiles, tl.num_programs(0)):
        index = tile * TILE + tl.arange(0, TILE)
        in_front = index < tail_start
        slot = tl.load(out + index, mask=in_front, other=0)
        set_peer(mapping, entries, slot, tl.zeros((TILE,), tl.int64), in_front)


def _extend(
    prefix_lens, seq_lens, last_loc, out, last_stride, rows, row_tiles, page_size,
    full_ring, full_head, full_capacity,
    mapping, entries, swa_ring, swa_head, swa_capacity,
    tail_start, peers, report,
    HYBRID: tl.constexpr,  # noqa: N803
    TAIL: tl.constexpr,  # noqa: N803
    STOP: tl.constexpr,  # noqa: N803
    ROWS: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """The slots of every row's extension in ``row_tiles`` tiles each, and their peers if HYBRID.

    TAIL: the only row's slots from output index ``tail_start`` on get peers on fresh pages, those before none.
    """
    go = True
    if STOP:
        gone = _look_before(
            prefix_lens, seq_lens, last_loc, last_stride, rows, page_size, mapping, entries, peers,
            ROWS,
        )  # fmt: skip
        tl.store(report + GONE, gone)
        go = gone == 0
    if go:
        for item in range(tl.program_id(0), rows * row_tiles, tl.num_programs(0)):
            row = item // row_tiles
            begin, first_page = _sums_before(row, prefix_lens, seq_lens, page_size, ROWS)
            prefix = tl.load(prefix_lens + row).to(tl.int32)
            seq = tl.load(seq_lens + row).to(tl.int32)
            last = tl.load(last_loc + row.to(tl.int64) * last_stride).to(tl.int64)
            index = (item % row_tiles) * TILE + tl.arange(0, TILE)
            inside = index < seq - prefix
            fresh = prefix + index - pages_spanned(prefix, page_size) * page_size
            is_fresh = fresh >= 0
            fresh = tl.maximum(fresh, 0)
            order = first_page + fresh // page_size
            within = fresh % page_size
            taken = inside & is_fresh
            page = tl.load(
                full_ring + in_ring(full_head + order, full_capacity), mask=taken, other=0
            )
            slot = tl.where(is_fresh, page * page_size + within, last + 1 + index)
            tl.store(out + begin + index, slot, mask=inside)
            if HYBRID:
                mapped = inside
                if TAIL:
                    mapped = inside & (index >= tail_start)
                    peer = _tail_peers(
                        index - tail_start, mapped, page_size, swa_ring, swa_head, swa_capacity
                    )
                else:
                    if STOP:
                        last_peer = tl.load(peers + row)
                    else:
                        last_peer = peer_of(mapping, entries, last, rows > 0, 0)
                        tl.atomic_max(report + GONE, is_gone(prefix, seq, last_peer, page_size))
                    position = in_ring(swa_head + order, swa_capacity)
                    page = tl.load(swa_ring + position, mask=taken, other=0)
                    continued = tl.where(last_peer > 0, last_peer + 1 + index, 0)
                    peer = tl.where(is_fresh, page * page_size + within, continued)
                set_peer(mapping, entries, slot, peer, mapped)
        if TAIL:
            _unmap_front(row_tiles, tail_start, out, mapping, entries, TILE)


def _decode(
    seq_lens,
    last_loc,
    out,
    last_stride,
    rows,
    page_size,
    full_ring,
    full_head,
    full_capacity,
    mapping,
    entries,
    swa_ring,
    swa_head,
    swa_capacity,
    report,
    HYBRID: tl.constexpr,  # noqa: N803
    STOP: tl.constexpr,  # noqa: N803
    ROWS: tl.constexpr,  # noqa: N803
):
    """Each program: one new slot for each row of one tile, and its peer if HYBRID. ``seq_lens`` count the new slot."""
    mine = tl.program_id(0) * ROWS
    opened = tl.zeros((ROWS,), tl.int32)
    gone = tl.zeros((ROWS,), tl.int64)
    for base in range(0, rows, ROWS):
        row = base + tl.arange(0, ROWS)
        inside = row < rows
        seq = tl.load(seq_lens + row, mask=inside, other=0).to(tl.int32)
        opened += (inside & (row < mine) & ((seq - 1) % page_size == 0)).to(tl.int32)
        if HYBRID:
            peer = last_peers(last_loc, last_stride, row, inside, mapping, entries)
            gone += tl.where(inside, is_gone(seq - 1, seq, peer, page_size), 0)
    go = True
    if HYBRID:
        gone_count = tl.sum(gone)
        if STOP:
            tl.store(report + GONE, gone_count)
            go = gone_count == 0
        else:
            tl.atomic_max(report + GONE, gone_count)
    if go:
        row = mine + tl.arange(0, ROWS)
        inside = row < rows
        seq = tl.load(seq_lens + row, mask=inside, other=2).to(tl.int32)
        last = tl.load(last_loc + row.to(tl.int64) * last_stride, mask=inside, other=0).to(tl.int64)
        opens = inside & ((seq - 1) % page_size == 0)
        order = tl.sum(opened) + tl.cumsum(opens.to(tl.int32), 0) - 1
        order = tl.maximum(order, 0)
        page = tl.load(full_ring + in_ring(full_head + order, full_capacity), mask=opens, other=0)
        slot = tl.where(opens, page * page_size, last + 1)
        tl.store(out + row, slot, mask=inside)
        if HYBRID:
            page = tl.load(swa_ring + in_ring(swa_head + order, swa_capacity), mask=opens, other=0)
            last_peer = peer_of(mapping, entries, last, inside, 0)
            # A slot that is handed out may be the last of another row: look before anything is mapped.
            tl.debug_barrier()
            continued = tl.where(last_peer > 0, last_peer + 1, 0)
            peer = tl.where(opens, page * page_size, continued)
            set_peer(mapping, entries, slot, peer, inside)


extend = Kernel(_extend)
decode = Kernel(_decode)
