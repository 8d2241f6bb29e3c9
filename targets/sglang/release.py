"""One imported release: its allocator classes, and instances of them with stand-in pools.

The classes are the release's own, untouched. Constructor arguments differ between releases; they
are passed by name to whatever the class's signature asks for.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from oracle.errors import TargetUnavailable
from targets.sglang.kernel_choice import STAND_IN
from targets.sglang.kernel_stand_in import install
from targets.sglang.kv_pools import SubPool, pool_class_over
from targets.sglang.releases import LOCATIONS

KV_DTYPE = torch.float16


class Release:
    """The allocators of one SGLang tree, as imported in this process.

    Attributes:
        package: the `sglang` folder.
        version: what the tree says it is, None for a checkout that says nothing.
        device: "cpu" or "cuda".
        has_triton: whether the release was imported with Triton.
        kernels: how paged allocation computes its slots: native, stand-in, interpreter, gpu or none.
        token_allocator_class, paged_allocator_class, swa_allocator_class: the release's classes.
        pure_swa_allocator_class: the same, None before 0.5.15.
        hybrid_pool_class: the class that the KV pool of a hybrid allocator must be an instance of.
        invariants_module: `srt.utils.invariants`, None where the allocators do not use it.
    """

    def __init__(
        self, package: Path, version: str | None, device: str, has_triton: bool, kernels: str
    ) -> None:
        self.package = package
        self.version = version
        self.device = device
        self.has_triton = has_triton
        self.token_allocator_class = self._class("token")
        self.paged_allocator_class = self._class("paged")
        self.swa_allocator_class = self._class("hybrid-swa")
        self.pure_swa_allocator_class = self.optional_class("pure-swa")
        self.hybrid_pool_class = self._class("hybrid-pool")
        swa_module = importlib.import_module(self.swa_allocator_class.__module__)
        self.invariants_module: ModuleType | None = (
            importlib.import_module("sglang.srt.utils.invariants")
            if hasattr(swa_module, "expect")
            else None
        )
        self.kernels = self._kernels(kernels)

    def _kernels(self, chosen: str) -> str:
        """How paged allocation computes its slots, given what was chosen for releases that do it with Triton."""
        uses_triton = getattr(self.make_paged(8, 4), "use_triton_kernels", True)
        if not uses_triton:
            return "native"
        if chosen == STAND_IN:
            installed = install(self.paged_allocator_class, has_triton=self.has_triton)
            return STAND_IN if installed else "none"
        return chosen if self.has_triton else "none"

    def optional_class(self, role: str) -> Any:
        """The class with that role, None if no known module of the tree has it."""
        for module_name, class_name in LOCATIONS[role]:
            try:
                module = importlib.import_module(module_name)
            except ModuleNotFoundError as error:
                if error.name is not None and module_name.startswith(error.name):
                    continue
                raise
            found = getattr(module, class_name, None)
            if found is not None:
                return found
        return None

    def _class(self, role: str) -> Any:
        found = self.optional_class(role)
        if found is None:
            places = ", ".join(f"{module}.{name}" for module, name in LOCATIONS[role])
            raise TargetUnavailable(
                f"{self.package} has no {role} allocator that kvoracle knows: looked for {places}"
            )
        return found

    def make_token(self, size: int, *, need_sort: bool = False) -> Any:
        """A token allocator (page size 1) of `size` slots."""
        return construct(
            self.token_allocator_class,
            size=size,
            dtype=KV_DTYPE,
            device=self.device,
            kvcache=SubPool(size, 1, KV_DTYPE, self.device),
            need_sort=need_sort,
        )

    def make_paged(self, size: int, page_size: int, *, need_sort: bool = False) -> Any:
        """A paged allocator of `size` slots in pages of `page_size`."""
        return construct(
            self.paged_allocator_class,
            size=size,
            page_size=page_size,
            dtype=KV_DTYPE,
            device=self.device,
            kvcache=SubPool(size, page_size, KV_DTYPE, self.device),
            need_sort=need_sort,
        )

    def make_swa(
        self, size_full: int, size_swa: int, page_size: int, *, need_sort: bool = False
    ) -> Any:
        """A hybrid-swa allocator with `size_full` FULL and `size_swa` SWA slots."""
        return construct(
            self.swa_allocator_class,
            size=size_full,
            size_swa=size_swa,
            page_size=page_size,
            dtype=KV_DTYPE,
            device=self.device,
            kvcache=self.hybrid_pool(size_full, size_swa, page_size),
            need_sort=need_sort,
        )

    def make_pure_swa(self, size_swa: int, *, need_sort: bool = False) -> Any:
        """A pure-swa allocator (page size 1) of `size_swa` slots.

        Raises:
            TargetUnavailable: the release has none (before 0.5.15).
        """
        if self.pure_swa_allocator_class is None:
            raise TargetUnavailable(f"SGLang {self.version} has no pure-swa allocator")
        return construct(
            self.pure_swa_allocator_class,
            size=size_swa,
            size_swa=size_swa,
            page_size=1,
            dtype=KV_DTYPE,
            device=self.device,
            kvcache=self.hybrid_pool(size_swa, size_swa, 1),
            need_sort=need_sort,
        )

    def hybrid_pool(self, size_full: int, size_swa: int, page_size: int) -> Any:
        """A stand-in for the KV pool of a hybrid allocator, an instance of `hybrid_pool_class`."""
        full = SubPool(size_full, page_size, KV_DTYPE, self.device)
        swa = SubPool(size_swa, page_size, KV_DTYPE, self.device)
        return pool_class_over(self.hybrid_pool_class)(full, swa)


def takes(allocator_class: Any, argument: str) -> bool:
    """Whether the class's constructor has an argument of that name (say `need_sort`)."""
    return argument in inspect.signature(allocator_class.__init__).parameters


def construct(allocator_class: Any, **offered: object) -> Any:
    """An instance, given those of the offered arguments that its constructor has.

    Raises:
        TargetUnavailable: it requires an argument that is not among them.
    """
    parameters = dict(inspect.signature(allocator_class.__init__).parameters)
    del parameters["self"]
    missing = [
        name
        for name, parameter in parameters.items()
        if name not in offered
        and parameter.default is inspect.Parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if missing:
        raise TargetUnavailable(
            f"{allocator_class.__name__} of this tree requires {', '.join(missing)}, "
            "which kvoracle does not know how to give it"
        )
    return allocator_class(**{name: offered[name] for name in parameters if name in offered})
