"""A trace run once more on one target and told call by call, for people and for the exporter.

Guarantees the concrete calls up to and including the one at which the finding stands, with the caller's books as they
were there. Judges nothing itself: the judge does (``oracle.lockstep``).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from msgspec import structs

from campaigns.export_device import DeviceLedger
from campaigns.export_replay import RecordedTarget
from campaigns.export_words import Teller
from oracle.call import Call
from oracle.caller import Planned
from oracle.errors import UsageError
from oracle.finding import Finding
from oracle.geometry import BANDS
from oracle.laws.ledger import Ledger
from oracle.laws.unified_books import HeldPages
from oracle.lockstep import Judging, Session
from oracle.observation import Outcome, Snapshot
from oracle.operations import Base, Fork, kind_of
from oracle.ownership import Ownership
from oracle.target import Target
from oracle.trace import Trace
from oracle.unified_observation import AnySnapshot


@dataclass(frozen=True)
class Stamp:
    """Slots that a request wrote (``loaded``: whose peers were loaded again), and whose KV that is, position by position."""

    slots: tuple[int, ...]
    tags: tuple[tuple[int, int], ...]
    loaded: bool = False


@dataclass
class Step:
    """One call (None: an operation that makes none, a fork): what it is about, what it breaks, what came of it."""

    index: int
    operation: str
    call: Call | None
    breaches: tuple[str, ...] = ()
    expected: Outcome | None = None
    got: Outcome = field(default_factory=Outcome)
    about: str = ""
    reasons: tuple[str, ...] = ()
    stamps: list[Stamp] = field(default_factory=list)


@dataclass
class Story:
    """The calls up to the finding; ``books`` and the sets of pages given back in the open group are as they were there.

    ``state`` is the predicted state at the finding, None where there is no prediction.
    """

    trace: Trace
    steps: list[Step]
    finding: Finding | None
    books: Ownership
    state: AnySnapshot | None
    sizes: tuple[int, int]
    deferred: tuple[set[int], set[int], set[int]]
    deferred_pages: dict[str, set[int]] = field(default_factory=dict)
    """Of a unified allocator: by band, the virtual pages given back in the open group."""
    device: DeviceLedger | None = None
    """Of an allocator with a device below: what is nobody's there and not free."""


class _Narrated(Session):
    """A session that keeps each call with the words for it, and the place of each finding."""

    def __init__(
        self, target: Target, trace: Trace, wanted: Finding | None, judging: Judging
    ) -> None:
        self.told: list[Step] = []
        self.story: Story | None = None
        self.placed: Story | None = None
        self._trace, self._wanted = trace, wanted
        self._teller = Teller()
        self._ledger = Ledger(trace.geometry)
        self._pages = HeldPages()
        self._device = DeviceLedger(trace.geometry)
        super().__init__(
            [target],
            trace.geometry,
            trace.mode,
            trace.callers,
            judging,
            may_break=trace.may_break,
        )
        self._look(0)
        self._place("state")

    def run(self) -> Story:
        """Step until the finding has its place; without one, to the end."""
        for operation in self._trace.operations:
            if self.story is not None or self.finished:
                break
            found = len(self.findings)
            status = self.step(operation)
            if isinstance(operation, Fork):
                self.told.append(Step(self.index, kind_of(operation), None))
            self._finish_last()
            last = self._lanes[0].last
            mapping = last.mapping if isinstance(last, Snapshot) else None
            self._ledger.follow(mapping, self.caller.books)
            self._device.follow(self._device_table(), self.caller.books)
            if self._trace.family in BANDS:
                self._pages.follow(self.caller.books)
            self._look(found)
            # Where another difference stopped the operation, the caller's books stopped in the middle of it.
            if status != "stopped":
                self._place("state")
        return self.story or self.placed or self._tell(self._wanted)

    def _judge_call(self, planned: Planned, operation: Base) -> Outcome | None:
        self._finish_last()
        books, call = self.caller.books, planned.call
        found, length = len(self.findings), len(self.told)
        step = Step(self.index, kind_of(operation), call, planned.breaches)
        step.about, step.reasons = self._teller.before(call, planned.breaches, books)
        self.told.append(step)
        self.records = []
        outcome = super()._judge_call(planned, operation)
        record = self.records[-1]
        step.expected = None if self.undefined else record.expected
        step.got = record.got
        self._note_sizes(call, record.got)
        self._device.note_call(call, record.got, self._device_table())
        self._look(found)
        self._place(call.method)
        assert len(self.told) == length + 1
        return outcome

    def _note_sizes(self, call: Call, got: Outcome) -> None:
        if call.method == "resize" and self._trace.family == "pure-swa":
            # The SWA size is that of the one pool (contract_paged_swa §6.8).
            call = structs.replace(call, size=call.size_swa)
        self._ledger.note_call(call, got)

    def _device_table(self) -> list[int]:
        last = self._lanes[0].last
        return (last.device_mapping or []) if isinstance(last, Snapshot) else []

    def _finish_last(self) -> None:
        """Add to the last step what its outcome did to the caller's books."""
        if not self.told or self.told[-1].call is None:
            return
        step, books = self.told[-1], self.caller.books
        step.about = self._teller.after(step.call, step.got, books) or step.about
        for slots, loaded in ((books.written, False), (books.loaded_peers, True)):
            told = [slot for slot in slots if slot in books.tags]
            if told and not step.stamps:
                tags = tuple(books.tags[slot] for slot in told)
                step.stamps.append(Stamp(tuple(told), tags, loaded))

    def _look(self, found: int) -> None:
        for finding in self.findings[found:]:
            if self._wanted is None or finding.cause == self._wanted.cause:
                self.story = self.story or self._tell(finding)

    def _place(self, method: str) -> None:
        """Where the wanted finding stood its check can stand, should the target not show it anywhere."""
        wanted, target = self._wanted, self._lanes[0].target
        if wanted is None or (wanted.index, wanted.method) != (self.index, method):
            return
        # A recorded run ended at its finding, and a call of the same method may have come before.
        if not isinstance(target, RecordedTarget) or wanted.kind == "hazard" or target.spent:
            self.placed = self.placed or self._tell(wanted)

    def _tell(self, finding: Finding | None) -> Story:
        ledger = self._ledger
        known = self._reference is not None and not self.undefined
        state = self._reference.snapshot() if known and self._reference else None
        return Story(
            trace=self._trace,
            steps=list(self.told),
            finding=finding,
            books=copy.deepcopy(self.caller.books),
            state=state,
            sizes=(ledger.full_size, ledger.swa_size),
            deferred=(
                set(ledger.deferred_full),
                set(ledger.deferred_swa),
                set(ledger.lingering),
            ),
            device=copy.deepcopy(self._device),
            deferred_pages={name: set(pages) for name, pages in self._pages.deferred.items()},
        )


def tell_unjudged(trace: Trace, target: Target) -> Story:
    """Run the whole of ``trace`` on ``target`` and tell it; nothing is judged. Raises ``UsageError`` when the target cannot run it."""
    return _Narrated(target, trace, None, Judging(prediction=False, laws=False)).run()


def tell(trace: Trace, target: Target, finding: Finding | None = None) -> Story:
    """Run ``trace`` on ``target`` and tell it up to ``finding`` (None: up to the first one, or to the end).

    Raises ``UsageError`` when the target cannot run the trace, or never gets to the place where ``finding`` stands.
    """
    judgings = [Judging()]
    if finding is not None and finding.kind in ("law", "hazard"):
        # Where the prediction was switched off, a divergence before the finding must not end the run.
        judgings.append(Judging(prediction=False))
    placed: Story | None = None
    for judging in judgings:
        narrated = _Narrated(target, trace, finding, judging)
        story = narrated.run()
        if narrated.story is not None or finding is None:
            return story
        placed = placed or narrated.placed
    if placed is not None:
        return placed
    assert finding is not None
    raise UsageError(
        f"the trace makes no {finding.method} call in its operation {finding.index}, "
        f"where the finding '{finding.quantity}' should stand: export the trace that was saved with it"
    )
