"""Find the `sglang` folder that a person means, and its version, without importing it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import msgspec

from oracle.errors import TargetUnavailable
from targets.sglang.cache import MANIFEST, Manifest
from targets.sglang.finder import SglangFinder

_VERSION = re.compile(r"""^(?:__version__|version).*=\s*['"]([^'"]+)['"]""", re.MULTILINE)


def find_package(root: Path) -> Path:
    """The absolute path of the `sglang` folder in or at `root`.

    `root` is a checkout of the repository (python/sglang in it), an unpacked wheel (sglang in it)
    or the `sglang` folder itself.

    Raises:
        TargetUnavailable: it does not exist or none of the three is there.
    """
    if not root.exists():
        raise TargetUnavailable(f"{root} does not exist: give the path of an SGLang checkout")
    for candidate in (root / "python" / "sglang", root / "sglang", root):
        if (candidate / "srt" / "mem_cache").is_dir():
            return candidate.resolve()
    raise TargetUnavailable(
        f"{root} is not an SGLang checkout: none of python/sglang, sglang and the folder itself "
        "has srt/mem_cache in it"
    )


def find_installed() -> Path:
    """The `sglang` folder installed in this environment, found without importing it.

    Raises:
        TargetUnavailable: none is installed.
    """
    # Not importlib's own search, nor our finder: they answer with what this process has imported, a fetched release perhaps.
    others = (finder for finder in sys.meta_path if not isinstance(finder, SglangFinder))
    specs = (finder.find_spec("sglang", None) for finder in others)
    spec = next((found for found in specs if found is not None), None)
    for place in (spec.submodule_search_locations if spec is not None else None) or ():
        if (Path(place) / "srt" / "mem_cache").is_dir():
            return Path(place).resolve()
    raise TargetUnavailable(
        "no sglang is installed in this environment: "
        "name a release (sglang==0.5.23) or a checkout (sglang@PATH)"
    )


def version_of(package: Path) -> str | None:
    """The version that the tree at the `sglang` folder `package` says it is, None if it says none.

    Looks at the manifest of a fetched release, then `_version.py`, then the metadata folder that an
    installation or an unpacked wheel has beside it.
    """
    stated = _fetched_version(package.parent)
    if stated is not None:
        return stated
    for name in ("_version.py", "version.py"):
        if (package / name).is_file():
            found = _VERSION.search((package / name).read_text(encoding="utf-8", errors="replace"))
            if found is not None and not found.group(1).startswith("0.0.0"):
                return found.group(1)
    for metadata in sorted(package.parent.glob("sglang-*.dist-info")):
        return metadata.name.removeprefix("sglang-").removesuffix(".dist-info")
    return None


def _fetched_version(folder: Path) -> str | None:
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest).version
    except (OSError, msgspec.MsgspecError):
        return None
