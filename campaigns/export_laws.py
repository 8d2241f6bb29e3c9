"""What a script checks for a broken law: the law itself, on the allocator's own state and what the caller holds.

Guarantees one snippet (``templates/law.NAME.py.j2``) for each law, and that the lists which a snippet speaks of (``held``,
``peered``, ...) are those of the caller's books at the finding, written as slices of what the allocator returned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from campaigns.export_calls import POOLS, assigned
from campaigns.export_layout import Code, comment, group, inline, layout, numbers
from campaigns.export_names import Names, Variable
from campaigns.export_story import Story
from campaigns.export_templates import render_template
from oracle.laws.returned_laws import growths_of
from oracle.laws.violation import (
    CONTENT_FULL,
    CONTENT_SWA,
    FAILED_CALL_CHANGES_NOTHING,
    LEGAL_CALL_RAISED,
    RETURNED_SLOTS,
)

BODY = 4
CONTENT_LAWS = (CONTENT_FULL, CONTENT_SWA)

CHECKED = {
    LEGAL_CALL_RAISED: "what a legal call raises",
    FAILED_CALL_CHANGES_NOTHING: "what a failed call changed",
    RETURNED_SLOTS: "slots that must not be handed out like that",
    "padding-page": "places where the padding page is",
    "one-owner": "{pool} pages that can be handed out twice, or while a row holds them",
    "conservation": "{pool} pages that are lost",
    "capacity-within-size": "what the {pool} pool says it has",
    "everything-returned": "what is back when no request is live",
    "mapping-support": "mapping entries that must not be as they are",
    "mapping-injective": "peers and pages that are shared",
    "page-offset": "peers at another page offset than their slots",
    "mapped-equals-held": "SWA pages that are mapped but free, and those that are lost",
    CONTENT_FULL: "FULL slots in which a row reads another's KV",
    CONTENT_SWA: "SWA slots in which a row reads another's KV",
}


@dataclass
class LawCheck:
    """Lines before and after the last call, and what they check in words."""

    checked: str
    after: list[str]
    before: list[str] = field(default_factory=list)
    raising: bool = False


def law_of(quantity: str) -> tuple[str, str]:
    """The pool ("" for none) and the law of a finding's quantity."""
    pool, dot, law = quantity.rpartition(".")
    return (pool, law) if dot else ("", quantity)


def law_check(story: Story, names: Names, returned: Variable | None) -> LawCheck:
    """The check for the law that the story's finding says is broken."""
    assert story.finding is not None
    pool, law = law_of(story.finding.quantity)
    facts = _Facts(story, names, pool, returned)
    context = facts.context()
    before = ""
    if law in (FAILED_CALL_CHANGES_NOTHING, RETURNED_SLOTS):
        before = render_template(f"law.{law}.before.py.j2", **context)
    after = render_template(f"law.{law}.py.j2", **context)
    pool_name = pool.upper() if facts.hybrid else "KV"
    last = story.steps[-1] if story.steps else None
    return LawCheck(
        CHECKED[law].format(pool=pool_name),
        [*facts.lines(after), *after.rstrip("\n").split("\n")],
        [*facts.lines(before), *before.rstrip("\n").split("\n")] if before.strip() else [],
        raising=law == LEGAL_CALL_RAISED or bool(last and last.got.error),
    )


class _Facts:
    """What the snippets speak of, each a line or two of code; only those that a snippet names are written."""

    def __init__(self, story: Story, names: Names, pool: str, returned: Variable | None) -> None:
        self.story, self.names, self.pool, self.returned = story, names, pool, returned
        self.hybrid = story.trace.family == "hybrid-swa"
        self.page_size = story.trace.geometry.page_size

    def context(self) -> dict[str, object]:
        """What the templates are rendered with."""
        story = self.story
        last = story.steps[-1].call if story.steps else None
        size = story.sizes[1] if self.pool == "swa" else story.sizes[0]
        pages = [("FULL", story.sizes[0]), ("SWA", story.sizes[1])]
        named = pages if self.hybrid else [("KV", story.sizes[0])]
        by_peers = self.pool == "swa" and last is not None and last.pool == "composite"
        return {
            "call": last,
            "call_pool": self._place(last.pool if last and last.pool != "composite" else "full"),
            "by_peers": by_peers,
            "named": list(last.slots) if last else [],
            "last_slots": [slot for slot in last.last_loc if slot >= 0] if last else [],
            "pool": self._place(self.pool or "full"),
            "pages": size // self.page_size,
            "size": size,
            "all_pages": "{"
            + ", ".join(f'"{name}": {slots // self.page_size}' for name, slots in named)
            + "}",
            "hybrid": self.hybrid,
            "returned": self.returned is not None,
        }

    def lines(self, text: str) -> list[str]:
        """The assignments that ``text`` needs, in order."""
        facts = self._all()
        wanted = set(re.findall(r"[a-z_]+", text))
        for name, code, _ in reversed(facts):
            if name in wanted:
                wanted |= set(re.findall(r"[a-z_]+", "".join(layout(code, 0))))
        lines: list[str] = []
        for name, code, note in facts:
            if name in wanted:
                lines += [*comment(note, BODY), *layout(assigned(name, code), BODY)]
        return lines

    def _all(self) -> list[tuple[str, Code, str]]:
        story, books = self.story, self.story.books
        deferred_full, deferred_swa, lingering = story.deferred
        swa = self.pool == "swa"
        held_pages = (
            "{mapping[slot] // PAGE_SIZE for slot in peered}"
            if swa
            else "{slot // PAGE_SIZE for slot in held}"
        )
        deferred: Code = set_literal(sorted(deferred_swa if swa else deferred_full))
        if swa and lingering:
            held_there = "mapping[slot] // PAGE_SIZE for slot in lingering if mapping[slot] > 0"
            deferred = f"{_text(deferred)} | {{{held_there}}}"
        facts: list[tuple[str, Code, str]] = [
            ("held", self.names.elements(self._held()), "The FULL slots that live rows hold."),
            ("rows_pages", "{slot // PAGE_SIZE for slot in held}", "Their pages."),
            (
                "peered",
                self.names.elements(sorted(books.peered)),
                "The FULL slots that have peers.",
            ),
            (
                "mapping",
                "allocator.full_to_swa_index_mapping.tolist()",
                "The allocator's own mapping from FULL slot to SWA slot.",
            ),
            ("held_pages", held_pages, "The pages behind them."),
            (
                "lingering",
                set_literal(sorted(lingering)),
                "FULL slots that lost their peers in the open group.",
            ),
            ("deferred", deferred, "Pages that were given back in the open group."),
            (
                "straddled",
                set_literal(sorted(books.straddled)),
                "FULL pages whose tail began off a page boundary.",
            ),
            (
                "growths",
                self._growths(),
                "(first position, how many slots, the slot before) by row.",
            ),
            ("read", self._read(), "(slots, request, first position) of what rows may still read."),
        ]
        if self.returned is not None:
            name = self.returned.name
            code = f"[] if {name} is None else {name}.tolist()"
            facts.append(("returned", code, "What the last call handed out."))
        return facts

    def _held(self) -> list[int]:
        return [slot for slots in self._rows() for slot, _, _ in slots]

    def _rows(self) -> list[list[tuple[int, int, int]]]:
        """For each row the slots that it still holds, with the request and position whose KV each must carry."""
        books = self.story.books
        rows = []
        for request in books.requests:
            row = []
            for position, slot in enumerate(request.slots):
                if position // self.page_size not in request.gone:
                    row.append((slot, *books.tags.get(slot, (request.identity, position))))
            rows.append(row)
        return rows

    def _read(self) -> Code:
        entries = [entry for row in self._rows() for entry in row]
        return group("[", [_entry(self.names, run) for run in stamp_runs(entries)], "]")

    def _growths(self) -> Code:
        call = self.story.steps[-1].call if self.story.steps else None
        if call is None or not call.method.startswith("alloc"):
            return "[]"
        growths = growths_of(call, self.page_size)
        return group(
            "[",
            [f"({growth.prefix}, {growth.count}, {growth.last})" for growth in growths],
            "]",
        )

    def _place(self, pool: str) -> str:
        return POOLS[pool] if self.hybrid else POOLS["composite"]


def set_literal(values: list[int]) -> Code:
    """A set display; an empty one is a call."""
    if not values:
        return "set()"
    code = numbers(values)
    return group("{", [item.code for item in code.items], "}")


def stamp_runs(
    entries: list[tuple[int, int, int]],
) -> list[tuple[list[int], int, int]]:
    """(slot, request, position) entries as runs of one request with rising positions: slots, request, first position."""
    runs: list[tuple[list[int], int, int]] = []
    for slot, request, position in entries:
        last = runs[-1] if runs else None
        if last and last[1] == request and last[2] + len(last[0]) == position:
            last[0].append(slot)
        else:
            runs.append(([slot], request, position))
    return runs


def write_lines(
    names: Names, slots: tuple[int, ...], tags: tuple[tuple[int, int], ...], loaded: bool
) -> list[str]:
    """The statements with which a request writes the KV of these slots, for the content laws."""
    lines: list[str] = []
    entries = [(slot, *tag) for slot, tag in zip(slots, tags, strict=True)]
    for run, request, position in stamp_runs(entries):
        codes: list[Code] = ["allocator", names.elements(run), str(request), str(position)]
        if loaded:
            codes.append("full=False")
        lines += layout(group("write(", codes, ")"), BODY)
    return lines


def _entry(names: Names, run: tuple[list[int], int, int]) -> Code:
    return group("(", [names.elements(run[0]), str(run[1]), str(run[2])], ")")


def _text(code: Code) -> str:
    return inline(code)
