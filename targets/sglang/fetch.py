"""Fetch a release into the cache, or just what is needed of it into a folder to carry away.

Guarantees: what is unpacked came from a wheel whose sha256 is the index's; only `.py` files that a
hermetic import may read are unpacked, nothing of the wheel is run, and the wheel is deleted. Every
way to fail is one `TargetUnavailable` with one sentence.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from oracle.errors import TargetUnavailable
from targets.sglang import index
from targets.sglang.cache import (
    Manifest,
    add_entry,
    cache_directory,
    copy_files,
    entry_of,
    read_manifest,
    staging,
)
from targets.sglang.needed_files import may_be_read, needed_files


def fetch_release(version: str, cache: Path | None = None) -> Path:
    """The folder with that release in it, fetched unless the cache has it.

    Args:
        version: a release, say "0.5.23".
        cache: the cache directory; None for `KVORACLE_CACHE` or the user's.

    Returns:
        `<cache>/sglang-<version>`, which has the `sglang` folder in it.

    Raises:
        TargetUnavailable: it is not cached and cannot be fetched, verified or written.
    """
    directory = cache_directory(cache)
    if read_manifest(directory, version) is not None:
        return entry_of(directory, version)
    with staging(directory) as draft:
        wheel = index.download(version, Path(draft))
        manifest = Manifest(
            version=version, wheel=wheel.file.name, sha256=wheel.sha256, contents="areas"
        )
        return add_entry(directory, manifest, lambda folder: _unpack(wheel.file, folder))


def write_minimal(version: str, into: Path, cache: Path | None = None) -> Path:
    """Write just the files that importing the release's allocators reads, about a megabyte.

    `into` becomes a cache that `--cache` and `KVORACLE_CACHE` take on a machine with no index.

    Returns:
        `<into>/sglang-<version>`.

    Raises:
        TargetUnavailable: the release cannot be had, or `into` cannot be written.
    """
    into = into.expanduser()
    if read_manifest(into, version) is not None:
        return entry_of(into, version)
    source = fetch_release(version, cache)
    whole = read_manifest(cache_directory(cache), version)
    assert whole is not None, "it was fetched a line ago"
    files = needed_files(source / "sglang")
    manifest = Manifest(version=version, wheel=whole.wheel, sha256=whole.sha256, contents="minimal")
    return add_entry(into, manifest, lambda folder: copy_files(source, files, folder))


def _unpack(wheel: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [name for name in archive.namelist() if may_be_read(name)]
            archive.extractall(folder, members)
    except zipfile.BadZipFile as error:
        raise TargetUnavailable(f"{wheel.name} is not a wheel ({error}): try again") from error
    if not (folder / "sglang" / "srt" / "mem_cache").is_dir():
        raise TargetUnavailable(f"{wheel.name} has no sglang/srt/mem_cache in it")
