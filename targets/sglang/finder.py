"""Which modules of an SGLang tree are executed, which are left out, and how that is arranged.

Three kinds of `sglang.*` modules: *bare* packages (a path and no code: their own `__init__` pulls in
the engine), *real* modules (the allocators and what they compute with), and everything else, which
is a stand-in. Imports that a real module makes from outside SGLang go through its own `__import__`,
put into its builtins: the packages in `GENUINE` and the standard library are imported as ever, all
others are answered with stand-ins that never enter `sys.modules`. Imports made by torch, Triton or
anyone else are therefore untouched, whatever is or is not installed.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from targets.sglang.stand_in import StandInModule, executing_module

GENUINE = frozenset({"torch", "triton", "numpy", "msgspec", "typing_extensions", "packaging"})

# Releases ask it on CUDA whether the GPU is a confidential one, and know what to do where it is not installed.
GENUINE_IF_INSTALLED = frozenset({"pynvml"})

BARE = frozenset(
    {
        "sglang",
        "sglang.srt",
        "sglang.srt.mem_cache",
        "sglang.kernels",
        "sglang.kernels.ops",
        "sglang.kernels.ops.memory",
    }
)

REAL_AREAS = (
    "sglang.srt.environ",
    "sglang.srt.platforms",
    "sglang.srt.utils",
    "sglang.srt.mem_cache",
    "sglang.kernels.ops.memory",
)

# Inside the areas above: tensors, trees, storage and whatever else owns no allocator. The utils
# among them talk to the network, other processes or the model hub.
DATA_PLANE = (
    "sglang.srt.mem_cache.chunk_cache",
    "sglang.srt.mem_cache.common",
    "sglang.srt.mem_cache.cpp_",
    "sglang.srt.mem_cache.deepseek_v4_",
    "sglang.srt.mem_cache.flush_cache",
    "sglang.srt.mem_cache.hicache_",
    "sglang.srt.mem_cache.hiradix_cache",
    "sglang.srt.mem_cache.hybrid_cache",
    "sglang.srt.mem_cache.memory_pool",
    "sglang.srt.mem_cache.pool_host",
    "sglang.srt.mem_cache.radix_cache",
    "sglang.srt.mem_cache.rust_",
    "sglang.srt.mem_cache.sparsity",
    "sglang.srt.mem_cache.storage",
    "sglang.srt.mem_cache.unified_cache",
    "sglang.srt.mem_cache.unified_memory_pool",
    "sglang.srt.mem_cache.unified_radix_cache",
    "sglang.srt.utils.hf_transformers",
    "sglang.srt.utils.video_decoder",
)


# Stand-ins for whoever imports them, because of what they import themselves; executed apart for what is in them.
ROW_MODULE = "sglang.srt.mem_cache.common"
STATES_MODULE = "sglang.srt.mem_cache.unified_memory_pool"
APART = frozenset({ROW_MODULE, STATES_MODULE})


def is_real(name: str) -> bool:
    """Whether the module with that name is executed from the tree."""
    in_area = any(name == area or name.startswith(area + ".") for area in REAL_AREAS)
    return in_area and not name.startswith(DATA_PLANE)


class OutsideImports:
    """The `__import__` of SGLang's modules: genuine packages pass, the others are stand-ins."""

    def __init__(self, genuine: frozenset[str] = GENUINE) -> None:
        self.genuine = genuine | GENUINE_IF_INSTALLED | {"sglang"} | sys.stdlib_module_names
        self.modules: dict[str, StandInModule] = {}

    def __call__(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002 (the builtin's own names)
        locals: Mapping[str, object] | None = None,  # noqa: A002
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """Same arguments and result as the builtin `__import__`."""
        top = name.partition(".")[0]
        if level > 0 or top in self.genuine:
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        return self._module(name if fromlist else top)

    def _module(self, name: str) -> StandInModule:
        if name not in self.modules:
            self.modules[name] = StandInModule(name)
        return self.modules[name]


class _RealLoader(SourceFileLoader):
    """Executes one module with the outside imports in its builtins."""

    def __init__(self, name: str, path: str, outside: OutsideImports, keep_bytecode: bool) -> None:
        super().__init__(name, path)
        self._builtins = {**vars(builtins), "__import__": outside}
        self._keep_bytecode = keep_bytecode

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Write bytecode into a cache of ours only, never into somebody's checkout."""
        if self._keep_bytecode:
            super().set_data(path, data, _mode=_mode)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code; imports made by its functions later go the same way."""
        module.__dict__["__builtins__"] = self._builtins
        with executing_module():
            super().exec_module(module)


class _StandInLoader(Loader):
    """Makes the module a stand-in; there is nothing to execute."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The stand-in that `sys.modules` will hold."""
        return StandInModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""


class SglangFinder(MetaPathFinder):
    """Answers every `sglang` and `sglang.*` import from one tree, and nothing else.

    Args:
        package: the `sglang` folder itself.
        outside: how its modules import from outside SGLang.
        keep_bytecode: whether compiled modules may be kept beside their sources.
    """

    def __init__(self, package: Path, outside: OutsideImports, keep_bytecode: bool) -> None:
        self.package = package
        self.outside = outside
        self.keep_bytecode = keep_bytecode

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None,  # noqa: ARG002 (the protocol's arguments)
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """The spec of a bare, real or stand-in module; None for a real one with no file."""
        if name.partition(".")[0] != "sglang":
            return None
        place = self.package.joinpath(*name.split(".")[1:])
        if name in BARE:
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = [str(place)]
            return spec
        if not is_real(name):
            return ModuleSpec(name, _StandInLoader(), is_package=True)
        return self._real_spec(name, place)

    @classmethod
    def installed(cls) -> SglangFinder:
        """The finder of the release that this process holds."""
        return next(finder for finder in sys.meta_path if isinstance(finder, cls))

    def execute(self, name: str) -> ModuleType | None:
        """The module with that name, executed whatever `is_real` says; None where the tree has no such file.

        `sys.modules` keeps what it has: who imports the module gets the stand-in as before.
        """
        spec = self._real_spec(name, self.package.joinpath(*name.split(".")[1:]))
        if spec is None or spec.loader is None:
            return None
        module = module_from_spec(spec)
        # A dataclass looks its own module up while it is being defined.
        before = sys.modules.get(name)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        finally:
            if before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = before
        return module

    def _real_spec(self, name: str, place: Path) -> ModuleSpec | None:
        is_package = (place / "__init__.py").is_file()
        file = place / "__init__.py" if is_package else place.with_suffix(".py")
        if not file.is_file():
            return None
        loader = _RealLoader(name, str(file), self.outside, self.keep_bytecode)
        spec = ModuleSpec(name, loader, origin=str(file), is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [str(place)]
        return spec
