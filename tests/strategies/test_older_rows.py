"""Callers meet each choice of the calls on rows: what follows an older contract is told from what follows the newest, and agrees with
its own (contract_paged_swa §13.2).
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from oracle.contract import Contract, current_contract
from oracle.finding import Finding
from oracle.geometry import Geometry, Mode
from oracle.lockstep import Session
from oracle.prediction import make_prediction
from oracle.trace import Trace
from strategies.explore import explore
from targets.reference import ReferenceTarget
from targets.sglang.contracts import contract_for_version

EXAMPLES = 300

CHOICES: list[Any] = [
    ({"kept_behind": "window-or-page"}, "legal"),
    ({"kept_behind": "window-and-page"}, "legal"),
    ({"has_floor": False}, "legal"),
    ({"has_retain_floor": False}, "legal"),
    ({"has_interval": False}, "legal"),
    ({"evicts_by": "set"}, "legal"),
    ({"dead_parts": "one-set"}, "legal"),
    ({"touching_ranges": "apart"}, "legal"),
    # An aligned cursor is all that an empty segment asks for.
    pytest.param({"empty_segments": "skipped"}, "hostile", marks=pytest.mark.long),
]


class OlderTarget(ReferenceTarget):
    """The prediction of ``follows``, which says that it follows ``claims``."""

    name = "older"

    def __init__(self, follows: Contract, claims: Contract) -> None:
        super().__init__()
        self._follows, self._claims = follows, claims

    def contract(self, family: str) -> Contract | None:
        return self._claims

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        super().reset(geometry, mode)
        self._reference = make_prediction(geometry, mode, self._follows)


def _findings(target: OlderTarget, callers: Any, examples: int) -> list[Finding]:
    found: list[Finding] = []

    def look(_trace: Trace, session: Session) -> None:
        found.extend(one for one in session.findings if one.kind != "hazard")

    explore(
        target,
        "hybrid-rows",
        callers=callers,
        examples=examples,
        seed=11,
        on_example=look,
        stop=lambda: bool(found),
    )
    return found


@pytest.mark.parametrize(("choice", "callers"), CHOICES, ids=str)
def test_a_target_that_chooses_otherwise_is_found(choice: dict[str, Any], callers: Any) -> None:
    newest = current_contract("hybrid-rows")
    target = OlderTarget(structs.replace(newest, **choice), newest)
    found = _findings(target, callers, EXAMPLES)
    assert found, f"no caller meets {choice}"


@pytest.mark.long
@pytest.mark.parametrize("number", range(14, 23))
@pytest.mark.parametrize("callers", ["legal", "hostile"])
def test_the_laws_hold_for_the_contract_of_each_release(number: int, callers: Any) -> None:
    own = contract_for_version(f"0.5.{number}", "hybrid-rows", power_of_two_pages=False)
    assert own is not None
    assert _findings(OlderTarget(own, own), callers, 20) == []
