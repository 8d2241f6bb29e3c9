"""Every geometry that is drawn can be built, and the interesting ones are among them."""

from __future__ import annotations

import pytest
from hypothesis import Phase, find, given, settings

from oracle.contract import current_contract
from oracle.geometry import Family, Geometry
from strategies.geometries import DRAWN_FAMILIES, MOST_SLOTS, geometries

FIND = settings(max_examples=2000, database=None, deadline=None, phases=[Phase.generate])


@pytest.mark.parametrize("family", DRAWN_FAMILIES)
def test_every_drawn_geometry_can_be_built(family: Family) -> None:
    @settings(max_examples=200, database=None, deadline=None)
    @given(geometries(family, current_contract(family)))
    def check(geometry: Geometry) -> None:
        geometry.check()
        assert max(geometry.size, geometry.size_swa) <= MOST_SLOTS + geometry.page_size

    check()


def test_a_contract_of_powers_of_two_gets_no_other_page_size() -> None:
    @settings(max_examples=200, database=None, deadline=None)
    @given(geometries("paged", current_contract("paged", power_of_two_pages=True)))
    def check(geometry: Geometry) -> None:
        assert geometry.page_size & (geometry.page_size - 1) == 0

    check()


@pytest.mark.parametrize("page_size", [1, 2, 4, 16, 64, 256, 3])
def test_every_page_size_is_drawn(page_size: int) -> None:
    strategy = geometries("hybrid-swa", current_contract("hybrid-swa"))
    found = find(strategy, lambda geometry: geometry.page_size == page_size, settings=FIND)
    assert found.page_size == page_size


def test_either_pool_may_be_the_larger_one_and_a_size_may_end_inside_a_page() -> None:
    strategy = geometries("hybrid-swa", current_contract("hybrid-swa"))
    for wanted in (
        lambda geometry: geometry.size < geometry.size_swa,
        lambda geometry: geometry.size > geometry.size_swa,
        lambda geometry: geometry.size % geometry.page_size != 0,
        lambda geometry: geometry.need_sort,
    ):
        assert wanted(find(strategy, wanted, settings=FIND))
