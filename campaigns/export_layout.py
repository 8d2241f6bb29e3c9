"""Python source laid out as ruff's formatter would: lines of at most 88 columns, exploded with trailing commas.

Guarantees that what ``layout`` gives stays as it is under ``ruff format``, also at a longer line length.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 88
INDENT = 4
SHORTEST_RUN = 4


@dataclass(frozen=True)
class Item:
    """One argument or element, and the comment that explains it."""

    code: Code
    note: str = ""


@dataclass(frozen=True)
class Group:
    """Something in brackets: ``opening`` ends with the bracket, ``closing`` begins with it."""

    opening: str
    items: tuple[Item, ...]
    closing: str


Code = str | Group


def group(opening: str, codes: Sequence[Code], closing: str) -> Group:
    """A group of items without comments."""
    return Group(opening, tuple(Item(code) for code in codes), closing)


def inline(code: Code) -> str:
    """The code on one line, without comments."""
    if isinstance(code, str):
        return code
    return code.opening + ", ".join(inline(item.code) for item in code.items) + code.closing


def layout(code: Code, indent: int, suffix: str = "") -> list[str]:
    """The lines of a statement or an element; ``suffix`` follows its last bracket."""
    pad = " " * indent
    line = pad + inline(code) + suffix
    if isinstance(code, str) or not code.items or (len(line) <= WIDTH and not _has_notes(code)):
        return [line]
    lines = [pad + code.opening]
    for item in code.items:
        inner = layout(item.code, indent + INDENT, ",")
        if item.note and len(inner) == 1 and len(inner[0]) + len(item.note) + 4 <= WIDTH:
            inner = [f"{inner[0]}  # {item.note}"]
        elif item.note:
            inner = [*comment(item.note, indent + INDENT), *inner]
        lines += inner
    return [*lines, pad + code.closing + suffix]


def comment(text: str, indent: int) -> list[str]:
    """The text as comment lines."""
    pad = " " * indent + "# "
    return textwrap.wrap(
        text, WIDTH, initial_indent=pad, subsequent_indent=pad, break_on_hyphens=False
    )


def numbers(values: Sequence[int]) -> Group:
    """A list display of ints; runs are written as ranges, repeats as products."""
    codes: list[Code] = []
    start = 0
    while start < len(values):
        rising = _run(values, start, 1)
        equal = _run(values, start, 0)
        count = max(rising, equal)
        first = values[start]
        if count < SHORTEST_RUN:
            codes.append(str(first))
            count = 1
        elif rising >= equal:
            codes.append(f"*range({first}, {first + count})")
        else:
            codes.append(f"*[{first}] * {count}")
        start += count
    return group("[", codes, "]")


def literal(value: object) -> Code:
    """A literal for what a snapshot or an outcome holds: ints, texts, None, lists and tuples of them, dicts of them."""
    if isinstance(value, (list, tuple)) and value and all(type(one) is int for one in value):
        return numbers(value)
    if isinstance(value, (list, tuple)):
        return group("[", [literal(one) for one in value], "]")
    if isinstance(value, dict):
        return group("{", [_pair(name, literal(one)) for name, one in value.items()], "}")
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def _pair(name: object, code: Code) -> Code:
    key = inline(literal(name))
    if isinstance(code, str):
        return f"{key}: {code}"
    return Group(f"{key}: {code.opening}", code.items, code.closing)


def _has_notes(code: Code) -> bool:
    return not isinstance(code, str) and any(
        item.note or _has_notes(item.code) for item in code.items
    )


def _run(values: Sequence[int], start: int, step: int) -> int:
    stop = start + 1
    while stop < len(values) and values[stop] == values[stop - 1] + step:
        stop += 1
    return stop - start
