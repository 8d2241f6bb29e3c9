"""Each quantity that the judge compares, as an expression on the allocator's own attributes (contract_paged_swa §14).

Guarantees an expression for every quantity of ``oracle.comparison`` that concerns state. Where our allocators and SGLang's
name an attribute differently, the script's small helper functions know both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from campaigns.export_shapes import shape_of

if TYPE_CHECKING:
    from oracle.geometry import Family
    from oracle.observation import PoolState, Snapshot

OWN_ATTRIBUTES = {
    "staged": "staged",
    "staged_count": "num_staged",
    "classes": "class_free",
    "class_staged": "class_staged",
    "request_slots": "req_to_token_pool",
}
SGLANG_ATTRIBUTES = {
    "staged": "staged_pages",
    "staged_count": "num_staged_pages",
    "classes": "class_free_pages",
    "class_staged": "class_release_pages",
    "request_slots": "_req_to_token_pool",
}
WAITING = ("free", "staged", "group", "page_pile")
LISTED = ("free", "staged")
FIELDS = frozenset(
    {
        "mapping", "swa_set_pile", "swa_page_pile", "full_only_pile", "group", "classes", "class_staged", "prepared",
        "device_mapping", "device_full_pile",
    }
)  # fmt: skip
"""The fields of a snapshot that are quantities by themselves."""

POOL_EXPRESSIONS = {
    "free": "{pool}.{free}.tolist()",
    "staged": "staged({pool})",
    "group": "group_of({pool})",
    "page_pile": "page_pile({pool})",
    "staged_count": "staged_count({pool})",
    "available": "{pool}.available_size()",
    "size": "{pool}.size",
    "all_free": "{pool}.get_all_free_pages().tolist()",
}
EXPRESSIONS = {
    "mapping": "{host}.full_to_swa_index_mapping.tolist()",
    "swa_set_pile": "lists({host}.swa_free_group)",
    "swa_page_pile": "lists({host}.swa_page_ids_group)",
    "full_only_pile": 'lists(getattr({host}, "full_free_group", None) or [])',
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
    "full_only_pile": "the FULL slots of FULL-only frees that wait for the end of the free group",
    "new_pages_available": "whether 0, 1, all and one page more are available (FULL by SWA)",
    "swa pool": "whether there is an SWA pool",
}


def expression(quantity: str, family: Family) -> str | None:
    """How a script reads that quantity; None for one that is no state (``returned``, ``raised``, an invariant)."""
    shape = shape_of(family)
    pool, dot, name = quantity.partition(".")
    if dot and pool in shape.pools and name in POOL_EXPRESSIONS:
        if name in shape.constant:
            return None
        return POOL_EXPRESSIONS[name].format(pool=shape.place(pool), free=shape.free)
    if quantity in shape.own:
        return shape.own[quantity][0]
    found = EXPRESSIONS.get(quantity)
    return found.format(host=shape.host) if found is not None else None


def meaning(quantity: str, family: Family) -> str:
    """The quantity in words."""
    shape = shape_of(family)
    pool, dot, name = quantity.partition(".")
    if dot and name in MEANINGS:
        return MEANINGS[name].format(name=shape.label(pool))
    if quantity in shape.own:
        return shape.own[quantity][1]
    return MEANINGS.get(quantity, f"what {quantity} says")


def predicted(quantity: str, state: Snapshot) -> Any:
    """The quantity's value in a predicted state."""
    pool, dot, name = quantity.partition(".")
    if dot and name in POOL_EXPRESSIONS:
        side: PoolState | None = getattr(state, pool)
        return getattr(side, name)
    if quantity == "swa pool":
        return state.swa is not None
    if quantity == "new_pages_available":
        return state.new_pages
    if quantity in FIELDS:
        return getattr(state, quantity)
    return state.queries.get(quantity)


def quantities_of(state: Snapshot, family: Family) -> list[str]:
    """The quantities of a whole state that say everything about it, for a script that has no finding to show."""
    shape = shape_of(family)
    pools = [
        f"{pool}.{name}"
        for pool in shape.pools
        for name in (WAITING if pool == "full" else LISTED)
        if name not in shape.constant
    ]
    mapped = ["mapping", "swa_set_pile", "swa_page_pile"] if state.swa is not None else []
    return [*pools, *mapped, *shape.state]
