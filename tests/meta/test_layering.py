"""The import table of the four rooms, checked on every import statement, wherever it stands.

Guarantees nothing about a module name that is put together at run time; a literal one is checked.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("oracle", "strategies", "targets", "campaigns")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
IMPORTING_CALLS = {"import_module", "__import__", "find_spec", "importorskip"}


def _distribution(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None, f"pyproject.toml lists a requirement without a name: {requirement!r}"
    return match.group().lower()


RUNTIME = {_distribution(requirement) for requirement in PROJECT["dependencies"]}
EXTRAS = {
    _distribution(requirement)
    for name in ("torch", "triton")
    for requirement in PROJECT["optional-dependencies"][name]
}
MAY_IMPORT = {
    "oracle": {"msgspec"},
    "strategies": {"oracle", "hypothesis", "msgspec"},
    "targets": {"oracle", "torch", "triton", "msgspec", "packaging", "platformdirs"},
    "campaigns": {"oracle", "strategies", "targets"} | RUNTIME | EXTRAS,
}
DYNAMIC_ONLY = {"targets": {"sglang"}}
"""What a room may import by name at run time only: it is no dependency, but the code under test."""


def _modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def _imports(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """Line, top-level package, and whether it is imported by a call, of each absolute import in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name.split(".")[0], False
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, str(node.module).split(".")[0], False
        elif isinstance(node, ast.Call) and node.args:
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            first = node.args[0]
            literal = isinstance(first, ast.Constant) and isinstance(first.value, str)
            if name in IMPORTING_CALLS and literal:
                yield node.lineno, first.value.split(".")[0], True


def _forbidden(room: str, path: Path) -> list[str]:
    allowed = MAY_IMPORT[room] | {room} | set(sys.stdlib_module_names)
    by_name = allowed | DYNAMIC_ONLY.get(room, set())
    tree = ast.parse(path.read_text(), str(path))
    return [
        f"{path.relative_to(ROOT)}:{line} imports {package}"
        for line, package, dynamic in _imports(tree)
        if package not in (by_name if dynamic else allowed)
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may_know(room: str) -> None:
    modules = _modules(room)
    assert modules, f"{room}/ has no modules, so nothing was checked"
    found = [line for path in modules for line in _forbidden(room, path)]
    known = ", ".join(sorted(MAY_IMPORT[room]))
    assert not found, f"{room} may import the standard library and {known}:\n" + "\n".join(found)


def test_everything_that_campaigns_import_is_a_dependency_not_a_test_extra() -> None:
    test_only = {
        _distribution(requirement) for requirement in PROJECT["optional-dependencies"]["test"]
    }
    assert not MAY_IMPORT["campaigns"] & test_only


def test_third_party_packages_that_the_rooms_name_are_installed_with_kvoracle() -> None:
    rooms_and_library = set(ROOMS) | set(sys.stdlib_module_names)
    for room in ROOMS:
        for path in _modules(room):
            for line, package, dynamic in _imports(ast.parse(path.read_text())):
                known = package in rooms_and_library | RUNTIME | EXTRAS
                under_test = dynamic and package in DYNAMIC_ONLY.get(room, set())
                where = f"{path.relative_to(ROOT)}:{line}"
                assert known or under_test, f"{where} imports {package}, which pyproject.toml lacks"


def test_what_releases_import_for_real_is_installed_with_kvoracle() -> None:
    from targets.sglang.finder import GENUINE

    # torch brings typing_extensions along.
    lost = set(GENUINE) - RUNTIME - EXTRAS - {"typing_extensions"}
    assert not lost, f"a release cannot be imported where only kvoracle is: {', '.join(lost)}"


@pytest.mark.parametrize(
    ("source", "packages"),
    [
        ("import torch.nn", {"torch"}),
        ("def late():\n    from torch import nn", {"torch"}),
        ("if TYPE_CHECKING:\n    import torch", {"torch"}),
        ("importlib.import_module('torch.nn')", {"torch"}),
        ("__import__('torch')", {"torch"}),
        ("from . import sibling", set()),
        ("import_module(name)", set()),
    ],
)
def test_the_walk_sees_imports_wherever_they_stand(source: str, packages: set[str]) -> None:
    assert {package for _, package, _ in _imports(ast.parse(source))} == packages
