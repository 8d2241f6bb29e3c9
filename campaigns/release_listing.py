"""Which families, operations and calls each supported release has, as text for people.

Guarantees that it only spells out ``targets.sglang.release_table``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oracle.operations import OPERATION_TABLE, kind_of
from targets.sglang.release_table import ReleaseRow, release_table

ABSENT = "."
LETTERS = {
    "token": "t",
    "paged": "p",
    "hybrid-swa": "h",
    "unified-swa": "u",
    "unified-mamba-swa": "x",
    "unified-mamba": "m",
    "pure-swa": "s",
    "swa-ring": "r",
    "hisparse": "d",
    "hisparse-dsv4": "c",
    "page-interleave": "i",
    "mamba-slots": "a",
    "hybrid-rows": "w",
}


def listing() -> list[str]:
    """The lines: a column for each release and a row for each operation, then what each release gained and lost."""
    rows = release_table()
    letters = ", ".join(f"{letter} {family}" for family, letter in LETTERS.items())
    kinds = [kind_of(kind.operation()) for kind in OPERATION_TABLE]
    table = {
        "": [_short(row.version) for row in rows],
        "families": ["".join(LETTERS[name] for name in row.families) for row in rows],
        **{kind: [_cell(row, kind) for row in rows] for kind in kinds},
    }
    lines = [*_families(rows), "", f"Releases 0.5.N; {letters}; {ABSENT} no family has it.", ""]
    lines += _aligned(table)
    lines += ["", "Calls that came and went, and how pages are allocated on a CPU:", ""]
    return lines + [_changes(row, rows) for row in rows]


def _families(rows: Sequence[ReleaseRow]) -> list[str]:
    """Which releases have each family, a line for each."""
    lines = ["Families and their releases:", ""]
    for family in LETTERS:
        having = [row.version for row in rows if family in row.families]
        lines.append(f"{family:{max(map(len, LETTERS))}}  {having[0]} to {having[-1]}")
    return lines


def _aligned(table: Mapping[str, Sequence[str]]) -> list[str]:
    """A line for each row, its cells right-justified below each other."""
    first = max(map(len, table))
    wide = [max(map(len, column)) for column in zip(*table.values(), strict=True)]
    return [
        f"{name:{first}}  {' '.join(f'{cell:>{width}}' for cell, width in zip(cells, wide, strict=True))}".rstrip()
        for name, cells in table.items()
    ]


def _short(version: str) -> str:
    return version.removeprefix("0.5.").replace(".post", "p")


def _cell(row: ReleaseRow, kind: str) -> str:
    found = [LETTERS[name] for name, family in row.families.items() if kind in family.operations]
    return "".join(found) or ABSENT


def _changes(row: ReleaseRow, rows: Sequence[ReleaseRow]) -> str:
    wide = max(len(one.version) for one in rows)
    changes = [f"+{call}" for call in row.gained] + [f"-{call}" for call in row.lost]
    return f"{row.version:{wide}}  {row.kernels:8}  {' '.join(changes)}".rstrip()
