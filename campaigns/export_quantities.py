"""Each quantity that the judge compares, as an expression on the allocator's own attributes (contract_paged_swa §14).

Guarantees an expression for every quantity of ``oracle.comparison`` that concerns state. Where our allocators and SGLang's
name an attribute differently, the script's small helper functions know both.
"""

from __future__ import annotations

from typing import Any

from campaigns.export_calls import POOLS
from oracle.observation import PoolState, Snapshot

OWN_ATTRIBUTES = {"staged": "staged", "staged_count": "num_staged"}
SGLANG_ATTRIBUTES = {"staged": "staged_pages", "staged_count": "num_staged_pages"}

POOL_EXPRESSIONS = {
    "free": "{pool}.free_pages.tolist()",
    "staged": "staged({pool})",
    "group": "group_of({pool})",
    "page_pile": "page_pile({pool})",
    "staged_count": "staged_count({pool})",
    "available": "{pool}.available_size()",
    "size": "{pool}.size",
    "all_free": "{pool}.get_all_free_pages().tolist()",
}
EXPRESSIONS = {
    "mapping": "allocator.full_to_swa_index_mapping.tolist()",
    "swa_set_pile": "lists(allocator.swa_free_group)",
    "swa_page_pile": "lists(allocator.swa_page_ids_group)",
    "group": "group_of(allocator)",
    "available_size": "allocator.available_size()",
    "full_available_size": "allocator.full_available_size()",
    "swa_available_size": "allocator.swa_available_size()",
    "size": "allocator.size",
    "size_full": "allocator.size_full",
    "size_swa": "allocator.size_swa",
    "new_pages_available": "new_pages(allocator)",
    "swa pool": 'hasattr(allocator, "swa_attn_allocator")',
}
MEANINGS = {
    "free": "the free list of the {name} pool, in order",
    "staged": "what is freed and not merged yet in the {name} pool",
    "group": "what waits in the {name} pool for the end of the free group",
    "page_pile": "the page ids that wait in the {name} pool for the end of the free group",
    "staged_count": "how many pages of the {name} pool count as staged",
    "available": "the slots of the {name} pool that are available",
    "size": "the size of the {name} pool in slots",
    "all_free": "what get_all_free_pages says of the {name} pool",
    "mapping": "the mapping from FULL slot to SWA slot, 0 where there is no peer",
    "swa_set_pile": "the SWA slots that wait for the end of the free group",
    "swa_page_pile": "the SWA pages that wait for the end of the free group",
    "new_pages_available": "whether 0, 1, all and one page more are available (FULL by SWA)",
    "swa pool": "whether there is an SWA pool",
}


def expression(quantity: str, *, hybrid: bool) -> str | None:
    """How a script reads that quantity; None for one that is no state (``returned``, ``raised``, an invariant)."""
    pool, dot, name = quantity.partition(".")
    if dot and name in POOL_EXPRESSIONS and pool in ("full", "swa"):
        place = POOLS[pool] if hybrid else POOLS["composite"]
        return POOL_EXPRESSIONS[name].format(pool=place)
    return EXPRESSIONS.get(quantity)


def meaning(quantity: str, *, hybrid: bool) -> str:
    """The quantity in words."""
    pool, dot, name = quantity.partition(".")
    if dot and name in MEANINGS:
        return MEANINGS[name].format(name=pool.upper() if hybrid else "KV")
    return MEANINGS.get(quantity, f"what {quantity} says")


def predicted(quantity: str, state: Snapshot) -> Any:
    """The quantity's value in a predicted state."""
    pool, dot, name = quantity.partition(".")
    if dot and name in POOL_EXPRESSIONS:
        side: PoolState | None = state.full if pool == "full" else state.swa
        return getattr(side, name)
    if quantity == "swa pool":
        return state.swa is not None
    if quantity == "new_pages_available":
        return state.new_pages
    if quantity in ("mapping", "swa_set_pile", "swa_page_pile", "group"):
        return getattr(state, quantity)
    return state.queries.get(quantity)


def quantities_of(state: Snapshot) -> list[str]:
    """The quantities of a whole state that say everything about it, for a script that has no finding to show."""
    names = ["full.free", "full.staged", "full.group", "full.page_pile"]
    if state.swa is not None:
        names += ["swa.free", "swa.staged", "mapping", "swa_set_pile", "swa_page_pile"]
    return names
