"""What runs of random traces came to, counted for each page size: how many calls were judged, and what they reached.

A call names slots or is given some. It reaches *several pages* when those lie on more than one, and *part of a page* when there is a
page of which it has some slots and not others. *Breaking* calls are those that no legal caller makes, *refused* ones allocations
that gave nothing, *raised* ones ended in an exception or an asserting invariant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct, structs

from oracle.call import Call
from oracle.lockstep import CallRecord
from oracle.observation import Outcome


class Tally(Struct):
    """Counts for one page size. ``traces`` and ``calls`` are of all callers, the next three the calls of each kind of caller."""

    traces: int = 0
    calls: int = 0
    legal: int = 0
    mixed: int = 0
    hostile: int = 0
    breaking: int = 0
    several_pages: int = 0
    part_of_a_page: int = 0
    refused: int = 0
    raised: int = 0

    def count(self, record: CallRecord, page_size: int) -> None:
        """Count what the call reached. Raises nothing."""
        slots = _slots(record.call, record.got)
        in_pages = Counter(slot // page_size for slot in set(slots))
        if record.call.method == "free_page_ids":
            in_pages = Counter(dict.fromkeys(record.call.slots, page_size))
        self.breaking += bool(record.breaches)
        self.several_pages += len(in_pages) > 1
        self.part_of_a_page += any(slots < page_size for slots in in_pages.values())
        nothing = record.got.value is None and not record.got.error
        self.refused += nothing and record.call.method.startswith("alloc")
        self.raised += bool(record.got.error)

    def add(self, other: Tally) -> None:
        """Add the counts of ``other``."""
        for name, value in structs.asdict(other).items():
            setattr(self, name, getattr(self, name) + value)


class Report(Struct):
    """The tallies by page size, and each finding in a sentence."""

    tallies: dict[int, Tally]
    findings: list[str]

    def add(self, other: Report) -> None:
        """Add what another process found."""
        for page_size, tally in other.tallies.items():
            self.tallies.setdefault(page_size, Tally()).add(tally)
        self.findings += other.findings

    def all(self) -> Tally:
        """The sum over the page sizes."""
        total = Tally()
        for tally in self.tallies.values():
            total.add(tally)
        return total

    def lines(self) -> Iterable[str]:
        """A table with a row for each page size and the sum."""
        names = Tally.__struct_fields__
        heads = ["page size", *(name.replace("_", " ") for name in names)]
        rows = [(str(size), self.tallies[size]) for size in sorted(self.tallies)]
        for cells in (
            heads,
            *([size, *map(str, structs.astuple(tally))] for size, tally in rows),
            ["all", *map(str, structs.astuple(self.all()))],
        ):
            yield "  ".join(f"{cell:>{len(head)}}" for head, cell in zip(heads, cells, strict=True))


def _slots(call: Call, got: Outcome) -> list[int]:
    named = [*call.slots, *(slot for segment in call.segments for slot in segment.slots)]
    given = got.value if got.value is not None and call.method.startswith("alloc") else ()
    return [*named, *given]
