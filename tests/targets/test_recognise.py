"""A checkout without a version: which release it is taken for, what is said about that, and how a file outranks it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from release_process import run_on_releases

from oracle.contract import current_contract
from oracle.errors import UsageError
from oracle.geometry import FAMILIES
from targets.sglang.contracts import contract_for_version
from targets.sglang.fetch import write_minimal
from targets.sglang.override import find_override, overridden, read_override
from targets.sglang.recognise import Recognition
from targets.sglang.releases import RELEASES

RECOGNISE = """
from oracle.geometry import ALL_FAMILIES
from targets.sglang.contracts import contract_for_version

def body(version):
    checkout = sys.argv[2] + "/" + version
    target = make_sglang_target("sglang@" + checkout)
    assert target.versions["sglang"] == "unknown", target.versions
    assert target.versions["assumed"].startswith("contract of 0.5."), target.versions
    for family in ALL_FAMILIES:
        got = target.contract(family)
        wanted = contract_for_version(version, family, power_of_two_pages=False)
        if wanted is None:
            assert got is None, (version, family)
            continue
        differing = [
            (name, getattr(wanted, name), getattr(got, name))
            for name in wanted.__struct_fields__
            if getattr(wanted, name) != getattr(got, name)
        ]
        assert not differing, (version, target.versions, family, differing)
    told, *others, rest = target.notes
    assert told.startswith("it tells no version"), told
    assert not others, (version, others)
    assert "is taken from SGLang 0.5." in rest, rest
    target.reset(Geometry(family="hybrid-swa", size=24, size_swa=24, page_size=3), Mode())
    assert target.snapshot().full.free == list(range(1, 9))
"""


@pytest.fixture(scope="session")
def checkouts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with each release's allocators in a folder of its own, told by no version file."""
    folder = tmp_path_factory.mktemp("checkouts")
    for version in RELEASES:
        checkout = folder / version
        shutil.move(write_minimal(version, folder / "carried"), checkout)
        (checkout / "manifest.json").unlink()
        for name in ("_version.py", "version.py"):
            (checkout / "sglang" / name).unlink(missing_ok=True)
    return folder


@pytest.mark.release
def test_each_release_without_its_version_is_recognised_by_what_its_classes_offer(
    checkouts: Path,
) -> None:
    run_on_releases(RECOGNISE, RELEASES, str(checkouts))


@pytest.mark.release
def test_what_does_not_fit_the_release_is_said_and_changed_in_the_contract(checkouts: Path) -> None:
    swa = checkouts / "0.5.19" / "sglang/srt/mem_cache/allocator/swa.py"
    paged = swa.with_name("paged.py")
    before = swa.read_text(), paged.read_text()
    swa.write_text(before[0].replace("def clear_full_to_swa_mapping(", "def _hidden("))
    paged.write_text(before[1] + "\n    def lend(self):\n        return 1\n")
    try:
        run_on_releases(
            """
def body(version):
    target = make_sglang_target("sglang@" + sys.argv[2] + "/" + version)
    assert target.versions["assumed"] == "contract of 0.5.19", target.versions
    notes = "; ".join(target.notes)
    assert "it does not have clear_full_to_swa_mapping, unlike SGLang 0.5.19" in notes, notes
    assert "does not have clear_full_to_swa_mapping, and its contract was changed" in notes, notes
    assert "it has PagedTokenToKVPoolAllocator.lend, which no operation drives" in notes, notes
    assert "clear_full_to_swa_mapping" not in target.contract("hybrid-swa").methods
    assert "free_full" in target.contract("hybrid-swa").methods
""",
            ["0.5.19"],
            str(checkouts),
        )
    finally:
        swa.write_text(before[0])
        paged.write_text(before[1])


@pytest.mark.release
def test_a_file_beside_the_checkout_outranks_what_was_recognised(checkouts: Path) -> None:
    file = checkouts / "0.5.22" / "kvoracle.toml"
    file.write_text('release = "0.5.19"\n[hybrid-swa]\nnested_begin = "refused"\n')
    try:
        run_on_releases(
            """
def body(version):
    target = make_sglang_target("sglang@" + sys.argv[2] + "/" + version)
    assert target.versions["assumed"] == "contract of 0.5.19", target.versions
    contract = target.contract("hybrid-swa")
    assert contract.nested_begin == "refused", contract
    assert contract.free_order == "full-first", contract
    assert target.contract("paged").nested_begin == "accepted"
    assert "says hybrid-swa.nested_begin = 'refused'" in target.notes[-1], target.notes
""",
            ["0.5.22"],
            str(checkouts),
        )
    finally:
        file.unlink()


def _recognised(version: str) -> Recognition:
    contracts = {
        family: contract_for_version(version, family, power_of_two_pages=True)
        for family in FAMILIES
    }
    return Recognition(version, {k: v for k, v in contracts.items() if v is not None}, ("seen",))


def test_an_override_changes_only_the_fields_that_it_names(tmp_path: Path) -> None:
    file = tmp_path / "kvoracle.toml"
    file.write_text('[hybrid-swa]\nflush_order = ["plain"]\n[token]\nmethods = ["alloc", "free"]\n')
    assert find_override(tmp_path) == file
    assert find_override(tmp_path / "checkout") == file
    assert find_override(tmp_path / "one" / "checkout") is None
    changed = overridden(_recognised("0.5.23"), read_override(file))
    assert changed.version == "0.5.23"
    hybrid = current_contract("hybrid-swa", power_of_two_pages=True)
    assert changed.contracts["hybrid-swa"].flush_order == ("plain",)
    assert changed.contracts["hybrid-swa"].methods == hybrid.methods
    assert changed.contracts["token"].methods == {"alloc", "free"}
    assert changed.contracts["paged"] == current_contract("paged", power_of_two_pages=True)
    assert changed.notes[0] == "seen"
    assert len(changed.notes) == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("release =", "cannot be read as a contract"),
        ('release = "0.4.9"', r"'0\.4\.9' is not among 0\.5\.9 to 0\.5\.23"),
        ("release = 3", "3 is not among"),
        ("[hybrid]\n", "hybrid is no family: did you mean hybrid-swa"),
        ("paged = 1\n", r"paged is no table: write \[paged\]"),
        ("[paged]\nstage = 1\n", "stage is no field of a contract: did you mean staging"),
    ],
)
def test_a_bad_override_is_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "kvoracle.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=sentence):
        read_override(file)


@pytest.mark.parametrize(
    "line", ['staging = "somewhere"', "methods = 3", "takes_page_count = 2", "flush_order = [1]"]
)
def test_a_value_that_a_field_cannot_have_is_one_sentence(line: str, tmp_path: Path) -> None:
    file = tmp_path / "kvoracle.toml"
    file.write_text(f"[paged]\n{line}\n")
    with pytest.raises(UsageError, match=r"kvoracle\.toml: \[paged\] is no contract"):
        overridden(_recognised("0.5.23"), read_override(file))


def test_an_override_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read as a contract"):
        read_override(tmp_path / "none.toml")
