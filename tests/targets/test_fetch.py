"""Fetching a release: verified, whole or not at all, and one sentence when it cannot be."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from oracle.errors import TargetUnavailable
from targets.sglang import index
from targets.sglang.cache import Manifest, add_entry, cache_directory, read_manifest
from targets.sglang.fetch import fetch_release, write_minimal
from targets.sglang.needed_files import may_be_read

Publish = Callable[..., Path]


def _files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def test_a_release_is_unpacked_with_its_hash_and_its_wheel_is_gone(
    made_up_index: Publish, tmp_path: Path
) -> None:
    published = made_up_index("0.5.23") / "sglang" / "sglang-0.5.23-py3-none-any.whl"
    cache = tmp_path / "cache"
    entry = fetch_release("0.5.23", cache)
    assert entry == cache / "sglang-0.5.23"
    manifest = read_manifest(cache, "0.5.23")
    assert manifest is not None
    assert manifest.sha256 == hashlib.sha256(published.read_bytes()).hexdigest()
    assert manifest.wheel == published.name
    assert [path.name for path in cache.iterdir()] == ["sglang-0.5.23"], "something was left over"


def test_only_python_files_of_the_areas_that_are_imported_are_unpacked(
    made_up_index: Publish, tmp_path: Path
) -> None:
    made_up_index("0.5.23")
    files = _files(fetch_release("0.5.23", tmp_path / "cache"))
    assert "sglang/srt/mem_cache/unrelated.py" in files
    assert "sglang/_version.py" in files
    assert not files & {"sglang/__init__.py", "sglang/srt/server.py", "sglang/srt/utils/kernel.so"}


@pytest.mark.parametrize(
    "member",
    [
        "sglang/srt/utils/../../../../escaped.py",
        "/sglang/srt/utils/absolute.py",
        "sglang/srt/utils/kernel.so",
        "sglang/srt/utils_of_another/x.py",
        "elsewhere/srt/utils/x.py",
    ],
)
def test_a_member_outside_the_areas_is_not_unpacked(member: str) -> None:
    assert not may_be_read(member)


def test_a_cached_release_needs_no_index(made_up_index: Publish, tmp_path: Path) -> None:
    published = made_up_index("0.5.23")
    first = fetch_release("0.5.23", tmp_path / "cache")
    shutil.rmtree(published)
    assert fetch_release("0.5.23", tmp_path / "cache") == first


def test_a_wheel_for_another_python_does_as_well(made_up_index: Publish, tmp_path: Path) -> None:
    other = "cp312" if sys.version_info[:2] != (3, 12) else "cp311"
    made_up_index("0.5.23", f"{other}-{other}-manylinux_2_34_x86_64")
    fetch_release("0.5.23", tmp_path / "cache")
    manifest = read_manifest(tmp_path / "cache", "0.5.23")
    assert manifest is not None
    assert other in manifest.wheel


def test_a_release_that_does_not_exist_is_one_sentence(
    made_up_index: Publish, tmp_path: Path
) -> None:
    made_up_index("0.5.22")
    with pytest.raises(TargetUnavailable, match=r"has no wheel of sglang==0\.5\.23: check"):
        fetch_release("0.5.23", tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == [], "a failed fetch left something"


def test_no_index_is_one_sentence_that_names_the_offline_way(
    made_up_index: Publish, tmp_path: Path
) -> None:
    shutil.rmtree(made_up_index("0.5.23"))
    with pytest.raises(TargetUnavailable, match=r"no package index .* use --cache DIR"):
        fetch_release("0.5.23", tmp_path / "cache")


def test_a_wheel_that_pip_finds_damaged_is_refused(made_up_index: Publish, tmp_path: Path) -> None:
    made_up_index("0.5.23", fragment="sha256=" + "0" * 64)
    with pytest.raises(TargetUnavailable, match="does not have the hash that the package index"):
        fetch_release("0.5.23", tmp_path / "cache")


def test_a_wheel_that_changed_after_pip_looked_is_refused(
    made_up_index: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_up_index("0.5.23")
    honest = index._pip

    def tampering(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = honest(*arguments)
        if arguments[0] == "download":
            wheel = next(Path(arguments[arguments.index("--dest") + 1]).glob("*.whl"))
            wheel.write_bytes(wheel.read_bytes() + b"more")
        return done

    monkeypatch.setattr(index, "_pip", tampering)
    with pytest.raises(TargetUnavailable, match="and the package index states"):
        fetch_release("0.5.23", tmp_path / "cache")
    assert read_manifest(tmp_path / "cache", "0.5.23") is None


def test_a_wheel_with_no_hash_to_check_it_against_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = index._Download(url="file:///sglang.whl", archive_info=None)
    monkeypatch.setattr(index, "_report", lambda *_: (offered, ""))
    with pytest.raises(TargetUnavailable, match="no sha256 to check"):
        fetch_release("0.5.23", tmp_path / "cache")


def test_a_cache_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(TargetUnavailable, match=r"cannot be written .* KVORACLE_CACHE"):
        fetch_release("0.5.23", tmp_path / "file" / "cache")
    with pytest.raises(TargetUnavailable, match=r"file of that name.* KVORACLE_CACHE"):
        fetch_release("0.5.23", tmp_path / "file")


def test_a_folder_that_is_no_entry_is_named_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "sglang-0.5.23").mkdir()
    with pytest.raises(TargetUnavailable, match="is not a fetched release"):
        fetch_release("0.5.23", tmp_path)
    assert (tmp_path / "sglang-0.5.23").is_dir()


def test_an_entry_of_another_release_is_refused(made_up_index: Publish, tmp_path: Path) -> None:
    made_up_index("0.5.22")
    fetch_release("0.5.22", tmp_path / "cache").rename(tmp_path / "cache" / "sglang-0.5.23")
    with pytest.raises(TargetUnavailable, match=r"does not hold SGLang 0\.5\.23"):
        fetch_release("0.5.23", tmp_path / "cache")


@pytest.mark.parametrize("how", ["altered", "removed", "added"])
def test_an_entry_that_was_changed_is_not_that_release_any_more(
    how: str, made_up_index: Publish, tmp_path: Path
) -> None:
    made_up_index("0.5.23")
    entry = fetch_release("0.5.23", tmp_path)
    file = entry / "sglang" / "srt" / "mem_cache" / "unrelated.py"
    if how == "removed":
        file.unlink()
    elif how == "added":
        file.with_name("more.py").write_text("")
    else:
        file.write_text(file.read_text() + "\n")
    with pytest.raises(TargetUnavailable, match="is not as it was fetched") as refusal:
        fetch_release("0.5.23", tmp_path)
    assert str(entry) in str(refusal.value)


def test_compiled_files_do_not_alter_an_entry(made_up_index: Publish, tmp_path: Path) -> None:
    made_up_index("0.5.23")
    entry = fetch_release("0.5.23", tmp_path)
    (entry / "sglang" / "srt" / "unrelated.cpython-311.pyc").write_bytes(b"compiled")
    assert fetch_release("0.5.23", tmp_path) == entry


def test_an_entry_from_before_there_was_a_hash_of_its_files_is_taken(
    made_up_index: Publish, tmp_path: Path
) -> None:
    made_up_index("0.5.23")
    entry = fetch_release("0.5.23", tmp_path)
    path = entry / "manifest.json"
    old = {
        name: text
        for name, text in msgspec.json.decode(path.read_bytes()).items()
        if name != "files"
    }
    path.write_bytes(msgspec.json.encode(old))
    assert fetch_release("0.5.23", tmp_path) == entry


def test_two_fetches_at_once_both_end_with_a_whole_entry(tmp_path: Path) -> None:
    manifest = Manifest(version="0.5.23", wheel="a.whl", sha256="0" * 64, contents="areas")
    both_have_filled = threading.Barrier(2)
    results: list[Path] = []

    def fill(folder: Path) -> None:
        (folder / "sglang" / "srt" / "mem_cache").mkdir(parents=True)
        both_have_filled.wait(timeout=30)

    threads = [
        threading.Thread(target=lambda: results.append(add_entry(tmp_path, manifest, fill)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [tmp_path / "sglang-0.5.23"] * 2
    read = read_manifest(tmp_path, "0.5.23")
    assert read is not None
    assert msgspec.structs.replace(read, files="") == manifest
    assert [path.name for path in tmp_path.iterdir()] == ["sglang-0.5.23"]


def test_minimal_has_what_is_imported_even_lazily_and_nothing_else(
    made_up_index: Publish, tmp_path: Path
) -> None:
    made_up_index("0.5.23")
    entry = write_minimal("0.5.23", tmp_path / "carry", tmp_path / "cache")
    assert _files(entry / "sglang") == {
        "srt/environ.py",
        "srt/utils/__init__.py",
        "srt/utils/common.py",
        "srt/mem_cache/base_swa_memory_pool.py",
        "srt/mem_cache/later.py",
        "srt/mem_cache/allocator/__init__.py",
        "srt/mem_cache/allocator/swa.py",
    }
    manifest = msgspec.json.decode((entry / "manifest.json").read_bytes(), type=Manifest)
    assert manifest.contents == "minimal"


def test_minimal_is_a_cache_for_a_machine_with_no_index(
    made_up_index: Publish, tmp_path: Path
) -> None:
    published = made_up_index("0.5.23")
    entry = write_minimal("0.5.23", tmp_path / "carry", tmp_path / "cache")
    shutil.rmtree(published)
    assert fetch_release("0.5.23", tmp_path / "carry") == entry
    assert write_minimal("0.5.23", tmp_path / "carry", tmp_path / "nowhere") == entry


def test_the_explicit_cache_comes_before_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVORACLE_CACHE", str(tmp_path / "variable"))
    assert cache_directory() == tmp_path / "variable"
    assert cache_directory(tmp_path / "explicit") == tmp_path / "explicit"
    monkeypatch.delenv("KVORACLE_CACHE")
    assert cache_directory().parts[-2:] == ("kvoracle", "sglang")
