"""The further families of real releases: the same walks as ours, and the places where a release does not keep the contract."""

from __future__ import annotations

from pathlib import Path

import pytest
from release_process import run_on_release, run_on_releases

from targets.sglang.releases import RELEASES

TOURS = f"""
sys.path.insert(0, {str(Path(__file__).parent)!r})
"""
TOURS += """
from beside import differences
from family_tours import TOURS

def quantities(target, family):
    found = {}
    for geometry, tour in TOURS[family]:
        differing = differences(target, geometry, tour)
        if differing:
            found[tour.__name__.removeprefix("_")] = differing[0].quantity
    return found
"""

NEWEST = """
target = make_sglang_target("sglang==0.5.23")
# What stands here is what contract_paged_swa forbids: a clear keeps states that were taken out in advance (rule 4), a base is
# resolved by a call that is refused (rule 1), an entry is left on a device page that went back (7.1), and a row goes on in
# the padding page of the device (rule 2).
wanted = {
    "mamba-slots": {"mamba_slots": "prepared"},
    "pure-swa": {},
    "swa-ring": {},
    "page-interleave": {"page_interleave": "resolved"},
    "hisparse": {"hisparse_part_of_a_page": "device_mapping", "hisparse_without_a_place": "raised"},
    "hisparse-dsv4": {"dsv4_part_of_a_page": "device_mapping"},
}
got = {family: quantities(target, family) for family in TOURS}
assert got == wanted, got
print("all six")
"""

PEEKED = """
target = make_sglang_target("sglang==0.5.23")
target.reset(Geometry(family="mamba-slots", size=4), Mode())
target.apply(Call(method="alloc_group_begin", need=3))
for rest in ([1, 2, 3], [2, 3], [3], []):
    assert [target.snapshot().prepared for _ in range(2)] == [rest, rest]
    taken = target.apply(Call(method="alloc", need=1))
    assert taken.value == ((rest or [4])[0],), taken
target.apply(Call(method="alloc_group_end"))
assert target.snapshot().prepared is None
print("untouched")
"""

OLDER = """
from oracle.geometry import FURTHER_FAMILIES

def body(version):
    number = int(version.split(".")[2])
    target = make_sglang_target("sglang==" + version)
    having = {family for family in FURTHER_FAMILIES if target.contract(family) is not None}
    states = {"mamba-slots"} if number >= 13 else set()
    assert having == (set(FURTHER_FAMILIES) if number >= 20 else states), (version, having)
    if number < 20:
        return
    tier = target.contract("hisparse-dsv4")
    assert tier.device_free == ("with-logical" if number >= 22 else "by-caller")
    from family_geometries import hisparse_dsv4
    from eager_calls import Bench
    bench = Bench(hisparse_dsv4(), target=target)
    bench.free(bench.fresh(8))
    assert bench.state.device.free == ([1, 2, 3, 4] if number >= 22 else [2, 3, 4]), version
    bench.call("clear")
    bench.free((1,), "free_hisparse_indices")
    assert bench.state.device.free == ([1, 2, 3, 4] if number >= 22 else [0, 1, 2, 3, 4]), version
    assert not quantities(target, "swa-ring") and not quantities(target, "pure-swa"), version
    print(version)
"""

CARRIED = """
from pathlib import Path
from targets.sglang.fetch import write_minimal
tree = write_minimal("0.5.23", Path(sys.argv[1]))
target = make_sglang_target(f"sglang@{tree}")
for family, tours in TOURS.items():
    for geometry, tour in tours:
        differences(target, geometry, tour)
print(sorted(set(TOURS) - {family for family in TOURS if target.contract(family)}))
"""

ONE_RANK = """
from oracle.errors import UsageError
from oracle.family_sizes import FamilySizes
target = make_sglang_target("sglang==0.5.23")
try:
    target.reset(
        Geometry(family="page-interleave", size=8, page_size=4, sizes=FamilySizes(ranks=1)), Mode()
    )
except UsageError as refused:
    print(refused)
"""


@pytest.mark.release
def test_the_newest_release_differs_from_ours_where_it_breaks_the_contract_and_nowhere_else() -> (
    None
):
    out, _ = run_on_release(TOURS + NEWEST)
    assert out.split() == ["all", "six"]


@pytest.mark.release
def test_looking_at_states_that_were_taken_out_in_advance_takes_none() -> None:
    out, _ = run_on_release(PEEKED)
    assert out.split() == ["untouched"]


@pytest.mark.long
@pytest.mark.release
def test_each_release_has_the_further_families_and_choices_that_its_table_says() -> None:
    out, _ = run_on_releases(TOURS + OLDER, RELEASES)
    assert out.split() == ["0.5.20", "0.5.21", "0.5.22", "0.5.23"]


@pytest.mark.release
def test_a_single_rank_is_refused_in_a_sentence() -> None:
    out, _ = run_on_release(ONE_RANK)
    assert out.strip() == "the page-interleave family needs ranks of at least 2, not 1"


@pytest.mark.long
@pytest.mark.release
def test_the_files_that_a_fetch_keeps_are_enough_for_every_further_family(tmp_path: Path) -> None:
    out, _ = run_on_release(TOURS + CARRIED, str(tmp_path / "carried"))
    assert out.strip() == "[]"
