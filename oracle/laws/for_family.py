"""Which laws judge an allocator: the one place that asks for its family."""

from __future__ import annotations

from typing import Any, Protocol

from oracle.geometry import BANDS, Family, Geometry
from oracle.laws.family_laws import FamilyLaws
from oracle.laws.interleave_laws import InterleaveLaws
from oracle.laws.judgement import Laws
from oracle.laws.made_call import MadeCall
from oracle.laws.pure_swa_laws import PureSwaLaws
from oracle.laws.ring_laws import RingLaws
from oracle.laws.row_laws import RowLaws
from oracle.laws.state_slots_laws import StateSlotsLaws
from oracle.laws.tier_laws import TierLaws
from oracle.laws.unified_laws import UnifiedLaws
from oracle.laws.violation import Violation
from oracle.ownership import Ownership


class AnyLaws(Protocol):
    """All laws over one allocator. ``before`` and ``after`` are the kind of state that its family has."""

    def judge_call(self, made: MadeCall[Any], books: Ownership) -> Violation | None:
        """Judge one call right after it was made. ``books`` do not contain its outcome yet."""

    def judge_state(self, after: Any, books: Ownership) -> Violation | None:
        """Judge the state after a whole operation, all of whose calls are booked."""


FURTHER: dict[Family, type[FamilyLaws] | type[Laws]] = {
    "mamba-slots": StateSlotsLaws,
    "pure-swa": PureSwaLaws,
    "swa-ring": RingLaws,
    "page-interleave": InterleaveLaws,
    "hisparse": TierLaws,
    "hisparse-dsv4": TierLaws,
    "hybrid-rows": RowLaws,
}


def make_laws(geometry: Geometry) -> AnyLaws:
    """The laws for a new allocator of ``geometry``."""
    if geometry.family in BANDS:
        return UnifiedLaws(geometry)
    return FURTHER.get(geometry.family, Laws)(geometry)
