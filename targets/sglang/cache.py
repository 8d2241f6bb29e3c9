"""The cache of fetched releases: its layout, its manifests, and how an entry appears in it.

An entry is `<cache>/sglang-<version>/` with the `sglang` folder and `manifest.json` in it. It is
written beside its place and renamed into it, so that a reader never sees half an entry and two
processes that fetch the same release at once both end with a whole one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import platformdirs

from oracle.errors import TargetUnavailable, reason_of

MANIFEST = "manifest.json"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an entry was unpacked from.

    Attributes:
        version: the release.
        wheel: the wheel's file name.
        sha256: the wheel's hash in hexadecimal, as the index stated it and as it was.
        contents: "areas" (all that a hermetic import may read) or "minimal" (what it does read).
        files: the hash of the entry's `.py` files, "" in an entry from before there was one.
    """

    version: str
    wheel: str
    sha256: str
    contents: str
    files: str = ""


def cache_directory(explicit: Path | None = None) -> Path:
    """The cache: the explicit one, else `KVORACLE_CACHE`, else under the user's cache directory."""
    if explicit is not None:
        return explicit.expanduser()
    named = os.environ.get("KVORACLE_CACHE")
    if named:
        return Path(named).expanduser()
    return platformdirs.user_cache_path("kvoracle") / "sglang"


def entry_of(cache: Path, version: str) -> Path:
    """Where the release has its entry, whether or not it is there."""
    return cache / f"sglang-{version}"


def read_manifest(cache: Path, version: str) -> Manifest | None:
    """The manifest of the release's entry, None where there is no entry.

    Raises:
        TargetUnavailable: the entry is there and is not one of ours, is another release's, or was altered.
    """
    entry = entry_of(cache, version)
    try:
        if not entry.exists():
            return None
        manifest = msgspec.json.decode((entry / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError) as error:
        raise TargetUnavailable(
            f"{entry} is not a fetched release ({error}): remove that folder and fetch it again"
        ) from error
    if manifest.version != version or not (entry / "sglang" / "srt" / "mem_cache").is_dir():
        raise TargetUnavailable(
            f"{entry} does not hold SGLang {version}: remove that folder and fetch it again"
        )
    if manifest.files and manifest.files != hash_of_files(entry):
        raise TargetUnavailable(
            f"{entry} is not as it was fetched, so it is not SGLang {version} any more: "
            f"remove that folder and fetch it again, or name it with sglang@PATH"
        )
    return manifest


def hash_of_files(entry: Path) -> str:
    """The sha256, in hexadecimal, of the names and contents of the `.py` files below the folder."""
    digest = hashlib.sha256()
    for file in sorted(entry.rglob("*.py")):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(entry).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def add_entry(cache: Path, manifest: Manifest, fill: Callable[[Path], None]) -> Path:
    """Make the entry of `manifest.version` whole or not at all, and return its path.

    Args:
        cache: the cache directory, made if absent.
        manifest: what goes into its `manifest.json`.
        fill: writes the `sglang` folder into the folder that it is given.

    Raises:
        TargetUnavailable: the cache cannot be written.
    """
    entry = entry_of(cache, manifest.version)
    with staging(cache) as draft:
        folder = Path(draft) / "entry"
        try:
            folder.mkdir()
            fill(folder)
            manifest = msgspec.structs.replace(manifest, files=hash_of_files(folder))
            (folder / MANIFEST).write_bytes(
                msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
            )
        except OSError as error:
            raise _not_writable(cache, error) from error
        try:
            folder.rename(entry)
        except OSError as error:
            # Another process was faster: its entry is as good, if it is one.
            if read_manifest(cache, manifest.version) is None:
                raise _not_writable(cache, error) from error
    return entry


def staging(cache: Path) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder on the cache's own disk, so that a rename out of it is atomic.

    Raises:
        TargetUnavailable: the cache cannot be written.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(prefix=".fetch-", dir=cache, ignore_cleanup_errors=True)
    except OSError as error:
        raise _not_writable(cache, error) from error


def copy_files(source: Path, files: list[Path], into: Path) -> None:
    """Copy `files`, given relative to `source`, to the same places under `into`."""
    for file in files:
        (into / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / file, into / file)


def _not_writable(cache: Path, error: OSError) -> TargetUnavailable:
    return TargetUnavailable(
        f"the cache {cache} cannot be written ({reason_of(error)}): "
        "name another with --cache or KVORACLE_CACHE"
    )
