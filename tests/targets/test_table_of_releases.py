"""The table of releases: what each can do, and what came and went."""

from __future__ import annotations

import pytest
from release_process import run_on_releases

from oracle.operations import OPERATION_TABLE, kind_of
from targets.sglang.release_table import NEEDED_CALLS, release_table
from targets.sglang.releases import RELEASES


def test_there_is_a_row_for_each_supported_release_with_every_family() -> None:
    rows = release_table()
    assert tuple(row.version for row in rows) == RELEASES
    for row in rows:
        assert set(row.families) == {"token", "paged", "hybrid-swa"}, row.version


def test_the_operations_that_need_calls_are_operations_and_differ_between_releases() -> None:
    kinds = {kind_of(kind.operation()) for kind in OPERATION_TABLE}
    assert NEEDED_CALLS.keys() <= kinds
    rows = {row.version: row.families["hybrid-swa"] for row in release_table()}
    for kind in NEEDED_CALLS.keys() - {"free-pages"}:
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
from targets.sglang.release_table import release_table

def body(version):
    target = make_sglang_target("sglang==" + version)
    (row,) = [row for row in release_table() if row.version == version]
    assert target.versions["kernels"] == row.kernels
    for family, having in row.families.items():
        page_size = 1 if family == "token" else 4
        size_swa = 16 if family == "hybrid-swa" else 0
        target.reset(Geometry(family=family, size=16, page_size=page_size, size_swa=size_swa), Mode())
        missing = [call for call in having.calls if not hasattr(target.allocator, call)]
        assert not missing, (version, family, missing)
"""


@pytest.mark.release
def test_each_release_has_the_calls_that_its_row_says() -> None:
    run_on_releases(CALLS, RELEASES)
