"""What can be seen of an allocator: the outcome of a call, and the whole state after it (contract_paged_swa §14).

The oracle predicts these structures, a target reports them, and the judge compares them field by field.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from oracle.costs import Costs

ErrorKind = Literal["AssertionError", "NotImplementedError", "ValueError", "invariant"]


class Hit(Struct, frozen=True):
    """An invariant that was evaluated and found ``count`` (one or more) elements for which its predicate is false."""

    name: str
    count: int


class Eviction(Struct, frozen=True):
    """Something that an eviction took from the tree: a row of ``Tree.rows`` or a state of ``Tree.states``, by its index.

    ``swa``: the row's peers only; ``full``: its FULL pages, which had no peers (any more); ``both``: both in one free.
    """

    index: int
    part: Literal["swa", "full", "both", "state"]


class Outcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one call gave back.

    ``value``: the returned slots in order; None where the call returned None (a refusal, or a call with no result).
    ``error``: "" when nothing was raised; the exception class of a contract error (``AssertionError``,
    ``NotImplementedError``, ``ValueError``); ``invariant:NAME`` for the error of an asserting invariant; ``crash:CLASS`` for
    any other exception. ``message`` is for people and never compared.
    ``hits``: invariants with false elements in order of evaluation, up to and including the one that raised; recorded
    at every level, also at off, where nothing is said aloud.
    ``counted``: the names in ``hits`` for which the release's own counter moved by that hit's count (§2: GUARD at warn);
    None when the target has no counter that can be read.
    ``dtype``: of a returned tensor ("int64"), "" when none was returned.

    Calls that return something else than slots (contract_unified §5 to §10): a verdict is the value (1,) or (0,), a count or
    size (n,), a plan (full, swa) in slots. ``evicted``: what was taken from the tree, in order.

    ``resolved``: the rotation bases after the call where the call takes some (§9 resolves a None in place); -1 for one that is
    still None. Of a call on a row (§11) the evicted cursor after the call, also where it raised,
    as the only element.

    ``costs``: what a probe saw, None without one; never predicted.
    """

    value: tuple[int, ...] | None = None
    error: str = ""
    message: str = ""
    hits: tuple[Hit, ...] = ()
    counted: tuple[Hit, ...] | None = None
    dtype: str = ""
    evicted: tuple[Eviction, ...] = ()
    resolved: tuple[int, ...] = ()
    costs: Costs | None = None


class PoolState(Struct, kw_only=True):
    """One pool's lists, in order. Token pools hold slots, paged pools hold page ids.

    ``staged``: entries in order (a token pool has its release list as one entry, or none when it is empty; so has a paged pool
    up to 0.5.19, which stages in one list); ``group``: the plain pile, None when no group is open, an entry for each deferred
    call; ``page_pile``: the page-id pile of a paged pool, an entry for each deferred call (0.5.17 to 0.5.19: its pile of
    representative slots instead, all of them in order as one entry, or none when it is empty); ``staged_count``: how many
    pages or slots the entries have, also where the allocator keeps no count; ``all_free``: what ``get_all_free_pages`` says (§1), None where the
    target has no such call. ``size`` is in slots, ``available`` is ``available_size()`` in slots.
    """

    size: int
    available: int
    free: list[int]
    staged: list[list[int]]
    staged_count: int
    group: list[list[int]] | None
    page_pile: list[list[int]]
    all_free: list[int] | None = None


class Snapshot(Struct, kw_only=True):
    """The whole state of an allocator.

    Token and paged families: ``full`` only, ``swa`` and ``mapping`` None. Hybrid: both pools, ``mapping`` (the table from
    FULL slot to SWA slot with its sentinel, length ``size + page_size + 1``) and the piles, each with an entry for each
    deferred call unless said otherwise. Which piles there are, and what they hold, follows from the contract (§13.2):

    | field | frees resolved at the call (0.5.20 on) | frees resolved at the group end (up to 0.5.19) |
    |---|---|---|
    | ``group`` | the composite's own pile, which stays empty | FULL slots as given to ``free`` and ``free_segment`` |
    | ``swa_set_pile`` | gathered SWA slots of ``free_swa``, zeros included | 0.5.19: one entry (none if empty) with all gathered SWA slots but the zeros; 0.5.18: FULL slots as given to ``free_swa``; before: stays empty |
    | ``swa_page_pile`` | SWA page ids; slots at page size 1 | stays empty |
    | ``full_only_pile`` | stays empty | 0.5.19: FULL slots as given to ``free_full``; before: stays empty |
    | ``full.group``, ``full.page_pile`` | the FULL pool's own group | None and empty: its group is not opened |

    ``group`` is None when no group is open, whatever list an allocator with a flag still has. ``queries``: what the public size queries answer, by name: ``available_size``, ``full_available_size``,
    ``swa_available_size``, ``size``, ``size_full``, ``size_swa``. ``new_pages``: ``new_pages_available(f, s)`` for f and s in
    0, 1, and exactly what is available on that side, and one more (row-major over ``new_pages_grid``), empty where the family has none.

    Further families (contract_paged_swa §6 to §9) use the same fields, and these:

    | family | ``full`` | ``swa``, ``mapping`` | besides |
    |---|---|---|---|
    | pure-swa | the one token pool | None; the constant identity | ``group``: the composite's own pile |
    | swa-ring | FULL pool | the idle SWA pool; all 0 and the sentinel | ``queries`` also ``free_request_slots``, the caller's own count |
    | hisparse | logical pool | None, None | ``device``: the device pool, ``device_mapping``: ``H`` whole; ``queries`` ``available_size``, ``size``, ``size_full``, ``logical_available_size``, ``device_available_size`` (the two pools' own); ``group`` None |
    | hisparse-dsv4 | logical FULL pool | logical SWA pool, ``M``; the piles are the logical allocator's | ``device``, ``device_mapping``; ``group``: the allocator's own pile ``G``; ``device_full_pile``: its ``FULL_SET``; ``queries`` ``available_size``, ``full_available_size``, ``swa_available_size``, ``size``, ``size_full``, ``size_swa``, ``logical_available_size``, ``device_available_size`` |
    | page-interleave | ``free``, ``staged``, ``page_pile`` empty but for the inherited ``PIDS`` (``page_pile``); ``group``; ``available`` is ``available_size()``; ``staged_count`` is 0 | None, None | ``classes``: ``C[r]`` in order; ``class_staged``: ``CR[r]``; ``queries`` ``available_size``, ``size``, ``aggregate_free_size``, ``least_full_class`` |
    | hybrid-rows | all as in the hybrid-swa family: the layer above keeps no state of its own | | |
    | mamba-slots | ``free``: ``free_slots``; ``group`` None | None, None | ``prepared``: what is left of the iterator ``IT`` in order, None where there is none; ``queries`` ``available_size``, ``size`` |

    ``overwritten``: the guards around the allocator's buffers that were written to, in words; empty where none was, or where
    there are none. Never predicted.
    """

    full: PoolState
    swa: PoolState | None = None
    mapping: list[int] | None = None
    group: list[list[int]] | None = None
    swa_set_pile: list[list[int]]
    swa_page_pile: list[list[int]]
    full_only_pile: list[list[int]] = []
    queries: dict[str, int]
    new_pages: list[bool]
    device: PoolState | None = None
    device_mapping: list[int] | None = None
    device_full_pile: list[list[int]] = []
    classes: list[list[int]] | None = None
    class_staged: list[list[int]] = []
    prepared: list[int] | None = None
    overwritten: list[str] = []


def new_pages_grid(full_pages: int, swa_pages: int) -> list[tuple[int, int]]:
    """The (f, s) pairs on which ``new_pages_available`` is compared, from the whole pages available on each side."""
    return [
        (full, swa)
        for full in (0, 1, full_pages, full_pages + 1)
        for swa in (0, 1, swa_pages, swa_pages + 1)
    ]
