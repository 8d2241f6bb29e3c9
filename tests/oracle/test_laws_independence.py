"""The laws and the prediction know nothing of each other, so no mistake hides in both."""

from __future__ import annotations

import ast
from pathlib import Path

import oracle.laws

FORBIDDEN = (
    "oracle.reference",
    "oracle.unified.",
    "oracle.prediction",
    "oracle.contract",
    "targets",
    "strategies",
)
"""Prefixes. ``oracle.unified`` is the prediction too; ``oracle.unified_observation`` is what both look at."""


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def _is_forbidden(name: str) -> bool:
    return name == "oracle.unified" or name.startswith(FORBIDDEN)


def test_the_prediction_of_unified_allocators_is_forbidden_and_what_it_looks_like_is_not() -> None:
    assert _is_forbidden("oracle.unified")
    assert _is_forbidden("oracle.unified.band")
    assert not _is_forbidden("oracle.unified_observation")


def test_the_laws_import_no_prediction() -> None:
    files = list(Path(oracle.laws.__file__).parent.rglob("*.py"))
    assert len(files) > 5
    for path in files:
        wrong = {name for name in _imports(path) if _is_forbidden(name)}
        assert not wrong, f"{path.name} imports {wrong}"
