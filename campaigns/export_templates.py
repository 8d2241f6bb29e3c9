"""The exporter's Jinja2 environment, and the small helper functions that a script may need.

Guarantees that an unknown variable in a template is an error, and that a script carries only the helpers that it calls.
"""

from __future__ import annotations

import ast
import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

HELPERS = (
    "caller_error", "raising", "pools_of", "lists", "staged", "staged_count", "listed_pages", "group_of",
    "page_pile", "prepared", "class_pages", "classes", "class_staged", "request_pool", "row_request", "row_layer", "new_pages", "state_of", "write", "watch_invariants", "counters", "watchdog",
)  # fmt: skip
IMPORTS = {
    "ABCMeta": "abc",
    "ModuleSpec": "importlib.machinery",
    "ModuleType": "types",
    "Path": "pathlib",
    "SimpleNamespace": "types",
    "SourceFileLoader": "importlib.machinery",
    "Timer": "threading",
    "builtins": "",
    "cache": "functools",
    "copy": "copy",
    "contextmanager": "contextlib",
    "extract_tb": "traceback",
    "find_spec": "importlib.util",
    "import_module": "importlib",
    "json": "",
    "partial": "functools",
    "os": "",
    "re": "",
    "signature": "inspect",
    "spec_from_file_location": "importlib.util",
    "suppress": "contextlib",
    "sys": "",
}
"""The names that a script may need from the standard library, and their modules ("" where the name is the module)."""


IMPORTS_HERE = "# imports"
"""The line of a template that the import statements replace."""


@cache
def environment() -> Environment:
    """What is rendered is Python and Markdown, not HTML: nothing is escaped."""
    return Environment(
        loader=PackageLoader("campaigns"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )


def render_template(name: str, **context: object) -> str:
    """The template ``name`` rendered with ``context``."""
    return environment().get_template(name).render(**context)


def law_template(law: str, pool: str, family: str, part: str = "") -> str:
    """The snippet for a law: that of the family where it has one of its own, else that of the pool, else the common one."""
    place = pool or "whole"
    names = [f"law.{law}.{which}{part}.py.j2" for which in (f"{place}.{family}", family, place)] + [
        f"law.{law}{part}.py.j2"
    ]
    found: str = environment().select_template(names).name or ""
    return found


def helpers_for(text: str, *, family: str, **context: object) -> list[str]:
    """The helper functions that ``text`` calls, and those that they call, in order; a family may have its own form of one."""
    rendered = {}
    for name in HELPERS:
        names = (f"helper.{name}.{family}.py.j2", f"helper.{name}.py.j2")
        template = environment().select_template(names)
        rendered[name] = template.render(**context).rstrip("\n")
    wanted: set[str] = set()
    pending = [text]
    while pending:
        called = set(re.findall(r"\w+", pending.pop())) & rendered.keys() - wanted
        wanted |= called
        pending += [rendered[name] for name in called]
    return [rendered[name] for name in HELPERS if name in wanted]


def imports_for(text: str) -> str:
    """The import statements of the standard library that ``text`` needs, sorted as ruff sorts them."""
    names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    plain: list[str] = []
    by_module: dict[str, list[str]] = {}
    for name in sorted(names & IMPORTS.keys()):
        module = IMPORTS[name]
        if module:
            by_module.setdefault(module, []).append(name)
        else:
            plain.append(f"import {name}")
    return "\n".join(
        plain
        + [
            f"from {module} import {', '.join(found)}"
            for module, found in sorted(by_module.items())
        ]
    )
