"""The choices in which correct targets of a family may differ, by name (contract_paged_swa §13, contract_unified §12).

A field covers order, timing, refusal, what is signalled and which methods exist. No field ever encodes a lost, doubled or
padding page: where a release behaves so, the prediction is what an allocator of its order and timing would rightly do, and
the difference is a finding. The defaults are the contract of SGLang 0.5.22 and 0.5.23 (of the calls on rows: 0.5.23), which is
also that of our own targets.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from oracle.family_methods import FAMILY_METHODS, FAMILY_POOL_METHODS
from oracle.geometry import TWO_POOLS
from oracle.unified_methods import UNIFIED_BAND_METHODS, UNIFIED_METHODS

Pile = Literal["plain", "swa-set", "swa-pages", "full-only", "full-group"]
"""What a hybrid allocator flushes at a group end: frees of both sides, gathered SWA slots, SWA pages, frees of the FULL
side, and the FULL pool's own group."""

POOL_METHODS = frozenset(
    {
        "alloc",
        "alloc_extend",
        "alloc_decode",
        "free",
        "free_full",
        "free_segment",
        "free_full_segment",
        "free_segments",
        "free_full_segments",
        "free_page_ids",
        "free_group_begin",
        "free_group_end",
        "merge_and_sort_free",
        "clear",
        "resize",
    }
)
HYBRID_METHODS = (POOL_METHODS - {"free_page_ids"}) | {
    "alloc_extend_swa_tail",
    "free_swa",
    "free_swa_segment",
    "set_full_to_swa_mapping",
    "clear_full_to_swa_mapping",
    "translate_loc_from_full_to_swa",
}

PEER_MAPPED = "swa.peer_mapped"
PEER_RELEASED = "swa.peer_released"
SEGMENT_BOUND = "unified_swa.segment_bound"
SEGMENT_RELEASED = "unified_swa.segment_released"


class Contract(Struct, frozen=True, kw_only=True):
    """One target's choices for one family. Each field names its row of §13.2, or the section where there is none.

    ``methods``: the calls (``Call.method``) that exist (§13.1); ``pool_methods``: those that a hybrid allocator's pools
    take directly (§6.4). ``power_of_two_pages``: page sizes must be powers of two. ``invariants``: the names of the
    invariants that are evaluated, empty where the target has none. ``has_counter``: the target counts hits at level warn.
    ``has_debug``: the target has the memory-pool debug mode. ``checks_after_clearing``: an invariant reports after the
    mapping was cleared (CUDA paths, §2).
    """

    methods: frozenset[str]
    pool_methods: frozenset[str] = POOL_METHODS
    power_of_two_pages: bool = False
    invariants: frozenset[str] = frozenset()
    has_counter: bool = False
    has_debug: bool = True
    checks_after_clearing: bool = False

    takes_page_count: bool = True
    """Row "Paged.alloc_extend": ``num_new_pages`` can be passed."""
    answers_new_pages: bool = True
    """§13.1: the hybrid allocator has ``new_pages_available``."""
    capacity_test: Literal["before-launch", "after-launch"] = "before-launch"
    """Rows "Paged.alloc_extend" and "Paged.alloc_decode". After the launch, a short pool in debug mode may say None or raise
    the uniqueness assertion, whatever lies behind the free list; so the call is then left undefined."""

    nested_begin: Literal["refused", "accepted"] = "refused"
    """Row "nested begin". An accepted one changes nothing, the piles stay, and the next end closes the group."""
    staging: Literal["appended-entries", "prepended-list"] = "appended-entries"
    """Row "paged staging (need_sort)": an entry for each release in their order, or one list that each release goes in front of."""
    duplicate_check: Literal["free-and-staged", "free-only"] = "free-and-staged"
    """Row "duplicate check (debug)": the lists in which no page may be twice."""
    duplicate_check_at_group_end: bool = True
    """Row "duplicate check (debug)": a group end checks too, whatever it released."""

    segment_start: Literal["page-start", "anywhere"] = "page-start"
    """Row "free_segment start": a start inside a page is refused, or releases the whole first page. Where it is accepted, the
    pile of a paged pool holds slots, and a page that waits already is released once when its rest is named by such a start."""
    segment_overlap: Literal["refused", "trimmed"] = "refused"
    """Row "free_segments overlap": a segment on the last page of the one before is refused, or loses that page."""
    segment_form: Literal["representatives", "set-shaped"] = "representatives"
    """§13.1, "b": the hybrid allocator's ``free_segment`` looks at representatives, or is ``free``."""

    unmapped: Literal["reported", "skipped"] = "reported"
    """Row "unmapped entries": at page size 1 and in segment forms they are reported and released as 0, or skipped.
    Skipped, a ``free`` after a ``free_swa`` of the same slots is legal (row of that name)."""
    free_order: Literal["swa-first", "full-first"] = "swa-first"
    """Row "order inside `free`"."""
    free_swa_order: Literal["clear-first", "release-first"] = "clear-first"
    """Row "order inside `free_swa`": whether the mapping is still there when the release raises."""
    expansion: Literal["as-given", "sorted-pages"] = "as-given"
    """Row "`free_swa` with `ps>1`": how the pages of a set-shaped free are put on its pile, repeated ones repeated or each once."""
    capacity_check: Literal["each-release", "each-free"] = "each-release"
    """Row "over-credit asserts": after each release and at the group end (§6.3, §6.4), or in each ``free`` for both sides and in each
    ``free_full`` for the FULL side, deferred or not."""

    grouped_free: Literal["resolved-at-call", "resolved-at-end"] = "resolved-at-call"
    """Rows "when is `M` resolved" and "FULL deferral". At the end: slots wait on the composite's plain pile, mapped. What is
    released then are the peers of the call, whatever was mapped since: a peer that came later stays."""
    grouped_free_swa: Literal["resolved-at-call", "resolved-at-end", "released-at-call"] = (
        "resolved-at-call"
    )
    """Row "… by `free_swa`": what a set-shaped SWA free does in a group."""
    flush_order: tuple[Pile, ...] = ("swa-pages", "swa-set", "full-group")
    """Row "SWA flush order at group end", the piles that exist. With "full-group" the FULL pool's own group is opened (row
    "FULL deferral")."""

    device_free: Literal["with-logical", "by-caller"] = "with-logical"
    """Row "DSV4 HiSparse `free`": the places go back with their slots, or stay until ``free_hisparse`` gives them back."""
    kept_behind: Literal["whole-pages", "window-or-page", "window-and-page"] = "whole-pages"
    """Row "free_swa_out_of_window_slots" (as the rows down to ``evicts_by``): with prefix sharing an eviction keeps the larger of the
    window and a page, rounded up to whole pages or as it is, or the window and a page."""
    has_floor: bool = True
    """An eviction leaves what lies below the floor. Where it does not know floors, no request has one."""
    has_retain_floor: bool = True
    """An eviction can be told to retain more than the window."""
    has_interval: bool = True
    """An eviction that has less to do than its interval leaves the cursor alone; or there is no interval, and the dead lower bound
    is stored whatever there is to do."""
    eviction_without_row: Literal["returned", "goes-on"] = "returned"
    """§11.2 step 1: an eviction of a request that has no row leaves the cursor alone, or moves it over a row of no slots."""
    evicts_by: Literal["segment", "set"] = "segment"
    """An eviction frees by ``free_swa_segment``, or by ``free_swa``, which asks for no page boundary."""
    dead_parts: Literal["segments", "one-set"] = "segments"
    """Row "free_kv_row_segments" (as the next one): what is dead is freed segment by segment, or by one ``free_full``."""
    empty_segments: Literal["alive", "skipped"] = "alive"
    """Whether an empty segment counts as alive, and so asks for an aligned cursor if others are dead."""
    touching_ranges: Literal["merged", "apart"] = "merged"
    """§11.3, ``free_kv_row``: ranges that touch are one segment, or each is its own."""

    unbound_pages: Literal["trusted", "filtered", "refused"] = "trusted"
    """contract_unified §12, `free_swa_segment` (as all rows below): what a segment free that gives up peers does with pages
    that have none: unbinds them as if they had, leaves them out, or raises an assertion before anything changes."""
    full_only_segments: Literal["full-only", "two-sided"] = "full-only"
    """Row `free_full_segment`: it frees the FULL side only, or is ``free_segment`` (at page size 1 ``free_full``) and needs no
    pile of its own. Two-sided, it frees peers too if there are any."""
    single_slot_segments: Literal["representatives", "set-shaped"] = "representatives"
    """Row `free_segment` ps=1: at page size 1 segment frees work as at any other, or are ``free`` and ``free_swa``."""
    hole_choice: Literal["nearest-own-end", "list-head"] = "nearest-own-end"
    """Row "hole choice": which holes an allocation draws when it does not need them all."""
    eviction: Literal["planned", "planned-without-stopping", "per-side"] = "planned"
    """Row "evict": the plan of the shared bytes as quota, with or without asking before each row whether it is enough; or what
    each side lacks by itself (three pools: once the joint capacity is short, and never states)."""
    state_eviction: Literal["asked", "whole"] = "asked"
    """§10, tri, which leaves it open: the states that an eviction asks the tree for, after rows were not enough, are given up
    as long as the pages do not fit, which is asked before each; or as many as were asked for."""
    eviction_takes_swa: bool = True
    """Row "capacities": an eviction can be asked for another number of SWA slots than of FULL slots."""
    plan_prefers_swa: bool = True
    """Row "capacities": a plan can be asked to give up peers rather than FULL pages."""
    eviction_verdict: Literal["ensured", "none"] = "ensured"
    """Rows "capacities" and "evict": an eviction ends with ``ensure_capacity`` and returns its verdict, or returns nothing."""
    capacity_gate: Literal["planned", "ladder"] = "planned"
    """Rows "capacities" and "evict": an allocation that does not fit moves pages only where the shared plan (three pools: a
    certificate, or the room for the floating band) says that this is enough, or climbs the ladder of §7 whatever comes of it."""
    tail_gate: Literal["bound-pages", "all-pages"] = "bound-pages"
    """Row "capacities": a tail preallocation asks for SWA pages for what it binds, or for all its new pages."""
    strange_ids: Literal["padding", "undefined"] = "padding"
    """Row "translate": negative ids and ids past the table give the padding page, or are the caller's risk."""


def current_contract(family: str, *, power_of_two_pages: bool = False) -> Contract:
    """The contract of SGLang 0.5.22 and 0.5.23 and of our own targets for ``family``."""
    if family in UNIFIED_METHODS:
        return Contract(
            methods=UNIFIED_METHODS[family],
            pool_methods=UNIFIED_BAND_METHODS[family],
            invariants=frozenset({SEGMENT_BOUND, SEGMENT_RELEASED}),
            power_of_two_pages=power_of_two_pages,
            has_counter=True,
            has_debug=False,
        )
    if family == "hybrid-swa":
        return Contract(
            methods=HYBRID_METHODS,
            invariants=frozenset({PEER_MAPPED, PEER_RELEASED}),
            power_of_two_pages=power_of_two_pages,
            has_counter=True,
        )
    if family in FAMILY_METHODS:
        return Contract(
            methods=FAMILY_METHODS[family],
            pool_methods=FAMILY_POOL_METHODS.get(family, frozenset()),
            invariants=frozenset({PEER_MAPPED, PEER_RELEASED})
            if family in TWO_POOLS
            else frozenset(),
            power_of_two_pages=power_of_two_pages,
            has_counter=family in TWO_POOLS,
            has_debug=family not in ("pure-swa", "mamba-slots"),
        )
    return Contract(
        methods=POOL_METHODS, power_of_two_pages=power_of_two_pages, has_debug=family == "paged"
    )
