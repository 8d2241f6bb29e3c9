"""What traces showed on releases, remembered in the user's cache, so that a second bisection asks only what is new.

Guarantees that a remembered result was made by the same source of kvoracle, the same torch and Python, for the same trace (its note apart). A cache
that cannot be read or written is as good as an empty one.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import msgspec
import platformdirs

import campaigns
import oracle
import strategies
import targets
from campaigns.bisection import ReleaseResult
from campaigns.output_folder import write_whole
from oracle.trace import Trace, encode_trace

_ROOMS = (oracle, strategies, targets, campaigns)
_LASTING = ("pass", "fail", "unsupported")


class ResultCache:
    """The remembered results of ``trace`` under ``circumstances`` (whatever else they depend on, say a device)."""

    def __init__(self, trace: Trace, *circumstances: str) -> None:
        plain = encode_trace(msgspec.structs.replace(trace, note=""))
        parts = (
            source_digest(),
            version("torch"),
            platform.python_version(),
            *circumstances,
            plain.decode(),
        )
        name = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        self._folder = platformdirs.user_cache_path("kvoracle") / "bisect" / name[:32]

    def get(self, release: str) -> ReleaseResult | None:
        """The remembered result, None when there is none."""
        try:
            return msgspec.json.decode(self._file(release).read_bytes(), type=ReleaseResult)
        except (OSError, msgspec.MsgspecError):
            return None

    def put(self, result: ReleaseResult) -> None:
        """Remember the result, unless it says that something went wrong here."""
        if result.status in _LASTING:
            with contextlib.suppress(OSError):
                self._folder.mkdir(parents=True, exist_ok=True)
                write_whole(self._file(result.release), msgspec.json.encode(result))

    def _file(self, release: str) -> Path:
        return self._folder / f"{release}.json"


@cache
def source_digest() -> str:
    """A digest of everything that kvoracle consists of."""
    digest = hashlib.sha256()
    for room in _ROOMS:
        root = Path(next(iter(room.__path__)))
        for file in sorted(root.rglob("*")):
            if file.suffix in (".py", ".toml", ".j2"):
                digest.update(f"{room.__name__}/{file.relative_to(root)}\0".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()
