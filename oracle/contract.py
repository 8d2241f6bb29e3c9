"""The choices in which correct targets of a family may differ, by name (contract_paged_swa §13.2).

A field covers order, timing, refusal and what is signalled. No field ever encodes a lost, doubled or padding page.
The defaults are the contract of SGLang 0.5.20 to 0.5.23, which is also that of our own targets.
"""

from __future__ import annotations

from msgspec import Struct


class Contract(Struct, frozen=True, kw_only=True):
    """One target's choices for one family.

    ``methods``: the calls (``Call.method``) that exist. ``power_of_two_pages``: page sizes must be powers of two.
    ``invariants``: the names of the invariants that are evaluated, empty where the target has none.
    ``has_counter``: the target counts hits at level warn. ``has_debug``: the target has the memory-pool debug mode.
    ``checks_after_clearing``: an invariant reports after the mapping was cleared (CUDA paths, §2).
    """

    methods: frozenset[str]
    power_of_two_pages: bool = False
    invariants: frozenset[str] = frozenset()
    has_counter: bool = False
    has_debug: bool = True
    checks_after_clearing: bool = False


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
HYBRID_METHODS = POOL_METHODS | {
    "alloc_extend_swa_tail",
    "free_swa",
    "free_swa_segment",
    "set_full_to_swa_mapping",
    "clear_full_to_swa_mapping",
    "translate_loc_from_full_to_swa",
}

PEER_MAPPED = "swa.peer_mapped"
PEER_RELEASED = "swa.peer_released"


def current_contract(family: str, *, power_of_two_pages: bool = False) -> Contract:
    """The contract of SGLang 0.5.20 to 0.5.23 and of our own targets for ``family``."""
    if family == "hybrid-swa":
        return Contract(
            methods=HYBRID_METHODS - {"free_page_ids"},
            invariants=frozenset({PEER_MAPPED, PEER_RELEASED}),
            power_of_two_pages=power_of_two_pages,
            has_counter=True,
        )
    return Contract(
        methods=POOL_METHODS, power_of_two_pages=power_of_two_pages, has_debug=family == "paged"
    )
