"""Which SGLang releases are supported, where their allocators live, and how a target names one.

Data and a parser; nothing here touches the disk or the network. The locations are the table of
contract_paged_swa.md §13, newest place first: the first module that exists and has the class wins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from oracle.errors import UsageError

RELEASES = (
    "0.5.9",
    "0.5.10",
    "0.5.10.post1",
    "0.5.11",
    "0.5.12",
    "0.5.12.post1",
    "0.5.13",
    "0.5.13.post1",
    "0.5.14",
    "0.5.15",
    "0.5.15.post1",
    "0.5.16",
    "0.5.17",
    "0.5.18",
    "0.5.19",
    "0.5.20",
    "0.5.21",
    "0.5.22",
    "0.5.23",
)
NEWEST = RELEASES[-1]

_ALLOCATOR = "sglang.srt.mem_cache.allocator"
_OLD_SWA = "sglang.srt.mem_cache.swa_memory_pool"
_OLD_TIER = "sglang.srt.mem_cache.hisparse_memory_pool"

LOCATIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "token": ((_ALLOCATOR, "TokenToKVPoolAllocator"),),
    "paged": ((_ALLOCATOR, "PagedTokenToKVPoolAllocator"),),
    "hybrid-swa": (
        (f"{_ALLOCATOR}.swa", "SWATokenToKVPoolAllocator"),
        (_OLD_SWA, "SWATokenToKVPoolAllocator"),
    ),
    "pure-swa": ((f"{_ALLOCATOR}.swa", "PureSWATokenToKVPoolAllocator"),),
    "hisparse": (
        (f"{_ALLOCATOR}.hisparse", "HiSparseTokenToKVPoolAllocator"),
        (_OLD_TIER, "HiSparseTokenToKVPoolAllocator"),
    ),
    "hisparse-dsv4": (
        (f"{_ALLOCATOR}.hisparse", "DeepSeekV4HiSparseTokenToKVPoolAllocator"),
        (_OLD_TIER, "DeepSeekV4HiSparseTokenToKVPoolAllocator"),
    ),
    "page-interleave": ((f"{_ALLOCATOR}.page_interleave", "PageInterleavePoolAllocator"),),
    "mamba-slots": ((f"{_ALLOCATOR}.mamba", "MambaSlotAllocator"),),
    "hybrid-pool": (
        ("sglang.srt.mem_cache.base_swa_memory_pool", "BaseSWAKVPool"),
        (_OLD_SWA, "SWAKVPool"),
    ),
}

_RELEASE = re.compile(r"[0-9]+(\.[0-9]+)*(\.post[0-9]+)?")


@dataclass(frozen=True)
class Specification:
    """What a person wrote: exactly one of release and path is set, or neither for the installed."""

    text: str
    release: str | None = None
    path: Path | None = None


def is_specification(text: str) -> bool:
    """Whether the text is meant for this package at all."""
    return text == "sglang" or text.startswith(("sglang==", "sglang@"))


def parse(text: str) -> Specification:
    """`sglang`, `sglang==X` or `sglang@PATH`.

    Raises:
        UsageError: none of the three, an unsupported release, or an empty path.
    """
    if text == "sglang":
        return Specification(text)
    if text.startswith("sglang@"):
        path = text.removeprefix("sglang@")
        if not path:
            raise UsageError(f"{text} names no path: write sglang@PATH")
        return Specification(text, path=Path(path).expanduser())
    if text.startswith("sglang=="):
        return Specification(text, release=_supported(text.removeprefix("sglang==")))
    raise UsageError(f"{text} is not an SGLang target: write sglang, sglang==X or sglang@PATH")


def _supported(release: str) -> str:
    if _RELEASE.fullmatch(release) is None:
        raise UsageError(
            f"sglang=={release} is not a release: write a version, say sglang=={NEWEST}"
        )
    if release not in RELEASES:
        raise UsageError(
            f"sglang=={release} is not among the supported releases "
            f"({RELEASES[0]} to {NEWEST}): "
            "unpack it yourself and use sglang@PATH, or name one of those"
        )
    return release
