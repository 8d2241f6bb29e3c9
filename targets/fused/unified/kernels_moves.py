"""The kernel that moves pages: KV content and both tables in one launch (contract_unified §5, §16).

Guarantees what torch does pair by pair where sources and destinations are apart. Where a page is both, lift all of them in one launch,
then lay them down in another.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
from __future__ import annotations

import triton.language as tl

from targets.fused.launcher import Kernel
from targets.fused.unified.kernels_tables import forget, look_up, within


def _move(
    sources, destinations, count, page_size,
    v2p, ids, p2v, pages, content, held_virtual, held_content,
    LIFT: tl.constexpr,  # noqa: N803
    LAY: tl.constexpr,  # noqa: N803
    TILE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Move ``count`` pages. LIFT alone: into what is held; LAY alone: out of it; both: from place to place."""
    index = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = index < count * page_size
    order, within_page = index // page_size, index % page_size
    first = inside & (within_page == 0)
    if LIFT:
        source = within(tl.load(sources + order, mask=inside, other=0), pages)
        there = inside & (source < pages)
        value = tl.load(content + source * page_size + within_page, mask=there, other=0)
        virtual = look_up(p2v, pages, source, first)
        forget(p2v, pages, source, first)
    else:
        value = tl.load(held_content + index, mask=inside, other=0)
        virtual = tl.load(held_virtual + order, mask=first, other=-1)
    if LAY:
        destination = tl.load(destinations + order, mask=inside, other=0)
        place = within(destination, pages)
        there = inside & (place < pages)
        tl.store(content + place * page_size + within_page, value, mask=there)
        row = within(virtual, ids)
        tl.store(v2p + row, destination, mask=first & (row < ids))
        tl.store(p2v + place, virtual, mask=first & (place < pages))
    else:
        tl.store(held_content + index, value, mask=inside)
        tl.store(held_virtual + order, virtual, mask=first)


move = Kernel(_move)
