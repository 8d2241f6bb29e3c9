"""Which files of an SGLang tree a hermetic import of its allocators can read.

Found by reading import statements, also those inside functions, and following them through the
modules that `finder` executes. Nothing is run, so it needs neither torch nor the release's imports.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from targets.sglang.finder import APART, BARE, REAL_AREAS, is_real

_ROOTS = (
    "sglang.srt.mem_cache.allocator",
    "sglang.srt.mem_cache.base_swa_memory_pool",
    "sglang.srt.mem_cache.hisparse_memory_pool",
    "sglang.srt.mem_cache.multi_ended_allocator",
    "sglang.srt.mem_cache.swa_memory_pool",
    "sglang.srt.utils.invariants",
)


def may_be_read(member: str) -> bool:
    """Whether a hermetic import may read that file of a wheel (its path, with slashes)."""
    path = PurePosixPath(member)
    if path.suffix != ".py" or path.is_absolute() or ".." in path.parts:
        return False
    if path.parts[0] == "sglang" and len(path.parts) == 2:
        return path.name in ("_version.py", "version.py")
    module = ".".join(path.with_suffix("").parts)
    return any(module == area or module.startswith(area + ".") for area in REAL_AREAS)


def needed_files(package: Path) -> list[Path]:
    """The files that importing every allocator of the `sglang` folder can execute.

    Paths are relative to the folder above it, sorted.
    """
    allocators = package / "srt" / "mem_cache" / "allocator"
    pending = [*_ROOTS, *APART, *(f"{_ROOTS[0]}.{file.stem}" for file in allocators.glob("*.py"))]
    seen: set[str] = set()
    files: set[Path] = set()
    while pending:
        name = pending.pop()
        if name in seen or not name.startswith("sglang."):
            continue
        seen.add(name)
        pending.append(name.rpartition(".")[0])
        file = _file_of(package, name)
        if file is not None:
            files.add(file.relative_to(package.parent))
            pending.extend(_imports(file, name))
    return sorted(files)


def _file_of(package: Path, name: str) -> Path | None:
    if name in BARE or not (is_real(name) or name in APART):
        return None
    place = package.joinpath(*name.split(".")[1:])
    for file in (place / "__init__.py", place.with_suffix(".py")):
        if file.is_file():
            return file
    return None


def _imports(file: Path, name: str) -> Iterator[str]:
    """Every dotted name that an import statement in the file may mean as a module."""
    here = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = here[: len(here) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
