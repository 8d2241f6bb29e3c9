"""The row-level code of real releases: what contract_paged_swa §11 says of 0.5.23, and which of its functions older ones have."""

from __future__ import annotations

from pathlib import Path

import pytest
from release_process import run_on_release, run_on_releases

from targets.rows.methods import ROW_METHODS
from targets.sglang.cache import cache_directory, entry_of
from targets.sglang.contracts import contract_for_version, minor_of
from targets.sglang.releases import RELEASES
from targets.sglang.row_release import row_methods

PRELUDE = f"""
sys.path.insert(0, {str(Path(__file__).parent)!r})
from row_checks import CHECKS, PAGE, WINDOW, RowBench, went

def target_of(version):
    return make_sglang_target("sglang==" + version)
"""

EVERY_CHECK = """
target = target_of("0.5.23")
for check in CHECKS:
    print(check.__name__)
    check(target)
print(target.versions["sglang"], len(CHECKS))
"""

PROGRAMS = """
from row_programs import run_alike
from targets.eager.target import EagerTarget
from targets.rows.methods import ROW_METHODS

ended = run_alike(range(100), [EagerTarget(), target_of("0.5.23")])
for method in ROW_METHODS:
    assert ended[method, ""] and ended[method, "AssertionError"], ended
"""

WITH_FUNCTIONS = [version for version in RELEASES if minor_of(version) >= 14]

# The newest whole page below the threshold of each release (§13.2, free_swa_out_of_window_slots), window 6 and pages of 4: the
# margin is a page more up to 0.5.14, the larger of window and page up to 0.5.22, that in whole pages from then on.
EVICTION = """
def body(version):
    minor = int(version.split(".")[2])
    target = target_of(version)
    bench = RowBench(target)
    shared = 12 if minor <= 14 or minor >= 23 else 16
    went(bench.evict(22, window=6), shared)
    assert bench.mapped() == list(range(shared, 24))
    went(RowBench(target).evict(22, window=6, sharing=False), 16)
    if minor >= 15:
        bench = RowBench(target)
        went(bench.evict(24, protected=4, floor=6), 16)
        assert bench.mapped() == [*range(8), *range(16, 24)]
    # Asked for fewer slots than the interval, older releases store the cursor all the same.
    stored = 4 if minor < 21 else 0
    went(RowBench(target).evict(8, protected=4), stored)
    if minor >= 18:
        went(RowBench(target).evict(24, retain_floor=10), 8)
    # The record goes with the row from 0.5.16 to 0.5.18, and says itself that it has none since then. Before, nobody asks for it.
    bench = RowBench(target)
    bench.slots = ()
    went(bench.evict(24), 0 if minor >= 16 else (12 if minor == 14 else 16))
"""

RELEASING = """
def body(version):
    minor = int(version.split(".")[2])
    target = target_of(version)
    bench = RowBench(target)
    went(bench.evict(24), 16)
    went(bench.release((0, 24), evicted=16), 16)
    full, swa = bench.free_lists()
    assert (sorted(full), sorted(swa)) == ([*range(1, 17)],) * 2, (full, swa)
    bench = RowBench(target)
    went(bench.evict(24), 16)
    went(bench.release_segments((0, 12), (12, 24), evicted=16), 16)
    full, swa = bench.free_lists()
    assert (sorted(full), sorted(swa)) == ([*range(1, 17)],) * 2, (full, swa)
    bench = RowBench(target)
    outcome = bench.release((0, 24), evicted=6)
    assert (outcome.error, outcome.resolved) == ("AssertionError", (6,)), outcome
"""

LAST_LOC = """
import torch
from targets.sglang.finder import SglangFinder

def body(version):
    target = target_of(version)
    finder = SglangFinder.installed()
    places = ("sglang.srt.mem_cache.allocation", "sglang.srt.mem_cache.common")
    modules = [finder.execute(place) for place in places]
    found = [m.get_last_loc_torch for m in modules if hasattr(m, "get_last_loc_torch")]
    assert len(found) == 1, version
    table = torch.tensor([[0] * 6, [4, 5, 6, 7, 12, 13], [8, 9, 10, 11, 0, 0]], dtype=torch.int32)
    lengths = torch.tensor([6, 0, 1, 4])
    last = found[0](table, torch.tensor([1, 1, 2, 2]), lengths)
    assert last.tolist() == [13, -1, 8, 11], (version, last)
    assert last.dtype == lengths.dtype, (version, last.dtype)
    print(version)
"""


@pytest.mark.release
def test_0_5_23_does_what_the_contract_says() -> None:
    printed, _ = run_on_release(PRELUDE + EVERY_CHECK)
    assert printed.splitlines()[-1].startswith("0.5.23 ")


@pytest.mark.long
@pytest.mark.release
def test_random_programs_run_alike_on_0_5_23_and_on_eager() -> None:
    run_on_release(PRELUDE + PROGRAMS)


@pytest.mark.long
@pytest.mark.release
def test_each_release_evicts_by_its_own_threshold() -> None:
    run_on_releases(PRELUDE + EVICTION, WITH_FUNCTIONS)


@pytest.mark.release
def test_each_release_that_can_gives_a_row_back_once() -> None:
    run_on_releases(PRELUDE + RELEASING, [v for v in RELEASES if minor_of(v) >= 19])


@pytest.mark.long
@pytest.mark.release
def test_the_last_slot_of_a_prefix_is_read_from_the_table() -> None:
    printed, _ = run_on_releases(PRELUDE + LAST_LOC, RELEASES)
    assert printed.split() == list(RELEASES)


@pytest.mark.long
@pytest.mark.release
@pytest.mark.parametrize("version", RELEASES)
def test_the_table_of_contracts_has_the_functions_that_the_tree_has(version: str) -> None:
    package = entry_of(cache_directory(), version) / "sglang"
    if not package.is_dir():
        pytest.skip(f"SGLang {version} was not fetched")
    contract = contract_for_version(version, "hybrid-rows", power_of_two_pages=False)
    methods = frozenset() if contract is None else contract.methods
    assert row_methods(package) == methods & ROW_METHODS


def test_a_release_without_the_functions_has_no_such_family() -> None:
    def methods(version: str) -> frozenset[str] | None:
        contract = contract_for_version(version, "hybrid-rows", power_of_two_pages=False)
        return None if contract is None else contract.methods

    assert methods("0.5.13.post1") is None
    assert (methods("0.5.14") or frozenset()) & ROW_METHODS == {"evict_out_of_window"}
    assert (methods("0.5.19") or frozenset()) >= ROW_METHODS
    assert "resize" not in (methods("0.5.23") or frozenset())
