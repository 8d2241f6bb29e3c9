"""The laws and the prediction know nothing of each other, so no mistake hides in both."""

from __future__ import annotations

import ast
from pathlib import Path

import oracle.laws

FORBIDDEN = ("oracle.reference", "oracle.prediction", "oracle.contract", "targets", "strategies")


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def test_the_laws_import_no_prediction() -> None:
    files = list(Path(oracle.laws.__file__).parent.rglob("*.py"))
    assert len(files) > 5
    for path in files:
        wrong = {name for name in _imports(path) if name.startswith(FORBIDDEN)}
        assert not wrong, f"{path.name} imports {wrong}"
