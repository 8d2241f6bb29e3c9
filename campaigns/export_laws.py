"""What a script checks for a broken law: the law itself, on the allocator's own state and what the caller holds.

Guarantees one snippet (``templates/law.NAME.py.j2``) for each law, and that the lists which a snippet speaks of (``held``,
``peered``, ...) are those of the caller's books at the finding, written as slices of what the allocator returned.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from campaigns.export_facts import Facts, stamp_runs
from campaigns.export_layout import Code, group, layout
from campaigns.export_names import FixedNames, Names, Variable
from campaigns.export_story import Story
from campaigns.export_templates import law_template, render_template
from oracle.laws.row_names import (
    CURSOR_RISES,
    EVICTED_ABOVE_FLOOR,
    ROW_LAW_NAMES,
    WINDOW_KEPT,
)
from oracle.laws.violation import (
    CONTENT_FULL,
    CONTENT_SWA,
    FAILED_CALL_CHANGES_NOTHING,
    IDENTITY_MAPPING,
    LEGAL_CALL_RAISED,
    PAGE_CLASS,
    RETURNED_SLOTS,
    RING_ACCOUNTING,
    ROTATION,
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
    IDENTITY_MAPPING: "slots that do not map to themselves",
    RING_ACCOUNTING: "what the queries say of the rings",
    PAGE_CLASS: "pages in the list of another class",
    CURSOR_RISES: "where the cursor of the row stands after the call",
    EVICTED_ABOVE_FLOOR: "positions that are never evicted and lost their peers",
    WINDOW_KEPT: "positions that may be read and lost their peers",
    ROTATION: "pages of rows that come from another class than the one whose turn it is",
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


def law_check(story: Story, names: FixedNames, returned: Variable | None) -> LawCheck:
    """The check for the law that the story's finding says is broken."""
    assert story.finding is not None
    pool, law = law_of(story.finding.quantity)
    facts = Facts(story, names, pool, returned)
    context = facts.context()
    family = story.trace.family
    before = ""
    if law in (FAILED_CALL_CHANGES_NOTHING, RETURNED_SLOTS, *ROW_LAW_NAMES):
        before = render_template(law_template(law, pool, family, part=".before"), **context)
    after = render_template(law_template(law, pool, family), **context)
    last = story.steps[-1] if story.steps else None
    return LawCheck(
        CHECKED[law].format(pool=facts.shape.label(pool or "full")),
        [*facts.lines(after), *after.rstrip("\n").split("\n")],
        [*facts.lines_before(before), *before.rstrip("\n").split("\n")] if before.strip() else [],
        raising=law == LEGAL_CALL_RAISED or bool(last and last.got.error),
    )


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
