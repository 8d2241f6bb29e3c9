"""The allocators of one SGLang release, checkout or installation as a target.

Guarantees that only the release's own code acts: the adapter builds its objects, calls their methods and reads their
fields. One process holds one release (``targets.sglang.hermetic``).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch

from oracle.call import Call
from oracle.contract import Contract
from oracle.errors import UsageError
from oracle.geometry import BANDS, FAMILIES, FURTHER_FAMILIES, Geometry, Mode
from oracle.observation import Outcome
from oracle.unified_observation import AnySnapshot
from targets.driver import Reach, perform
from targets.hits import HitRecorder
from targets.mode import switched
from targets.request_slots import RequestSlots
from targets.rows.methods import ROWS_FAMILY
from targets.sglang.contracts import contract_of
from targets.sglang.further_release import further_class, make_further
from targets.sglang.further_state import further_snapshot
from targets.sglang.hermetic import import_release
from targets.sglang.locate import locate
from targets.sglang.override import find_override, overridden, read_override
from targets.sglang.recognise import Recognition, recognise
from targets.sglang.release import Release
from targets.sglang.releases import parse
from targets.sglang.row_release import RowRelease
from targets.sglang.signal_probe import watch
from targets.sglang.state import release_snapshot
from targets.sglang.unified_allocator import UnifiedAllocator
from targets.sglang.unified_release import UnifiedRelease, has_unified

_HYBRID = ("hybrid-swa", ROWS_FAMILY)
ANNOUNCED = frozenset({"unified-swa", "unified-mamba-swa", "unified-mamba"})
"""The unified families that releases are known to be drivable in."""

WITH_INVARIANTS = frozenset({*_HYBRID, "swa-ring", "hisparse-dsv4"})
"""The families of fixed pools whose allocators declare invariants."""


def make_sglang_target(
    specification: str,
    *,
    device: str = "cpu",
    cache: Path | None = None,
    contract_file: Path | None = None,
) -> SglangTarget:
    """Import what ``specification`` names (``sglang``, ``sglang==X``, ``sglang@PATH``) and put it behind the protocol.

    ``contract_file`` outranks what is recognised of a checkout or an installation (``override``); None looks for
    ``kvoracle.toml`` in the checkout or beside it. Raises ``TargetUnavailable`` when it cannot be had or imported,
    ``UsageError`` on a bad file, ``KvoracleError`` when this process holds another.
    """
    parsed = parse(specification)
    if contract_file is not None and parsed.release is not None:
        raise UsageError(
            f"{specification} has its contract in a table: {contract_file} is not read"
        )
    file = contract_file or (find_override(parsed.path) if parsed.path is not None else None)
    override = read_override(file) if file is not None else None
    package = locate(parsed, cache)
    release = import_release(package, device=device, keep_bytecode=parsed.release is not None)
    if parsed.release is not None:
        return SglangTarget(specification, release)
    recognition = recognise(release)
    if override is not None:
        recognition = overridden(recognition, override)
    return SglangTarget(specification, release, recognition)


class SglangTarget:
    """One release behind the ``Target`` protocol; ``allocator`` is the release's own object under test.

    ``notes`` are sentences on what was assumed of a checkout, for a person to read; a release has none.
    """

    def __init__(self, name: str, release: Release, recognition: Recognition | None = None) -> None:
        self.name = name
        self.notes: tuple[str, ...] = recognition.notes if recognition is not None else ()
        self.versions = {
            "sglang": release.version or "unknown",
            "torch": str(torch.__version__),
            "kernels": release.kernels,
        }
        if recognition is not None:
            self.versions["assumed"] = f"contract of {recognition.version}"
        self.allocator: Any = None
        self._recognition = recognition
        self._release = release
        self._recorder = HitRecorder(has_counter=release.invariants_module is not None)
        self._without_counter = HitRecorder(has_counter=False)
        self._geometry: Geometry | None = None
        self._switched: AbstractContextManager[None] = nullcontext()
        self._reach = Reach()
        self._row_release: RowRelease | None = None
        self._unified_release: UnifiedRelease | None = None
        self._unified: UnifiedAllocator | None = None
        watch(release, self._recorder)

    def contract(self, family: str) -> Contract | None:
        """The contract of this release for ``family``; None where it has no such allocator."""
        if self._recognition is not None:
            return self._recognition.contracts.get(family)
        if family in (*FAMILIES, ROWS_FAMILY):
            return contract_of(self._release, family)
        known = family in ANNOUNCED and has_unified(self._release)
        if family in FURTHER_FAMILIES:
            known = further_class(self._release, family) is not None
        return contract_of(self._release, family) if known else None

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        """Build a new allocator. Raises ``UsageError`` on an impossible geometry."""
        geometry.check()
        contract = self.contract(geometry.family)
        if contract is not None and contract.power_of_two_pages:
            size = geometry.page_size
            if size & (size - 1):
                raise UsageError(f"{self.name} takes page sizes that are powers of two, not {size}")
        self._geometry, self._reach = geometry, Reach()
        if geometry.family == "swa-ring":
            self._reach.request_slots = RequestSlots(geometry.family_sizes.request_slots)
        # Without invariants nothing is read from the environment after the construction.
        self._switched = switched(mode) if self._release.invariants_module else nullcontext()
        with switched(mode):
            if geometry.family in BANDS:
                self._unified = self._build_unified(geometry)
                self.allocator = self._unified.allocator
            else:
                self._unified = None
                self.allocator = self._build(geometry)
        if geometry.family == ROWS_FAMILY:
            self._row_release = self._row_release or RowRelease()
            self._reach.rows = self._row_release.caller(self.allocator)

    def apply(self, call: Call) -> Outcome:
        """Perform the call under the mode of the last reset."""
        assert self._geometry is not None
        if self._unified is not None:
            with self._switched:
                return self._unified.apply(call)
        evaluated = self._geometry.family in WITH_INVARIANTS
        recorder = self._recorder if evaluated else self._without_counter
        with self._switched:
            return perform(
                self.allocator, call, self._release.device, observe=recorder, reach=self._reach
            )

    def snapshot(self) -> AnySnapshot:
        """The whole state, read without changing it."""
        assert self._geometry is not None
        if self._unified is not None:
            return self._unified.snapshot()
        family = self._geometry.family
        if family in FURTHER_FAMILIES:
            return further_snapshot(self.allocator, family, self._reach.request_slots)
        return release_snapshot(self.allocator, hybrid=family in _HYBRID)

    def _build_unified(self, geometry: Geometry) -> UnifiedAllocator:
        if self._unified_release is None:
            self._unified_release = UnifiedRelease(self._release)
            watch(self._release, self._recorder)
        return UnifiedAllocator(self._unified_release, geometry, self._recorder)

    def _build(self, geometry: Geometry) -> Any:
        if geometry.family in FURTHER_FAMILIES:
            return make_further(self._release, geometry, self._reach.request_slots)
        size, need_sort = geometry.size, geometry.need_sort
        if geometry.family == "token":
            return self._release.make_token(size, need_sort=need_sort)
        if geometry.family == "paged":
            return self._release.make_paged(size, geometry.page_size, need_sort=need_sort)
        return self._release.make_swa(
            size, geometry.size_swa, geometry.page_size, need_sort=need_sort
        )
