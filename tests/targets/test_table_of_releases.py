"""The table of releases: what each can do, and what came and went."""

from __future__ import annotations

import pytest
from release_process import run_on_releases

from oracle.geometry import FURTHER_FAMILIES, UNIFIED_FAMILIES
from oracle.operations import OPERATION_TABLE, kind_of
from targets.sglang.release_range import releases_in
from targets.sglang.release_table import NEEDED_CALLS, ReleaseRow, release_table
from targets.sglang.releases import RELEASES

NEWER = releases_in("0.5.20..")


def test_there_is_a_row_for_each_supported_release_with_every_family() -> None:
    rows = release_table()
    assert tuple(row.version for row in rows) == RELEASES
    for row in rows:
        static = {"token", "paged", "hybrid-swa"}
        newer = {*UNIFIED_FAMILIES, *FURTHER_FAMILIES} if row.version in NEWER else set()
        states = {"mamba-slots"} if row.version in releases_in("0.5.13..") else set()
        rowed = {"hybrid-rows"} if row.version in releases_in("0.5.14..") else set()
        assert set(row.families) == static | newer | states | rowed, row.version


def _has(row: ReleaseRow, kind: str) -> bool:
    return any(kind in family.operations for family in row.families.values())


def _rows() -> dict[str, ReleaseRow]:
    return {row.version: row for row in release_table()}


def test_the_operations_that_need_calls_are_operations_and_differ_between_releases() -> None:
    kinds = {kind_of(kind.operation()) for kind in OPERATION_TABLE}
    assert NEEDED_CALLS.keys() <= kinds
    rows = {row.version: row.families["hybrid-swa"] for row in release_table()}
    unified = {version: row.families.get("unified-swa") for version, row in _rows().items()}
    for kind in ("capacity", "reserve", "bind-reserved", "cancel-reserved", "finish-load"):
        having = [version for version, row in unified.items() if row and kind in row.operations]
        assert having == list(releases_in("0.5.21.." if kind == "capacity" else "0.5.22..")), kind
        assert all(kind not in row.operations for row in rows.values()), kind
    further = {"slot-reserve": "0.5.22..", "spec-scratch": "0.5.22..", "alloc-cyclic": "0.5.23.."}
    for kind, releases in further.items():
        having = [row.version for row in release_table() if _has(row, kind)]
        assert having == list(releases_in(releases)), kind
    static = {kind for kind in NEEDED_CALLS if any(kind in row.operations for row in rows.values())}
    for kind in static - {"free-pages"}:
        having = [version for version, family in rows.items() if kind in family.operations]
        assert 0 < len(having) < len(RELEASES), f"{kind}: on {having}"


def test_what_came_and_went_is_said_at_the_release_where_it_happened() -> None:
    rows = {row.version: row for row in release_table()}
    assert (rows["0.5.9"].gained, rows["0.5.9"].lost) == ((), ())
    assert "resize" in rows["0.5.16"].gained
    assert rows["0.5.17"].lost == ("backup_state", "restore_state")
    assert (rows["0.5.15.post1"].gained, rows["0.5.15.post1"].lost) == ((), ())
    assert (rows["0.5.21"].kernels, rows["0.5.22"].kernels) == ("stand-in", "native")


CALLS = """
from msgspec import UNSET
from oracle.byte_buffer import Buffer
from oracle.family_sizes import FamilySizes
from oracle.geometry import SINGLE_SLOTS, TWO_POOLS, UNIFIED_FAMILIES
from targets.sglang.further_release import CALLERS_OWN
from targets.sglang.row_release import row_methods
from targets.sglang.unified_calls import release_names
from targets.sglang.unified_state import BAND_ATTRIBUTES
from targets.sglang.release_table import release_table

BUFFERS = {
    "unified-swa": Buffer(total_bytes=2048, full_bytes=16, swa_bytes=8),
    "unified-mamba-swa": Buffer(total_bytes=2048, full_bytes=16, swa_bytes=8, state_bytes=96),
    "unified-mamba": Buffer(total_bytes=2048, full_bytes=16, state_bytes=96),
}
SIZES = {
    "swa-ring": FamilySizes(request_slots=2, ring=4),
    "hisparse": FamilySizes(ratio=2),
    "hisparse-dsv4": FamilySizes(device_size=4),
    "page-interleave": FamilySizes(ranks=2),
}

def body(version):
    target = make_sglang_target("sglang==" + version)
    (row,) = [row for row in release_table() if row.version == version]
    assert target.versions["kernels"] == row.kernels
    for family, having in row.families.items():
        if family in UNIFIED_FAMILIES:
            buffer = BUFFERS[family]
            caps = 64 if family == "unified-mamba-swa" else 0
            target.reset(Geometry(family=family, size=caps, size_swa=caps, page_size=4, buffer=buffer), Mode())
            subjects = [target.allocator, *(getattr(target.allocator, name, None) for name in BAND_ATTRIBUTES.values())]
            missing = [name for name in release_names(having.calls) if not any(hasattr(one, name) for one in subjects)]
            assert not missing, (version, family, missing)
            continue
        page_size = 1 if family in SINGLE_SLOTS else 4
        size_swa = 16 if family in TWO_POOLS else 0
        sizes = FamilySizes(window=4) if family == "hybrid-rows" else SIZES.get(family, UNSET)
        target.reset(Geometry(family=family, size=16, page_size=page_size, size_swa=size_swa, sizes=sizes), Mode())
        known = (*CALLERS_OWN, *row_methods(target._release.package))
        missing = [call for call in having.calls if not hasattr(target.allocator, call) and call not in known]
        assert not missing, (version, family, missing)
"""


@pytest.mark.release
def test_each_release_has_the_calls_that_its_row_says() -> None:
    run_on_releases(CALLS, RELEASES)
