"""Where a script finds the parts of an allocator of fixed pools: its pools, the mapping, and what is one family's own.

Guarantees expressions on attributes that our allocators and SGLang's both have, or on helper functions of the script
(``templates/helper.NAME.py.j2``, ``helper.NAME.FAMILY.py.j2`` where one family differs).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oracle.geometry import Family

LOGICAL = "allocator.logical_attn_allocator"
DEVICE = "allocator.hisparse_attn_allocator"
DEVICE_TABLE = "allocator.full_to_hisparse_device_index_mapping"


@dataclass(frozen=True)
class Shape:
    """``pools``: by the pool's name in calls and quantities, its name for people and where it is. ``host``: what has the mapping
    and the piles of peers. ``mapped``: FULL slots have peers in an SWA pool, which the laws look at.

    ``own``: further quantities, each with its expression and its meaning. ``state``: the quantities that say everything
    about a state beside the lists of ``pools`` and what belongs to the mapping. ``available``: what can be handed out of ``pool``.
    """

    pools: dict[str, tuple[str, str]]
    host: str = "allocator"
    mapped: bool = False
    own: dict[str, tuple[str, str]] = field(default_factory=dict)
    state: tuple[str, ...] = ()
    available: str = "pool.available_size()"
    free: str = "free_pages"
    constant: frozenset[str] = frozenset()
    """Quantities of a pool that no allocator of the family can have otherwise."""

    def place(self, pool: str) -> str:
        """The pool that a call or a law speaks of; the allocator itself where there is no such pool."""
        if pool == "composite":
            return "allocator"
        return self.pools[pool][1] if pool in self.pools else "allocator"

    def label(self, pool: str) -> str:
        """The pool's name for people."""
        return self.pools[pool][0] if pool in self.pools else pool.upper()

    @property
    def tiered(self) -> bool:
        """Whether there is a device below a larger logical pool."""
        return "device" in self.pools


_HYBRID = {
    "full": ("FULL", "allocator.full_attn_allocator"),
    "swa": ("SWA", "allocator.swa_attn_allocator"),
}
_SINGLE = Shape({"full": ("KV", "allocator")})
_TABLE = (f"{DEVICE_TABLE}.tolist()", "the mapping to the device, 0 where there is no place")
_TIER_QUERIES = {
    "logical_available_size": (
        f"{LOGICAL}.available_size()",
        "the slots of the logical allocator that are available",
    ),
    "device_available_size": (
        f"{DEVICE}.available_size()",
        "the slots of the device that are available",
    ),
}
_HYBRID_SHAPE = Shape(_HYBRID, mapped=True)
_SHAPES: dict[Family, Shape] = {
    "hybrid-swa": _HYBRID_SHAPE,
    "hybrid-rows": _HYBRID_SHAPE,
    "swa-ring": Shape(
        _HYBRID,
        mapped=True,
        own={
            "free_request_slots": (
                "request_slots.available_size()",
                "how many request slots are free",
            )
        },
    ),
    "pure-swa": Shape(
        {"full": ("KV", "allocator.swa_attn_allocator")},
        own={
            "mapping": (
                "allocator.full_to_swa_index_mapping.tolist()",
                "the mapping, which is the identity",
            )
        },
        state=("mapping", "group"),
    ),
    "hisparse": Shape(
        {"full": ("logical", LOGICAL), "device": ("device", DEVICE)},
        own={"device_mapping": _TABLE, **_TIER_QUERIES},
        state=("device_mapping",),
    ),
    "hisparse-dsv4": Shape(
        {
            "full": ("FULL", f"{LOGICAL}.full_attn_allocator"),
            "swa": ("SWA", f"{LOGICAL}.swa_attn_allocator"),
            "device": ("device", DEVICE),
        },
        host=LOGICAL,
        mapped=True,
        own={
            "device_mapping": _TABLE,
            "device_full_pile": (
                "lists(allocator.full_free_group)",
                "the FULL slots that wait for the end of the free group",
            ),
            **_TIER_QUERIES,
        },
        state=("device_mapping", "group", "device_full_pile"),
    ),
    "page-interleave": Shape(
        {"full": ("KV", "allocator")},
        own={
            "classes": ("classes(allocator)", "the free list of each class, in order"),
            "class_staged": ("class_staged(allocator)", "what is staged in each class"),
            "aggregate_free_size": (
                "allocator.aggregate_free_size()",
                "the slots of all free pages",
            ),
            "least_full_class": (
                "allocator.least_full_class()",
                "the class with the most free pages",
            ),
        },
        state=("classes", "class_staged"),
        available="pool.aggregate_free_size()",
        constant=frozenset({"free", "staged", "staged_count"}),
    ),
    "mamba-slots": Shape(
        {"full": ("state", "allocator")},
        own={
            "prepared": (
                "prepared(allocator)",
                "the states that are taken out in advance, None where none were",
            )
        },
        state=("prepared",),
        available="pool.available_size() + len(prepared(allocator) or [])",
        free="free_slots",
        constant=frozenset({"staged", "staged_count", "group", "page_pile", "all_free"}),
    ),
}


def shape_of(family: Family) -> Shape:
    """The shape of a family's allocator; one pool, the allocator itself, for the plain families."""
    return _SHAPES.get(family, _SINGLE)
