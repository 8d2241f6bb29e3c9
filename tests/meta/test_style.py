"""The house rules that ruff does not know: small files, docstrings that exist, names that say something."""

import ast
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("oracle", "strategies", "targets", "campaigns")
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
PYTHON = sorted(
    {*MODULES, *ROOT.glob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")}
)  # fmt: skip
MOST_LINES = 400
MOST_LINES_MEDIAN = 120
MOST_FUNCTION_LINES = 50
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|X[X]X)\b")

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def _public(node: ast.AST) -> Iterator[Documented]:
    """Public functions and classes of a module, and the public methods of the classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Documented) and not child.name.startswith("_"):
            yield child
            if isinstance(child, ast.ClassDef):
                yield from _public(child)


def _undocumented(path: Path) -> list[str]:
    tree = _parse(path)
    module = [] if ast.get_docstring(tree) else [f"{_name(path)}: the module"]
    return module + [
        f"{_name(path)}:{node.lineno} {node.name}"
        for node in _public(tree)
        if not ast.get_docstring(node)
    ]


def _code_lines(function: Function) -> int:
    """Lines of the body, the docstring not counted: a long list of options with its help is not hard to follow."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def _long_functions(path: Path) -> list[str]:
    return [
        f"{_name(path)}:{node.lineno} {node.name}"
        for node in ast.walk(_parse(path))
        if isinstance(node, Function) and _code_lines(node) > MOST_FUNCTION_LINES
    ]


def test_modules_and_what_is_public_in_them_say_what_they_guarantee() -> None:
    bare = [line for path in MODULES for line in _undocumented(path)]
    assert not bare, "without a docstring:\n" + "\n".join(bare)


def test_test_files_and_benchmarks_say_what_they_are_about() -> None:
    bare = [_name(path) for path in PYTHON if not ast.get_docstring(_parse(path))]
    assert not bare, "without a module docstring:\n" + "\n".join(bare)


def test_no_file_is_long() -> None:
    long = [_name(path) for path in PYTHON if path.read_text().count("\n") > MOST_LINES]
    assert not long, f"more than {MOST_LINES} lines:\n" + "\n".join(long)


def test_the_usual_module_is_short() -> None:
    median = statistics.median(path.read_text().count("\n") for path in MODULES)
    assert median <= MOST_LINES_MEDIAN, f"half of the modules have {median} lines or more"


def test_a_function_fits_on_a_page() -> None:
    long = [line for path in MODULES for line in _long_functions(path)]
    assert not long, f"more than {MOST_FUNCTION_LINES} lines of code:\n" + "\n".join(long)


def test_files_are_named_for_their_subject() -> None:
    empty = [_name(path) for path in PYTHON if EMPTY_NAMES & {path.stem, path.parent.name}]
    assert not empty, "names that say nothing:\n" + "\n".join(empty)


def test_nothing_is_left_for_later() -> None:
    left = [_name(path) for path in PYTHON if UNFINISHED.search(path.read_text())]
    assert not left, "unfinished:\n" + "\n".join(left)


def test_each_room_is_typed_and_each_of_its_folders_is_a_package() -> None:
    untyped = [room for room in ROOMS if not (ROOT / room / "py.typed").is_file()]
    assert not untyped, f"rooms without py.typed: {', '.join(untyped)}"
    folders = {path.parent for path in MODULES}
    bare = sorted(_name(folder) for folder in folders if not (folder / "__init__.py").is_file())
    assert not bare, f"folders without __init__.py: {', '.join(bare)}"
