"""How a script gets its allocator: an SGLang release that it imports itself, or one of our own targets.

Guarantees that the lists of modules which a release's import executes or leaves out are those of ``targets.sglang.finder``.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import structs

from campaigns.export_layout import Code, Group, Item, group, inline, layout, literal
from campaigns.export_quantities import OWN_ATTRIBUTES, SGLANG_ATTRIBUTES
from campaigns.export_sections import section
from campaigns.export_shapes import shape_of
from campaigns.export_templates import render_template
from campaigns.export_unified_build import unified_context
from oracle.finding import Finding
from oracle.geometry import BANDS, TWO_POOLS, Family, Geometry, Mode
from targets.sglang.finder import (
    BARE,
    DATA_PLANE,
    GENUINE,
    REAL_AREAS,
    ROW_MODULE,
    STATES_MODULE,
)
from targets.sglang.releases import LOCATIONS, is_specification, parse

"""What a release's calls on rows are made of and its allocators are not."""
NEEDS_RELEASE = (
    "A reproducer exported by kvoracle. It needs torch, msgspec and an SGLang release (with "
    "Triton, where the release computes with Triton kernels on a CPU), and nothing else."
)
NEEDS_PACKAGE = "A reproducer exported by kvoracle. It needs torch and the package kvoracle."
PATH_TEXT = (
    "PATH is an unpacked SGLang wheel or a checkout. Without it the installed SGLang is used, if it "
    "is the release in which the fault was seen, else that release from kvoracle's cache."
)


@dataclass(frozen=True)
class Build:
    """The code of ``build(argument)`` and what a person must know to run it."""

    code: str
    own: bool
    needs: str
    usage: str
    usage_text: str
    attributes: dict[str, str]
    environment: dict[str, str]

    def rule(self, finding: Finding | None) -> str:
        """The section of the contract that the finding's call belongs to."""
        return section(finding.method, finding.family) if finding is not None else ""


def make_build(target: str, geometry: Geometry, mode: Mode, spare: int = 0) -> Build:
    """The build part for ``target``; ``spare``: so many slots more can be asked for. Raises ``UsageError`` for an SGLang specification that is none."""
    context: dict[str, object] = {
        "geometry": geometry,
        "mode": mode,
        "target": target,
        "spare": spare,
        **shape_context(geometry.family),
        "sizes": {
            name: value for name, value in structs.asdict(geometry.family_sizes).items() if value
        },
        "family": geometry.family,
        "sort_meaning": "freed pages are staged, then merged and sorted"
        if geometry.need_sort
        else "freed pages go straight to the free list",
    }
    if not is_specification(target):
        code = render_template("build.own.py.j2", **context)
        return Build(code, True, NEEDS_PACKAGE, "", "", OWN_ATTRIBUTES, {})
    context |= _import_context(target, geometry.family)
    if geometry.family in BANDS:
        template = "build.unified.py.j2"
        context |= unified_context(geometry)
    else:
        template = "build.sglang.py.j2"
        context |= {
            "places": _places(role_of(geometry.family), 8, "find_class("),
            "class_places": _places(role_of(geometry.family), 4, "allocator_class = find_class("),
            "logical_places": _places("hybrid-swa", 8, "find_class("),
            "pool_places": _places("hybrid-pool", 4, "base = find_class("),
        }
    code = render_template(template, **context)
    return Build(
        code,
        False,
        NEEDS_RELEASE,
        " [PATH]",
        PATH_TEXT,
        SGLANG_ATTRIBUTES,
        {"TRITON_INTERPRET": "1"},
    )


def _import_context(target: str, family: Family) -> dict[str, object]:
    """What the template of an import is told: which release, and which of its modules are executed or left out."""
    wanted = parse(target)
    executed = _executed(family)
    left_out = tuple(module for module in DATA_PLANE if module != executed)
    return {
        "wanted": inline(literal(wanted.release)),
        "tree": inline(literal(str(wanted.path) if wanted.path else None)),
        "bare": _laid_out("BARE = ", "{", sorted(BARE), "}"),
        "real": _laid_out("REAL = ", "(", REAL_AREAS, ")"),
        "left_out": _laid_out("LEFT_OUT = ", "(", left_out, ")"),
        "genuine": _laid_out("GENUINE = ", "{", sorted(GENUINE), "}"),
    }


def _executed(family: Family) -> str | None:
    """Which module that other families leave out holds a part of this one."""
    if family == "hybrid-rows":
        return ROW_MODULE
    return STATES_MODULE if "state" in BANDS.get(family, ()) else None


def shape_context(family: Family) -> dict[str, object]:
    """What templates are told of a family. ``hybrid``: FULL slots have peers; ``two_pools``: and the geometry has both sizes."""
    shape = shape_of(family)
    return {
        "hybrid": shape.mapped,
        "two_pools": family in TWO_POOLS,
        "unified": family in BANDS,
        "tiered": shape.tiered,
        "host": shape.host,
        "pools": {shape.label(name): shape.place(name) for name in shape.pools},
        "free": shape.free,
    }


def role_of(family: Family) -> str:
    """The name under which ``targets.sglang.releases.LOCATIONS`` has the family's class."""
    return "hybrid-swa" if family in ("swa-ring", "hybrid-rows") else family


def _places(role: str, indent: int, opening: str) -> str:
    """The arguments of ``find_class``: (module, class) pairs, newest first."""
    pairs: list[Code] = [literal_pair(module, name) for module, name in LOCATIONS[role]]
    suffix = "," if indent == 8 else ""
    lines = layout(group(opening, pairs, ")"), indent, suffix)
    text = "\n".join(lines).strip().removeprefix(opening)
    return text.removesuffix("," if suffix else "").removesuffix(")")


def literal_pair(module: str, name: str) -> Code:
    """``("module", "name")``."""
    return group("(", [f'"{module}"', f'"{name}"'], ")")


def _laid_out(start: str, opening: str, values: object, closing: str) -> str:
    assert isinstance(values, (list, tuple))
    items = tuple(Item(f'"{value}"') for value in values)
    return "\n".join(layout(Group(start + opening, items, closing), 0)).removeprefix(start)
