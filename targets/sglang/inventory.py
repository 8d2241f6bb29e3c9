"""Which allocator classes an SGLang tree defines, and their public methods, found by reading its source.

Guarantees that every class of the allocator modules is listed, and every other class of the cache folder that is called an
allocator or derives from one; nothing is imported. Methods that a class inherits stand at the class that defines them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from oracle.errors import TargetUnavailable

_ALLOCATOR_MODULES = ("allocator", "allocator.py")


class AllocatorClass(Struct, frozen=True):
    """One class: its module under ``srt/mem_cache`` (``allocator/paged.py``), its name, and the public names that it defines.

    ``methods``: functions, properties and names bound to another callable's name, in the order of the source.
    """

    module: str
    name: str
    methods: tuple[str, ...]


def allocator_classes(package: Path) -> list[AllocatorClass]:
    """The allocator classes of the ``sglang`` folder ``package``, ordered by module.

    Raises:
        TargetUnavailable: a file cannot be read as Python.
    """
    root = package / "srt" / "mem_cache"
    found = []
    for file in sorted(root.rglob("*.py")):
        module = file.relative_to(root)
        everything = module.parts[0] in _ALLOCATOR_MODULES
        source = file.read_bytes()
        if not everything and b"Allocator" not in source:
            continue
        for definition in _classes(file, source):
            if everything or _is_allocator(definition):
                found.append(
                    AllocatorClass(
                        module.as_posix(), definition.name, tuple(_public_names(definition))
                    )
                )
    return found


def _classes(file: Path, source: bytes) -> Iterator[ast.ClassDef]:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise TargetUnavailable(f"{file} cannot be read as Python: {error.msg}") from error
    return (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def _is_allocator(definition: ast.ClassDef) -> bool:
    names = [definition.name, *map(ast.unparse, definition.bases)]
    return any("Allocator" in name for name in names)


def _public_names(definition: ast.ClassDef) -> Iterator[str]:
    seen: set[str] = set()
    for node in definition.body:
        for name in _bound(node):
            if not name.startswith("_") and name not in seen:
                seen.add(name)
                yield name


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute | ast.Call):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []
