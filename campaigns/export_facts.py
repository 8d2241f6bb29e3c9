"""What the snippets of the laws speak of: what the caller holds at the finding, and what the allocator shows.

Guarantees that the lists are those of the caller's books at the finding, written as slices of what the allocator returned.
"""

from __future__ import annotations

import re

from campaigns.export_calls import ROW_CALLS, assigned, bases_name, request_name
from campaigns.export_device import compression, device_facts, device_page, device_pages
from campaigns.export_layout import Code, comment, group, inline, layout, literal, numbers
from campaigns.export_names import FixedNames, Names, Variable
from campaigns.export_shapes import shape_of
from campaigns.export_story import Story
from oracle.laws.returned_laws import growths_of

BODY = 4


class Facts:
    """What the snippets speak of, each a line or two of code; only those that a snippet names are written."""

    def __init__(
        self, story: Story, names: FixedNames, pool: str, returned: Variable | None
    ) -> None:
        self.story, self.names, self.pool, self.returned = story, names.tokens, pool, returned
        self.every = names
        self.geometry = story.trace.geometry
        self.shape = shape_of(story.trace.geometry.family)
        self.page_size = story.trace.geometry.page_size

    def context(self) -> dict[str, object]:
        """What the templates are rendered with."""
        story, shape = self.story, self.shape
        last = story.steps[-1].call if story.steps else None
        sizes = self._sizes()
        page_size = device_page(self.geometry) if self.pool == "device" else self.page_size
        size = sizes.get(self.pool, sizes["full"])
        by_peers = self.pool == "swa" and last is not None and last.pool == "composite"
        first = self.geometry.first_page
        counts = {name: sizes[name] // self._page_of(name) for name in shape.pools}
        return {
            "call": last,
            "call_pool": shape.place(last.pool if last and last.pool != "composite" else "full"),
            "by_peers": by_peers,
            "named": list(last.slots) if last else [],
            "last_slots": [slot for slot in last.last_loc if slot >= 0] if last else [],
            "pool": shape.place(self.pool or "full"),
            "label": shape.label(self.pool or "full"),
            "page_size": "PAGE_SIZE" if page_size == self.page_size else str(page_size),
            "available": shape.available,
            "available_everywhere": "allocator.available_size()"
            + (" + len(prepared(allocator) or [])" if "prepared" in shape.own else ""),
            "places": {name: shape.place(name) for name in shape.pools},
            "host": shape.host,
            "first_page": first,
            "pages": size // page_size,
            "every_page": f"range({first}, {first + size // page_size})",
            "size": size,
            "all_pages": "{"
            + ", ".join(f'"{shape.label(name)}": {count}' for name, count in counts.items())
            + "}",
            "device_page": device_page(self.geometry),
            "named_keys": self._named_keys(),
            "at_call": story.finding is not None and story.finding.method != "state",
            **self._row_bounds(),
            "sizes": self.geometry.family_sizes,
            "family": story.trace.family,
            "hybrid": shape.mapped,
            "tiered": shape.tiered,
            "returned": self.returned is not None,
        }

    def _sizes(self) -> dict[str, int]:
        full, swa = self.story.sizes
        device = device_pages(self.geometry) * device_page(self.geometry)
        if self.geometry.family == "hisparse":
            device = self.geometry.size
        return {"full": full, "swa": swa, "device": device}

    def _named_row(self) -> list[int]:
        last = self.story.steps[-1].call if self.story.steps else None
        return list(last.slots) if last is not None else []

    def _row_bounds(self) -> dict[str, object]:
        """Of a window eviction: from where on peers may go, from where on they may not, and where the cursor may stand."""
        last = self.story.steps[-1].call if self.story.steps else None
        if last is None or last.method not in ROW_CALLS:
            return {}
        size, own = self.page_size, last.cursors
        for request in self.story.books.requests:
            if tuple(request.slots) == last.slots:
                own = request.cursors
        first = last.pre_len - (max(last.window, size) if last.sharing else last.window)
        if last.sharing and last.retain_floor is not None:
            first = min(first, last.retain_floor)
        evicted = last.cursors.evicted
        return {
            "row_low": max(own.protected, own.floor),
            "row_kept": first,
            "row_evicted": evicted,
            "row_end": max(evicted, -(-last.cursors.allocated // size) * size),
            "request": request_name(len(self.story.steps)),
        }

    def _named_keys(self) -> list[int]:
        """The keys of the slots that the last call names."""
        last = self.story.steps[-1].call if self.story.steps else None
        step = compression(self.geometry)
        slots = last.slots if last is not None else ()
        return [slot // step for slot in slots if (slot + 1) % step == 0]

    def _page_of(self, pool: str) -> int:
        return device_page(self.geometry) if pool == "device" else self.page_size

    def lines_before(self, text: str) -> list[str]:
        """The same before the last call, where what it returns is not there yet."""
        known = self.names.variables
        self.names.variables = [one for one in known if one is not self.returned]
        try:
            return self.lines(text)
        finally:
            self.names.variables = known

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
        if self.pool == "device":
            held_pages, deferred = "used_pages", "gone_pages"
        if swa and lingering:
            held_there = "mapping[slot] // PAGE_SIZE for slot in lingering if mapping[slot] > 0"
            deferred = f"{_text(deferred)} | {{{held_there}}}"
        facts: list[tuple[str, Code, str]] = []
        if self.shape.tiered and story.device is not None:
            facts += device_facts(self.geometry, self.every, books, story.device)
        facts += [
            ("held", self.names.elements(self._held()), "The FULL slots that live rows hold."),
            ("rows_pages", "{slot // PAGE_SIZE for slot in held}", "Their pages."),
            (
                "peered",
                self.names.elements(sorted(books.peered)),
                "The FULL slots that have peers.",
            ),
            (
                "mapping",
                f"{self.shape.host}.full_to_swa_index_mapping.tolist()",
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
        return facts + self._of_the_last_call()

    def _of_the_last_call(self) -> list[tuple[str, Code, str]]:
        facts: list[tuple[str, Code, str]] = [
            ("row_slots", self.names.elements(self._named_row()), "The row of the last call."),
            (
                "unmapped",
                "{slot for slot in row_slots if peers_before[slot] > 0 >= mapping[slot]}",
                "Those of its slots whose peers went by the call.",
            ),
            (
                "lost_peers",
                "[at for at, slot in enumerate(row_slots) if slot in unmapped]",
                "Their positions.",
            ),
            ("bases_before", self._given(), "The rotation bases that were passed."),
            ("turns", self._turns(), "(slots, class whose turn the first page is) of each row."),
        ]
        if self.returned is not None:
            name = self.returned.name
            code = f"[] if {name} is None else {name}.tolist()"
            facts.append(("returned", code, "What the last call handed out."))
            facts.append(("bases", self._bases(), "The rotation bases after the call."))
        return facts

    def _held(self) -> list[int]:
        books = self.story.books
        nodes = [
            slot
            for node in books.tree
            for position, slot in enumerate(node.slots)
            if position // self.page_size not in node.gone
        ]
        # Where a tree holds the pages of rows too, each is named once.
        held = [slot for slots in self._rows() for slot, _, _ in slots] + nodes
        return list(dict.fromkeys(held)) if books.tree else held

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

    def _given(self) -> Code:
        call = self.story.steps[-1].call if self.story.steps else None
        return literal(call.rotation_bases) if call is not None else "[]"

    def _bases(self) -> str:
        call = self.story.steps[-1].call if self.story.steps else None
        if call is None or not call.rotation_bases:
            return f"[{call.start_class if call is not None else 0}]"
        return bases_name(len(self.story.steps))

    def _turns(self) -> Code:
        """Runs of row pages that were not given back, each with the class whose turn its first page is."""
        ranks, size = max(self.geometry.family_sizes.ranks, 1), self.page_size
        entries: list[Code] = []
        for request in self.story.books.requests:
            start = self.story.books.first_class.get(
                request.identity, request.slots[0] // size if request.slots else 0
            )
            pages = [
                page for page in range(-(-len(request.slots) // size)) if page not in request.gone
            ]
            for first, count in _runs(pages):
                slots = request.slots[first * size : (first + count) * size]
                turn = (start + first) % ranks
                entries.append(group("(", [self.names.elements(slots), str(turn)], ")"))
        return group("[", entries, "]")


def _runs(values: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive numbers: the first, and how many."""
    runs: list[tuple[int, int]] = []
    for value in values:
        if runs and value == sum(runs[-1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((value, 1))
    return runs


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


def _entry(names: Names, run: tuple[list[int], int, int]) -> Code:
    return group("(", [names.elements(run[0]), str(run[1]), str(run[2])], ")")


def _text(code: Code) -> str:
    return inline(code)
