"""Which contract a release follows for the further families: the rows of contract_paged_swa §13 that concern them.

What ``targets.sglang.contracts`` says of rows holds here too: a base that is resolved by a call that fails, or a place that goes
back twice, is a finding, never a row.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs

from oracle.contract import Contract, current_contract
from oracle.geometry import WITH_DEVICE

FIRST: dict[str, int] = {
    "pure-swa": 20,
    "swa-ring": 20,
    "hisparse": 20,
    "hisparse-dsv4": 20,
    "page-interleave": 20,
    "mamba-slots": 13,
}
"""The first release 0.5.N that a family is driven in. Rings and interleaved pages begin there; all-sliding allocators (0.5.15
on) and device tiers (0.5.10 and 0.5.12 on) of before group their frees in other ways, which no contract describes."""

TIERS = tuple(sorted(WITH_DEVICE))


class FurtherBehaviour(Struct, frozen=True):
    """One row of §13.2: the releases up to 0.5.``last`` make ``choices``, newer ones those of the newest contract."""

    topic: str
    last: int
    choices: dict[str, Any]
    families: tuple[str, ...]


class FurtherAbsence(Struct, frozen=True):
    """The releases up to 0.5.``last`` do not have ``methods``."""

    methods: frozenset[str]
    last: int


BEHAVIOURS: tuple[FurtherBehaviour, ...] = (
    FurtherBehaviour(
        "launch before capacity test",
        21,
        {"capacity_test": "after-launch"},
        ("swa-ring", *TIERS),
    ),
    FurtherBehaviour("HiSparse page zero", 21, {"padding_places": "released"}, TIERS),
    FurtherBehaviour("DSV4 HiSparse free", 21, {"device_free": "by-caller"}, ("hisparse-dsv4",)),
)
"""§13.2, the rows in which right allocators may differ."""

ABSENCES: tuple[FurtherAbsence, ...] = (
    FurtherAbsence(frozenset({"configure_spec_scratch", "request_slot_reserve"}), 21),
    FurtherAbsence(frozenset({"alloc_cyclic"}), 22),
)


def further_contract(number: int, family: str, *, power_of_two_pages: bool) -> Contract | None:
    """The contract of 0.5.``number`` for a further family, None where it has none."""
    if number < FIRST.get(family, number + 1):
        return None
    newest = current_contract(family, power_of_two_pages=power_of_two_pages)
    choices: dict[str, Any] = {}
    for row in BEHAVIOURS:
        if family in row.families and number <= row.last:
            choices.update(row.choices)
    absent = frozenset[str]().union(*(row.methods for row in ABSENCES if number <= row.last))
    return structs.replace(newest, methods=newest.methods - absent, **choices)
