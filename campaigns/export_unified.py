"""What a script checks for a finding on a unified allocator: its state, or the law itself (contract_unified §15).

Guarantees one snippet (``templates/unified.law.NAME.py.j2``) for each law of ``oracle.laws.unified_names``, and that the lists of
which a snippet speaks are those of the caller's books at the finding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from campaigns.export_calls import assigned
from campaigns.export_layout import Code, comment, group, layout, literal, numbers
from campaigns.export_templates import render_template
from oracle.laws.returned_laws import growths_of
from oracle.laws.unified_names import (
    BYTE_ACCOUNTING,
    CONTENT,
    DEFERRAL,
    EVICTION_SEES_DEFERRED_FREES,
    MOVE_CHANGES_NO_OWNER,
    PLAN_MINIMAL,
    PREPARED_STATES,
    PROMISE_KEPT,
    REFUSED_THOUGH_IT_FITS,
    SPANS_ORDERED,
    TRANSLATE_TOTAL,
)
from oracle.laws.unified_packed import PackedBands
from oracle.laws.unified_promises import GROWING, promised_slots, wanted_pages, wanted_swa_pages
from oracle.laws.unified_spans import Spans
from oracle.laws.violation import (
    FAILED_CALL_CHANGES_NOTHING,
    LEGAL_CALL_RAISED,
    PADDING_PAGE,
    RETURNED_SLOTS,
)
from oracle.unified_comparison import BAND_QUANTITIES, PILES

if TYPE_CHECKING:
    from campaigns.export_names import Variable
    from campaigns.export_story import Story
    from campaigns.export_unified_calls import UnifiedNames
    from oracle.unified_observation import UnifiedSnapshot

BODY = 4
LOOKED_AT = "the whole state after the last call"
CHECKED = {
    LEGAL_CALL_RAISED: "what a legal call raises",
    FAILED_CALL_CHANGES_NOTHING: "what a failed call changed",
    MOVE_CHANGES_NO_OWNER: "what a call changed that only answers or moves pages",
    DEFERRAL: "what a free changed that waits for the end of its group",
    RETURNED_SLOTS: "slots that must not be handed out like that",
    PADDING_PAGE: "slots that must not be handed out like that",
    PREPARED_STATES: "the states that were taken out in advance",
    TRANSLATE_TOTAL: "where virtual slots are",
    PROMISE_KEPT: "what was said to be available and cannot be had as it is",
    REFUSED_THOUGH_IT_FITS: "what is refused although it fits",
    PLAN_MINIMAL: "a plan that gives up too much, or too little",
    EVICTION_SEES_DEFERRED_FREES: "what waits in the group while the cache is emptied",
    "sentinels": "the ends of the {band} tables",
    SPANS_ORDERED: "spans that overlap or leave their grid",
    "swa-bound-full-unbound": "virtual pages with an SWA page and no FULL page",
    "id-partition": "{band} ids that are lost, or free twice",
    "physical-page-shared": "{band} pages with two virtual pages",
    "table-inverse": "entries of the {band} tables that do not lead back",
    "span-partition": "pages of the {band} span that are not one thing",
    "live-count": "how many {band} pages count as live",
    "capacity-within-size": "what the {band} side says it has",
    "everything-returned": "what is back when the caller holds nothing",
    "bound-agrees-with-books": "{band} pages that are held and not bound, or the other way round",
    BYTE_ACCOUNTING: "the complaints of the allocator's own verifier",
    CONTENT: "{band} slots in which another's KV is read",
}
WRITING = frozenset({CONTENT, MOVE_CHANGES_NO_OWNER, FAILED_CALL_CHANGES_NOTHING})
BEFORE = {
    MOVE_CHANGES_NO_OWNER: "owned(look(allocator))",
    FAILED_CALL_CHANGES_NOTHING: "owned(look(allocator))",
    DEFERRAL: "look(allocator)",
    PROMISE_KEPT: "look(allocator)",
    EVICTION_SEES_DEFERRED_FREES: "look(allocator)",
    RETURNED_SLOTS: "look(allocator)",
    PADDING_PAGE: "look(allocator)",
    PREPARED_STATES: "look(allocator)",
    TRANSLATE_TOTAL: 'look(allocator)["bands"]["{band}"]',
}
"""What has to be known from before the last call."""

QUERY_WORDS = "what {quantity} says"


@dataclass
class UnifiedCheck:
    """Lines before and after the last call, and what they check in words."""

    checked: str
    after: list[str]
    before: list[str] = field(default_factory=list)
    raising: bool = False


def writes_kv(quantity: str) -> bool:
    """Whether the check of this quantity looks at KV, so that the script has to write some."""
    return quantity.rpartition(".")[2] in WRITING


def state_expression(quantity: str) -> str | None:
    """How a script reads a quantity of ``oracle.unified_comparison``; None for one that is no state."""
    band, dot, name = quantity.partition(".")
    if dot and name in BAND_QUANTITIES and band in ("full", "swa", "state"):
        return f'look(allocator)["bands"]["{band}"]["{name}"]'
    if quantity in (*PILES, "group_open", "copies", "prepared"):
        return f'look(allocator)["{quantity}"]'
    if quantity == "byte_accounting":
        return 'bool(look(allocator)["byte_accounting"])'
    if quantity.endswith(("_size", "_capacity", "_slots")) or quantity in (
        "size",
        "size_full",
        "size_swa",
    ):
        return f'look(allocator)["queries"].get("{quantity}")'
    return None


def predicted_value(quantity: str, state: UnifiedSnapshot) -> Any:
    """The quantity's value in a predicted state, in plain data."""
    band, dot, name = quantity.partition(".")
    if dot:
        return to_builtins(getattr(state.bands[band], name))
    if quantity == "byte_accounting":
        return bool(state.byte_accounting)
    if quantity == "copies":
        return [[copy.band, copy.source, copy.destination] for copy in state.copies]
    if hasattr(state, quantity):
        return to_builtins(getattr(state, quantity))
    return state.queries.get(quantity)


def state_words(quantity: str) -> str:
    """The quantity in words."""
    band, dot, name = quantity.partition(".")
    if dot:
        return f"{name} of the {band.upper()} band"
    return {"copies": "the page moves of the last call"}.get(quantity, f"what {quantity} says")


def unified_law_check(story: Story, names: UnifiedNames, returned: Variable | None) -> UnifiedCheck:
    """The check for the law that the story's finding says is broken."""
    assert story.finding is not None
    band, _, law = story.finding.quantity.rpartition(".")
    facts = _Facts(story, names, band or "full", returned)
    snippet = RETURNED_SLOTS if law == PADDING_PAGE else law
    after = render_template(f"unified.law.{snippet}.py.j2", **facts.context())
    before = BEFORE.get(law, "").format(band=band)
    last = story.steps[-1] if story.steps else None
    return UnifiedCheck(
        CHECKED[law].format(band=band.upper()),
        [*facts.lines(after), *after.rstrip("\n").split("\n")],
        [f"    before = {before}"] if before else [],
        raising=law == LEGAL_CALL_RAISED or bool(last and last.got.error),
    )


class _Facts:
    """What the snippets speak of, each a line or two of code; only those that a snippet names are written."""

    def __init__(
        self, story: Story, names: UnifiedNames, band: str, returned: Variable | None
    ) -> None:
        self.story, self.names, self.band, self.returned = story, names, band, returned
        self.spans = Spans(story.trace.geometry)

    def context(self) -> dict[str, object]:
        """What the templates are rendered with."""
        call = self.story.steps[-1].call if self.story.steps else None
        band = call.pool if call is not None and call.pool != "composite" else self.band
        return self._capacity() | {
            "band": self.band,
            "grid": self.spans.grids[band],  # type: ignore[index]
            "call": call,
            "named": list(call.slots) if call is not None else [],
            "loading": self.story.books.loading,
            "preparing": self.story.books.preparing,
        }

    def _capacity(self) -> dict[str, object]:
        """What the laws about capacity speak of: pages that the last call wants, and what a packed buffer holds."""
        geometry = self.story.trace.geometry
        call = self.story.steps[-1].call if self.story.steps else None
        facts: dict[str, object] = {
            "growing": GROWING,
            "peered_bands": "swa" in self.spans.grids,
            "packed": PackedBands(geometry) if geometry.family == "unified-swa" else None,
        }
        if call is not None:
            facts["wanted_full"] = wanted_pages(call, geometry.page_size)
            facts["wanted_swa"] = wanted_swa_pages(call, geometry.page_size)
            facts["wanted_slots"] = promised_slots(call)
        return facts

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
        books, names = self.story.books, self.names
        reserved = [slot for slots in books.reservations for slot in slots]
        held = sorted(
            page * books.page_size + k for page in books.holders for k in range(books.page_size)
        )
        facts: list[tuple[str, Code, str]] = [
            ("state", "look(allocator)", "The allocator's own tables and lists."),
            ("band_state", f'state["bands"]["{self.band}"]', "Those of the band in question."),
            ("span", self._span(self.band, "band_state"), "The physical pages of its span."),
            ("held", names.tokens.elements(held), "The slots of the pages that rows hold."),
            ("rows_pages", "{slot // PAGE_SIZE for slot in held}", "Their pages."),
            ("peered", names.tokens.elements(sorted(books.peered)), "Slots that have peers."),
            ("states", names.states.elements(books.states), "The states that are held."),
            ("reserved", names.physical.elements(reserved), "Physical slots reserved for a load."),
            ("reserved_pages", self._reserved(), "Their pages."),
            ("held_pages", self._held_pages(), "The virtual pages that the caller holds."),
            (
                "deferred",
                self._deferred(),
                "Bound and held by nobody: what waits in the group, or is prepared.",
            ),
            ("readable", self._readable(), "The slots that somebody may still read."),
            (
                "growths",
                self._growths(),
                "(first position, how many slots, the slot before) by row.",
            ),
            ("spans", self._spans(), "(band, span, its grid's first page, pages, bytes of one)."),
        ]
        if self.returned is not None:
            facts.append(
                ("returned", f"plain({self.returned.name})", "What the last call returned.")
            )
        return facts

    def _span(self, band: str, state: str) -> str:
        grid = self.spans.grids[band]  # type: ignore[index]
        floats = band == "swa" and "state" in self.spans.grids
        if floats:
            return f'range({state}["start"], {state}["stop"])'
        up = (band == "full") == self.spans.full_grows_up
        if up:
            return f'range({grid.first}, {state}["watermark"])'
        return f'range({state}["watermark"] + 1, {grid.pages})'

    def _spans(self) -> Code:
        entries: list[Code] = []
        for name in self.spans.low_to_high:
            grid = self.spans.grids[name]
            span = self._span(name, f'state["bands"]["{name}"]')
            sizes = [str(grid.first), str(grid.pages), str(grid.page_bytes)]
            entries.append(group("(", [f'"{name}"', span, *sizes], ")"))
        return group("[", entries, "]")

    def _reserved(self) -> Code:
        return "{slot // PAGE_SIZE for slot in reserved}" if self.band == "swa" else "set()"

    def _held_pages(self) -> Code:
        if self.band == "state":
            return "set(states)"
        return "{slot // PAGE_SIZE for slot in " + ("peered}" if self.band == "swa" else "held}")

    def _deferred(self) -> Code:
        if self.band == "state":
            return 'set(state["prepared"] or ())'
        pages = sorted(self.story.deferred_pages.get(self.band, ()))
        if not pages:
            return "set()"
        return group("{", [item.code for item in numbers(pages).items], "}")

    def _readable(self) -> Code:
        if self.band == "state":
            return "states"
        if self.band == "swa":
            return "peered"
        books = self.story.books
        return self.names.tokens.elements(
            [
                slot
                for request in books.requests
                for position, slot in enumerate(request.slots)
                if position // books.page_size not in request.gone
            ]
        )

    def _growths(self) -> Code:
        call = self.story.steps[-1].call if self.story.steps else None
        if call is None or call.pool != "composite" or not call.method.startswith("alloc"):
            return "[]"
        growths = growths_of(call, self.story.trace.geometry.page_size)
        return group("[", [f"({one.prefix}, {one.count}, {one.last})" for one in growths], "]")


def expected_state(story: Story, quantity: str) -> Code:
    """The literal of a quantity's predicted value."""
    return literal(predicted_value(quantity, story.state))  # type: ignore[arg-type]
