"""The row-level code of one imported release, called on a stand-in of a request (contract_paged_swa §11).

Guarantees that the functions are the release's own, executed from its tree. What they read of a request and of the table of
requests is ours: the record of a release belongs to its scheduler, which no hermetic import can execute.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from oracle.errors import TargetUnavailable
from targets.rows.calls import ROW_INDEX, RowCall
from targets.sglang.finder import ROW_MODULE, SglangFinder

if TYPE_CHECKING:
    from oracle.call import Call
    from targets.call_arguments import Arguments

EVICT = "free_swa_out_of_window_slots"
SEGMENTS = "free_kv_row_segments"
ROW = "free_kv_row"
_TREE = "sglang.srt.mem_cache.base_prefix_cache"
_HOOKS = ("maybe_evict_dsv4_state_on_swa",)
"""What 0.5.14 to 0.5.17 tell the state pools of another accelerator, which are not there."""


class KVRecord:
    """One request and what it keeps of its row, under the names of every release (§11.1).

    ``kv`` is the record itself; up to 0.5.18 a request without a row has none (``kept`` says that it has one all the same).
    """

    def __init__(self, call: Call, *, kept: bool, swa: object) -> None:
        cursors = call.cursors
        self.req_pool_idx = ROW_INDEX
        self.holds_kv = bool(call.slots)
        self.cache_protected_len = cursors.protected
        self.swa_evict_floor = cursors.floor
        self.swa_evicted_seqlen = cursors.evicted
        self.kv_committed_len = cursors.committed
        self.kv_allocated_len = cursors.allocated
        self._kept = kept
        self._swa = swa

    @property
    def kv(self) -> KVRecord | None:
        """What the request keeps of its row."""
        return self if self.holds_kv or self._kept else None

    def get_evicted_seqlen(self, component: object) -> int:
        """The cursor of what was evicted. Raises LookupError for a component that has none here."""
        self._check(component)
        return self.swa_evicted_seqlen

    def set_evicted_seqlen(self, component: object, length: int) -> None:
        """Move that cursor."""
        self._check(component)
        self.swa_evicted_seqlen = length

    def swa_dead_lo(self, page_size: int) -> int:
        """Where what the window evicted begins."""
        if self.swa_evict_floor <= self.cache_protected_len:
            return self.cache_protected_len
        return -(-self.swa_evict_floor // page_size) * page_size

    def _check(self, component: object) -> None:
        if component is not self._swa:
            raise LookupError(f"only the SWA cursor is kept, not that of {component}")


class RowRelease:
    """The functions of the release that this process holds. Raises ``TargetUnavailable`` where it has none (before 0.5.14)."""

    def __init__(self) -> None:
        finder = SglangFinder.installed()
        common = finder.execute(ROW_MODULE)
        if common is None or not hasattr(common, EVICT):
            raise TargetUnavailable(f"{finder.package} has no row-level code that kvoracle knows")
        for hook in _HOOKS:
            if hasattr(common, hook):
                setattr(common, hook, _nothing_there)
        self.common = common
        self.tree_class: Any = importlib.import_module(_TREE).BasePrefixCache
        if hasattr(self.tree_class, ROW):
            # The tree imports these when it needs them, and would get stand-ins.
            stand_in = importlib.import_module(ROW_MODULE)
            for name in (SEGMENTS, "coalesce_ranges"):
                if hasattr(common, name):
                    setattr(stand_in, name, getattr(common, name))

    def caller(self, allocator: Any) -> ReleaseCaller:
        """Who makes the calls on rows over ``allocator``."""
        return ReleaseCaller(self.common, self.tree_class, allocator)


class ReleaseCaller:
    """Makes the calls through a release's functions (``targets.rows.calls.RowCaller``)."""

    def __init__(self, common: ModuleType, tree_class: Any, allocator: Any) -> None:
        self._common = common
        self._tree_class = tree_class
        self._allocator = allocator

    def prepare(self, call: Call, arguments: Arguments) -> RowCall:
        """``call`` on a record of its own. An argument that the release's function does not have is left out."""
        (given,) = arguments.positional
        if call.method == "free_row_segments":
            bounds = {"swa_evicted_seqlen": call.evicted, "swa_dead_lo": call.dead_lo}
            free = getattr(self._common, SEGMENTS)
            named = _known(free, bounds)
            return RowCall(lambda: free(self._allocator, given, **named), lambda: call.evicted)
        record = KVRecord(
            call,
            kept=hasattr(self._common, SEGMENTS),
            swa=getattr(getattr(self._common, "ComponentType", None), "SWA", None),
        )
        pool = SimpleNamespace(req_to_token=given)
        if call.method == "free_row":
            tree = SimpleNamespace(
                req_to_token_pool=pool, token_to_kv_pool_allocator=self._allocator
            )
            free_row, ranges = getattr(self._tree_class, ROW), list(call.ranges)
            return RowCall(
                lambda: free_row(tree, record, ranges), lambda: record.swa_evicted_seqlen
            )
        evict = getattr(self._common, EVICT)
        named = _known(evict, self._eviction(call, pool))
        return RowCall(
            lambda: evict(record, call.pre_len, **named), lambda: record.swa_evicted_seqlen
        )

    def _eviction(self, call: Call, pool: object) -> dict[str, Any]:
        return {
            "sliding_window_size": call.window,
            "page_size": self._allocator.page_size,
            "req_to_token_pool": pool,
            "token_to_kv_pool_allocator": self._allocator,
            "supports_prefix_sharing": call.sharing,
            # The same question up to 0.5.21, and what 0.5.14 asks instead of it.
            "is_chunk_cache": not call.sharing,
            "drop_page_margin": not call.sharing,
            "retain_floor": call.retain_floor,
            "eviction_interval": call.interval,
        }


def row_methods(package: Path) -> frozenset[str]:
    """Which of the calls on rows the ``sglang`` folder ``package`` has a function for; nothing is imported."""
    folder = package / "srt" / "mem_cache"
    functions = set(_functions(folder / "common.py", "")) | set(
        _functions(folder / "base_prefix_cache.py", "BasePrefixCache")
    )
    names = {EVICT: "evict_out_of_window", SEGMENTS: "free_row_segments", ROW: "free_row"}
    return frozenset(method for name, method in names.items() if name in functions)


def _functions(file: Path, owner: str) -> Iterator[str]:
    """The functions of a module, or the methods of its class ``owner``."""
    if not file.is_file():
        return
    body: list[ast.stmt] = ast.parse(file.read_bytes()).body
    if owner:
        classes = [node for node in body if isinstance(node, ast.ClassDef) and node.name == owner]
        body = [node for found in classes for node in found.body]
    yield from (node.name for node in body if isinstance(node, ast.FunctionDef))


def _known(function: Callable[..., Any], offered: dict[str, Any]) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters
    return {name: value for name, value in offered.items() if name in parameters}


def _nothing_there(*_: object) -> None:
    """There are no such state pools."""
