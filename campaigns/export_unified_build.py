"""How a script gets a unified allocator of a release, and which functions of the script know its parts.

Guarantees that the geometry's numbers are those of contract_unified §2, and that a script carries only the functions that it calls.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from campaigns.export_calls import assigned
from campaigns.export_layout import inline, layout, literal
from campaigns.export_templates import render_template
from oracle.geometry import BANDS, WITH_PEERS
from targets.sglang.finder import STATES_MODULE
from targets.sglang.unified_pools import RELEASE_NAMES, BufferStandIn
from targets.sglang.unified_release import MODULES, STATES_CLASS, caps_of_empty
from targets.sglang.unified_state import PAIR_QUERIES, PEERED_QUERIES

if TYPE_CHECKING:
    from oracle.geometry import Geometry


def unified_context(geometry: Geometry) -> dict[str, object]:
    """What ``build.unified.py.j2`` is rendered with beside what every build has."""
    grids = geometry.grids()
    stand_in = BufferStandIn(geometry)
    module, class_name = MODULES[geometry.family]
    caps: tuple[int, int] | None = None
    if geometry.family in WITH_PEERS:
        given = (geometry.size, geometry.size_swa)
        caps = given if any(given) else caps_of_empty(geometry)
    names = [RELEASE_NAMES[name] for name in grids]
    sink = max(
        *(grid.entry_bytes for grid in grids.values()),
        *(grid.page_bytes for name, grid in grids.items() if name != "state"),
    )
    return {
        "family": geometry.family,
        "buffer": geometry.bytes_shared,
        "grids": grids,
        "sink": sink,
        "entries": inline(literal({name: stand_in.spec(name).entry_bytes() for name in names})),
        "directions": inline(literal({name: stand_in.spec(name).grow_direction for name in names})),
        "module": module,
        "class_name": class_name,
        "caps": caps,
        "caps_optional": not (geometry.size or geometry.size_swa),
    }


def unified_functions(text: str, geometry: Geometry, *, own: bool) -> list[str]:
    """The functions, classes and tables that ``text`` needs, and those that they need, in order."""
    queries = PEERED_QUERIES if "swa" in BANDS[geometry.family] else PAIR_QUERIES
    context = {
        "own": own,
        "peered": geometry.family in WITH_PEERS,
        "states": "state" in BANDS[geometry.family],
        "states_module": STATES_MODULE,
        "states_class": STATES_CLASS,
        "queries": "\n".join(layout(assigned("QUERIES", literal(list(queries))), 0)),
    }
    kind = "own" if own else "sglang"
    source = "\n\n".join(
        render_template(f"unified.{name}.py.j2", **context) for name in ("common", kind)
    )
    parts = _parts(source)
    wanted: set[str] = set()
    pending = [re.sub(r"(?m)#.*$", "", text)]
    while pending:
        called = set(re.findall(r"\w+", pending.pop())) & parts.keys() - wanted
        wanted |= called
        pending += [parts[name] for name in called]
    return [part for name, part in parts.items() if name in wanted]


def _parts(source: str) -> dict[str, str]:
    """The text of each definition at the top of ``source``, with the comment in its line, by name."""
    lines = source.split("\n")
    parts: dict[str, str] = {}
    for node in ast.parse(source).body:
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            parts[node.name] = text
        else:
            assert isinstance(node, ast.Assign)
            assert isinstance(node.targets[0], ast.Name)
            parts[node.targets[0].id] = text
    return parts
