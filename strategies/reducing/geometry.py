"""Passes that make the allocator smaller and its switches plain.

A page size goes down with the number of pages kept; amounts in slots are tried both as they are and scaled.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UnsetType
from msgspec.structs import fields, replace

from oracle.family_sizes import FEWEST, USED, FamilySizes
from oracle.geometry import BANDS, LEVELS, Geometry
from oracle.operations import Operation
from oracle.trace import Trace
from strategies.reducing.buffer import plainer_buffers, smaller_pages
from strategies.reducing.search import Search

PAGE_SIZES = (1, 2, 4, 16, 64)
FEWEST_TRIED = 4
"""Pools of one page up to this many are tried, whatever their size was."""

SLOT_FIELDS = frozenset(
    {"first", "count", "cut", "shift", "tail", "start_pos", "slots", "behind", "floor", "accepted"}
)
"""The fields of operations that count slots, beside amounts in tokens."""


def narrow_breaches(search: Search) -> None:
    """Let the caller break nothing but what explains the finding: all other illegal calls are skipped, and so deletable."""
    if search.finding.breach and search.best.callers != "legal":
        search.accepts(replace(search.best, may_break=(search.finding.breach,)))


def widen_breaches(search: Search) -> None:
    """Let the caller break anything, where that changes nothing: the plainest caller there is."""
    if search.best.may_break is not None:
        search.accepts(replace(search.best, may_break=None))


def simplify_mode(search: Search) -> None:
    """A lower level, debug mode off, legal callers, a plain free list, where the finding stays."""
    mode = search.best.mode
    for level in LEVELS[: LEVELS.index(mode.level)]:
        if search.accepts(replace(search.best, mode=replace(mode, level=level))):
            break
    if search.best.mode.debug:
        plain = replace(search.best.mode, debug=False)
        search.accepts(replace(search.best, mode=plain))
    if search.best.callers != "legal" and not search.finding.breach:
        search.accepts(replace(search.best, callers="legal", may_break=None))
    if search.best.geometry.need_sort:
        unsorted = replace(search.best.geometry, need_sort=False)
        search.accepts(replace(search.best, geometry=unsorted))


def shrink_geometry(search: Search) -> None:
    """Smaller pages, then smaller pools: the smallest that is accepted first."""
    if search.best.geometry.family in BANDS:
        _shrink_buffer(search)
        return
    for candidate in _smaller_pages(search.best):
        if search.accepts(candidate):
            break
    for sizes in _smaller_counts(search.best.geometry):
        search.accepts(replace(search.best, geometry=replace(search.best.geometry, sizes=sizes)))
    for geometry in _smaller_pools(search.best.geometry):
        if _is_smaller(geometry, search.best.geometry):
            search.accepts(replace(search.best, geometry=geometry))


def scale_pages(search: Search, page_size: int) -> None:
    """Pages of ``page_size`` slots, as many as before, and every count of slots scaled with them, in one run."""
    geometry = search.best.geometry
    if geometry.family in BANDS or page_size >= geometry.page_size:
        return
    search.accepts(_with_pages(search.best, page_size, scaled=True))


def _shrink_buffer(search: Search) -> None:
    old = search.best.geometry.page_size
    for smaller in smaller_pages(search.best.geometry, PAGE_SIZES):
        size = smaller.page_size
        scaled = tuple(_scaled(operation, size, old) for operation in search.best.operations)
        candidate = replace(search.best, geometry=smaller)
        if search.accepts(candidate) or search.accepts(replace(candidate, operations=scaled)):
            break
    # Traces are not tried twice, so this ends.
    while any(
        search.accepts(replace(search.best, geometry=geometry))
        for geometry in plainer_buffers(search.best.geometry)
    ):
        pass


def _smaller_pages(trace: Trace) -> Iterator[Trace]:
    for size in PAGE_SIZES:
        if size >= trace.geometry.page_size:
            return
        yield _with_pages(trace, size, scaled=False)
        yield _with_pages(trace, size, scaled=True)


def _with_pages(trace: Trace, page_size: int, *, scaled: bool) -> Trace:
    """The trace on an allocator with as many pages of another size, its amounts as they are or scaled."""
    geometry = trace.geometry
    old = geometry.page_size
    smaller = replace(
        geometry,
        page_size=page_size,
        size=geometry.size // old * page_size,
        size_swa=geometry.size_swa // old * page_size,
        sizes=_scaled_sizes(geometry, page_size),
    )
    if not scaled:
        return replace(trace, geometry=smaller)
    operations = tuple(_scaled(operation, page_size, old) for operation in trace.operations)
    return replace(trace, geometry=smaller, operations=operations)


def _scaled_sizes(geometry: Geometry, page_size: int) -> FamilySizes | UnsetType:
    """The sizes that only some families have, for as many pages of another size."""
    sizes, old = geometry.sizes, geometry.page_size
    if isinstance(sizes, UnsetType):
        return sizes
    return replace(
        sizes,
        device_size=sizes.device_size * page_size // old,
        ring=min(sizes.ring, page_size),
        window=-(-sizes.window * page_size // old),
    )


def _smaller_counts(geometry: Geometry) -> Iterator[FamilySizes]:
    """Each of them alone: as small as can be, half, one less."""
    sizes = geometry.family_sizes
    for name in USED.get(geometry.family, ()):
        value = getattr(sizes, name)
        for fewer in dict.fromkeys((1, 2, value // 2, value - 1)):
            if FEWEST.get(name, 1) <= fewer < value:
                yield replace(sizes, **{name: fewer})


def _smaller_pools(geometry: Geometry) -> Iterator[Geometry]:
    """Both pools alike and small, then each by itself: without its spare slots, of a few pages, half, one page less."""
    size = geometry.page_size
    if geometry.size_swa:
        for pages in range(1, FEWEST_TRIED + 1):
            yield replace(geometry, size=pages * size, size_swa=pages * size)
    for name in ("size_swa", "size") if geometry.size_swa else ("size",):
        pages = getattr(geometry, name) // size
        for fewer in (*range(1, FEWEST_TRIED + 1), pages // 2, pages - 1, pages):
            if fewer >= 1:
                yield replace(geometry, **{name: fewer * size})


def _is_smaller(one: Geometry, other: Geometry) -> bool:
    smaller = one.size < other.size or one.size_swa < other.size_swa
    return smaller and one.size <= other.size and one.size_swa <= other.size_swa


def _scaled(operation: Operation, new: int, old: int) -> Operation:
    """The operation with its slot counts scaled from pages of ``old`` slots to pages of ``new``."""

    def scale(value: int) -> int:
        # What lies inside a page stays inside one: (pages, rest) -> (pages, rest if it fits).
        pages, rest = divmod(value, old)
        return pages * new + min(rest, new - 1)

    changes: dict[str, object] = {}
    for field in fields(type(operation)):
        value = getattr(operation, field.name)
        if field.name in SLOT_FIELDS and isinstance(value, int):
            changes[field.name] = scale(value)
        elif field.name in SLOT_FIELDS:
            changes[field.name] = tuple(scale(item) for item in value)
        elif field.name == "amount" and getattr(operation, "unit", "") == "tokens":
            changes[field.name] = scale(value)
        elif field.name == "parts":
            changes[field.name] = tuple(
                replace(part, amount=scale(part.amount)) if part.unit == "tokens" else part
                for part in value
            )
    scaled: Operation = replace(operation, **changes)
    return scaled
