"""What a person may write for an SGLang target, and what is found for it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from oracle.errors import TargetUnavailable, UsageError
from targets.sglang.checkout import find_installed, find_package, version_of
from targets.sglang.finder import OutsideImports, SglangFinder
from targets.sglang.locate import locate
from targets.sglang.releases import NEWEST, RELEASES, is_specification, parse


def test_the_three_forms_are_told_apart() -> None:
    assert parse("sglang").release is None
    assert parse("sglang").path is None
    assert parse("sglang==0.5.20").release == "0.5.20"
    assert parse("sglang@some/where").path == Path("some/where")
    assert parse("sglang@~/x").path == Path.home() / "x"


@pytest.mark.parametrize(
    "text", ["sglang==", "sglang==new", "sglang==0.5.99", "sglang@", "sglang>=0.5.20", "sglangs"]
)
def test_anything_else_is_a_usage_error_that_names_it(text: str) -> None:
    with pytest.raises(UsageError, match=text.replace(".", r"\.")):
        parse(text)


def test_other_targets_are_not_claimed() -> None:
    assert not is_specification("eager")
    assert not is_specification("sglang-like")
    assert is_specification(f"sglang=={NEWEST}")


def test_the_supported_releases_ascend_and_end_with_the_newest() -> None:
    def key(release: str) -> list[int]:
        return [int(part.removeprefix("post")) for part in release.split(".")]

    assert sorted(RELEASES, key=key) == list(RELEASES)
    assert RELEASES[0] == "0.5.9"
    assert RELEASES[-1] == "0.5.23"


def test_an_unpacked_wheel_a_checkout_and_the_folder_itself_are_found(
    made_up_tree: Path, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(made_up_tree, checkout / "python")
    assert find_package(made_up_tree) == made_up_tree / "sglang"
    assert find_package(made_up_tree / "sglang") == made_up_tree / "sglang"
    assert find_package(checkout) == checkout / "python" / "sglang"
    assert locate(parse(f"sglang@{checkout}")) == checkout / "python" / "sglang"


def test_what_is_no_checkout_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TargetUnavailable, match="is not an SGLang checkout"):
        find_package(tmp_path)
    with pytest.raises(TargetUnavailable, match="does not exist"):
        find_package(tmp_path / "nowhere")


def test_the_version_is_read_and_not_executed(made_up_tree: Path) -> None:
    package = made_up_tree / "sglang"
    assert version_of(package) == "0.5.23"
    (package / "_version.py").write_text("raise RuntimeError\n__version__ = '0.5.24.dev7'\n")
    assert version_of(package) == "0.5.24.dev7"
    (package / "_version.py").unlink()
    assert version_of(package) is None
    (made_up_tree / "sglang-0.5.21.dist-info").mkdir()
    assert version_of(package) == "0.5.21"


def test_the_installed_one_is_found_without_importing_it(
    made_up_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(made_up_tree))
    monkeypatch.setitem(sys.modules, "sglang", ModuleType("sglang"))
    assert find_installed() == made_up_tree / "sglang"
    monkeypatch.delitem(sys.modules, "sglang")
    assert find_installed() == made_up_tree / "sglang"
    assert "sglang" not in sys.modules


def test_no_installed_one_is_one_sentence_even_where_a_release_is_imported(
    made_up_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = SglangFinder(made_up_tree / "sglang", OutsideImports(), keep_bytecode=False)
    monkeypatch.setattr(sys, "meta_path", [ours, *sys.meta_path])
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    with pytest.raises(TargetUnavailable, match="no sglang is installed"):
        find_installed()
