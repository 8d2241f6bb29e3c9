"""The unified allocators of one imported release (0.5.20 on), and instances of them with stand-in pools (contract_unified §17).

Guarantees that the classes are the release's own. What they ask of the engine is answered here: one rank, no host cache, the
role that a call needs, a stream that waits for nobody, and the frees of a prefix tree as far as they are no method.
"""

from __future__ import annotations

import importlib
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from oracle.errors import TargetUnavailable
from oracle.geometry import Geometry
from targets.sglang.finder import ROW_MODULE, STATES_MODULE, SglangFinder
from targets.sglang.kernel_stand_in import install
from targets.sglang.release import Release
from targets.sglang.unified_pools import BandKv, BufferStandIn, CompositeKv

_PLACE = "sglang.srt.mem_cache.allocator."
MODULES = {
    "unified-swa": (f"{_PLACE}unified_hybrid_swa", "UnifiedSWATokenToKVPoolAllocator"),
    "unified-mamba-swa": (f"{_PLACE}unified_hybrid_swa", "UnifiedMambaSWATokenToKVPoolAllocator"),
    "unified-mamba": (f"{_PLACE}unified_mamba", "UnifiedMambaTokenToKVPoolAllocator"),
}
BANDS_MODULE = f"{_PLACE}unified_sub_pool"
STATES_CLASS = "UnifiedMambaSlotAllocator"
_TREE_MODULE = ROW_MODULE


class Engine:
    """What the engine would answer. ``prefer_swa``: this process decodes for another one's prefill, or keeps SWA on a host."""

    def __init__(self) -> None:
        self.prefer_swa = False

    def parallel(self) -> SimpleNamespace:
        """One rank."""
        return SimpleNamespace(attn_dcp_size=1, attn_dcp_rank=0)

    def memory(self) -> SimpleNamespace:
        """No host cache."""
        return SimpleNamespace(enable_hierarchical_cache=False, hicache_storage_backend=None)

    def disaggregation(self) -> SimpleNamespace:
        """The role of this process."""
        return SimpleNamespace(disaggregation_mode="decode" if self.prefer_swa else "null")


class _Stream:
    """A stream on which waiting for an event takes no time: what waits is ordered behind it."""

    def wait_event(self, _event: object) -> None:
        """Later work of this stream comes after the event."""

    def wait_stream(self, _stream: object) -> None:
        """Later work of this stream comes after the other's."""


class _Through:
    """A module as another one, with some names of our own."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module = module
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class UnifiedRelease:
    """The unified classes of ``release``, imported once. Raises ``TargetUnavailable`` where it has none (before 0.5.20)."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.engine = Engine()
        try:
            bands = importlib.import_module(BANDS_MODULE)
            modules = {place: importlib.import_module(place) for place, _ in MODULES.values()}
        except ModuleNotFoundError as missing:
            raise TargetUnavailable(
                f"{release.package} has no unified allocators that kvoracle knows: {missing}"
            ) from missing
        self._classes = {
            family: getattr(modules[place], name) for family, (place, name) in MODULES.items()
        }
        self._states_class: Any = None
        for module in (bands, *modules.values()):
            self._answer(module)
        setattr(bands, "torch", _Through(torch, cuda=_Through(torch.cuda, current_stream=_Stream)))  # noqa: B010 (mypy: a module has no such attribute)
        tree = importlib.import_module(_TREE_MODULE)
        setattr(tree, "_evict_until_allocatable", _nothing_more)  # noqa: B010
        setattr(tree, "evict_from_tree_cache", _evict_from_tree)  # noqa: B010
        if not release.has_triton:
            install(bands.MultiEndedAllocator, has_triton=False)

    def _answer(self, module: ModuleType) -> None:
        answers = {
            "get_parallel": self.engine.parallel,
            "get_memory": self.engine.memory,
            "get_disagg": self.engine.disaggregation,
        }
        for name, answer in answers.items():
            if hasattr(module, name):
                setattr(module, name, answer)

    def make(self, geometry: Geometry, kv: dict[Any, BandKv]) -> Any:
        """An allocator of ``geometry`` over the KV of its bands."""
        arguments: dict[str, Any] = {
            "unified_buffer": BufferStandIn(geometry),
            "kvcache": CompositeKv(kv),
            "device": self.release.device,
            "page_size": geometry.page_size,
            "lazy_compaction": geometry.bytes_shared.lazy,
        }
        if geometry.family == "unified-mamba-swa":
            arguments["mamba_kvcache"] = kv["state"]
        if geometry.family != "unified-mamba":
            arguments |= self._caps(geometry)
        return self._classes[geometry.family](**arguments)

    def make_states(self, band: Any, geometry: Geometry) -> Any:
        """The allocator of states above ``band``: all states that the buffer could hold but the reserved ones.

        Raises ``TargetUnavailable`` where the tree lacks its module, as one does that was fetched in part before it was needed.
        """
        if self._states_class is None:
            module = SglangFinder.installed().execute(STATES_MODULE)
            if module is None:
                raise TargetUnavailable(
                    f"{self.release.package} lacks the file of {STATES_MODULE}, where its allocator of "
                    "states is: fetch the release again"
                )
            self._states_class = getattr(module, STATES_CLASS)
        grid = geometry.grids()["state"]
        return self._states_class(band, grid.pages - grid.first, self.release.device)

    def _caps(self, geometry: Geometry) -> dict[str, int]:
        caps = (geometry.size, geometry.size_swa)
        if not any(caps):
            if hasattr(self._classes[geometry.family], "reclaim_plan"):
                return {}
            # 0.5.20 wants caps from its caller: those that later releases work out by themselves.
            caps = caps_of_empty(geometry)
        return {"full_max_total_num_tokens": caps[0], "swa_max_total_num_tokens": caps[1]}


def caps_of_empty(geometry: Geometry) -> tuple[int, int]:
    """What two pools can each hand out while the other is empty, in slots (contract_unified §2)."""
    grids = geometry.grids()
    full, swa = grids["full"], grids["swa"]
    low, high = (full, swa) if geometry.bytes_shared.full_direction == "up" else (swa, full)
    gap = max(0, high.pages * high.page_bytes - low.first * low.page_bytes)
    fits = {
        name: min(gap // grid.page_bytes, grid.pages - grid.first) * grid.page_size
        for name, grid in (("full", full), ("swa", swa))
    }
    return fits["full"], min(fits["swa"], (full.pages - full.first) * geometry.page_size)


def _nothing_more(*_: Any) -> None:
    """A page-sharded pool may have to evict again; these are not."""


def _evict_from_tree(tree: Any, need: int) -> None:
    """What the engine of 0.5.20 does for every allocator: it asks the tree for what each side lacks by itself."""
    if tree is None:
        return
    allocator = tree.token_to_kv_pool_allocator
    sides = ["full_available_size", "swa_available_size"]
    if not hasattr(allocator, sides[1]):
        sides = ["available_size"]
    lacking = [max(0, need - getattr(allocator, side)()) for side in sides]
    if any(lacking):
        names = ("num_tokens", "swa_num_tokens")
        tree.evict_for_alloc(SimpleNamespace(**dict(zip(names, lacking, strict=False))))


def has_unified(release: Release) -> bool:
    """Whether the tree has the modules of the unified allocators; imports nothing."""
    folder = release.package / "srt" / "mem_cache" / "allocator"
    return (folder / "unified_sub_pool.py").is_file()
