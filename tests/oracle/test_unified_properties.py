"""Random legal histories keep every property of contract_unified §15, and the KV of every slot that is bound."""

from __future__ import annotations

from typing import Any

import pytest
from unified_properties import broken_properties

from oracle.call import Call
from oracle.geometry import BANDS, UNIFIED_FAMILIES, Family, Geometry, Mode
from oracle.kv_content import written_by
from oracle.observation import Outcome
from oracle.unified_observation import UnifiedSnapshot
from strategies.explore import explore
from targets.reference import ReferenceTarget

EXAMPLES = 25


class _Checked(ReferenceTarget):
    """The reference, which checks itself after each call."""

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        super().reset(geometry, mode)
        self.geometry = geometry
        self.number = 1
        self.tags: dict[tuple[str, int], int] = {}
        self.last = self._sound_state("construction")

    def apply(self, call: Call) -> Outcome:
        outcome = super().apply(call)
        before, self.last = self.last, self._sound_state(call)
        self._check_content(call, outcome)
        _check_capacity(self.geometry, call, outcome, before, self.last)
        return outcome

    def _sound_state(self, after: Any) -> UnifiedSnapshot:
        snapshot = self.snapshot()
        assert isinstance(snapshot, UnifiedSnapshot)
        broken = broken_properties(self.geometry, snapshot)
        assert not broken, f"{broken} after {after} on {self.geometry}"
        return snapshot

    def _check_content(self, call: Call, outcome: Outcome) -> None:
        slots, bands = written_by(call, outcome)
        for index, slot in enumerate(slots):
            self.tags.update({(band, slot): self.number + index for band in bands})
        self.number += len(slots)
        for (name, slot), tag in list(self.tags.items()):
            band = self.last.bands.get(name)
            size = self.geometry.page_size if name != "state" else 1
            page = band.v2p[slot // size] if band is not None else -1
            if band is None or page < 0:
                del self.tags[name, slot]
                continue
            found = band.content[page * size + slot % size]
            assert found == tag, f"{name} slot {slot} holds {found}, not {tag}, after {call}"


def _check_capacity(
    geometry: Geometry,
    call: Call,
    outcome: Outcome,
    before: UnifiedSnapshot,
    after: UnifiedSnapshot,
) -> None:
    if call.method == "flush" and call.urgent and call.pool in before.bands:
        band = after.bands[call.pool]
        blocked = band.pending_load or band.holes
        assert blocked or not band.pending
    if call.method != "alloc" or call.pool != "composite" or call.need <= 0:
        return
    # A reservation takes SWA pages but no id, which the joint view does not subtract.
    reserved = any(
        band.live > sum(place > 0 for place in band.v2p) for band in before.bands.values()
    )
    if call.need <= before.queries["available_size"] and not reserved:
        assert outcome.value is not None, f"{call.need} slots are available and refused"
        assert "swa" not in BANDS[geometry.family] or not after.copies
    if outcome.value is None:
        assert after.bands["full"].free_ids == before.bands["full"].free_ids


@pytest.mark.parametrize("family", UNIFIED_FAMILIES)
def test_legal_histories_keep_every_property(family: Family) -> None:
    statistics = explore(_Checked(), family, examples=EXAMPLES, seed=5, callers="legal", steps=40)
    assert statistics.examples == EXAMPLES


@pytest.mark.parametrize("family", UNIFIED_FAMILIES)
def test_the_prediction_agrees_with_itself_and_legal_callers_see_no_error(family: Family) -> None:
    errors: list[str] = []

    def note(_trace: Any, session: Any) -> None:
        errors.extend(record.got.error for record in session.records if record.got.error)
        errors.extend(finding.sentence() for finding in session.findings)
        errors.extend([session.undefined] if session.undefined else [])

    explore(ReferenceTarget(), family, examples=10, seed=6, callers="legal", on_example=note)
    assert not errors
