"""What a script checks for a finding: the statements around and after the last call, in terms of the allocator's own state.

Guarantees a check for every kind of finding that one run in one process on a CPU can show; for the others (``sync``, ``launches``,
``memory``) it raises ``UsageError``. What two runs show is looked at elsewhere (``campaigns.export_relation``).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import to_builtins

from campaigns.export_calls import ROW_CALLS, assigned, bases_name, request_name
from campaigns.export_laws import LawCheck, law_check
from campaigns.export_layout import Code, comment, group, layout, literal
from campaigns.export_names import FixedNames, Variable
from campaigns.export_quantities import expression, meaning, predicted, quantities_of
from campaigns.export_sections import section
from campaigns.export_story import Step, Story
from campaigns.export_unified import (
    UnifiedCheck,
    expected_state,
    state_expression,
    state_words,
    unified_law_check,
)
from campaigns.export_unified_calls import UnifiedNames
from oracle.errors import UsageError
from oracle.finding import Finding
from oracle.geometry import BANDS
from oracle.observation import Hit, Snapshot
from oracle.unified_observation import UnifiedSnapshot

HANG_SECONDS = 20
BODY = 4


@dataclass
class Check:
    """``before`` and ``after``: lines around the last call. ``raising``: the last call may raise, and that is looked at;
    ``returns``: what it returned is looked at. ``checked`` says in words what is compared.
    """

    checked: str
    after: list[str]
    before: list[str] = field(default_factory=list)
    raising: bool = False


def make_check(story: Story, names: FixedNames | UnifiedNames, returned: Variable | None) -> Check:
    """The check for the story's finding; without one, that the whole state is as predicted. Raises ``UsageError``."""
    finding, family = story.finding, story.trace.geometry.family
    if finding is None:
        return _whole_state(story)
    if finding.kind in ("sync", "launches", "memory", "metamorphic"):
        raise UsageError(
            f"a finding of the kind {finding.kind} has no script: look at it with `kvoracle replay`"
        )
    if finding.kind in ("law", "hazard"):
        law: LawCheck | UnifiedCheck
        if isinstance(names, UnifiedNames):
            law = unified_law_check(story, names, returned)
        else:
            law = law_check(story, names, returned)
        return Check(law.checked, law.after, law.before, law.raising)
    if finding.kind == "hang":
        return _hang(finding)
    unified = story.trace.family in BANDS
    if unified and state_expression(finding.quantity) is not None:
        return _unified_state(story, finding)
    if not unified and expression(finding.quantity, family) is not None:
        return _state(story, finding)
    last = story.steps[-1] if story.steps else None
    if last is None or last.expected is None:
        raise UsageError(
            f"nothing is predicted at the finding '{finding.quantity}', so it has no script"
        )
    if finding.kind == "crash" or finding.quantity == "raised":
        return _raised(finding, last)
    if finding.quantity == "evicted":
        return _evicted(finding, last, len(story.steps))
    if finding.quantity == "resolved":
        return _resolved(finding, last, len(story.steps))
    if finding.quantity in ("returned", "returned dtype"):
        return _returned(finding, last, returned)
    return _signal(finding, last)


def _whole_state(story: Story) -> Check:
    if story.state is None:
        raise UsageError(
            "the trace shows no finding, and nothing is predicted at its end: it has no script"
        )
    if isinstance(story.state, UnifiedSnapshot):
        return _whole_unified_state(story.state)
    family = story.trace.geometry.family
    names = quantities_of(story.state, family)
    got = {name: str(expression(name, family)) for name in names}
    pairs = [_pair(name, code) for name, code in got.items()]
    expected = literal({name: predicted(name, story.state) for name in names})
    return Check(
        "the whole state after the last call",
        [
            *comment("The state that the contract predicts after the last call.", BODY),
            *layout(assigned("expected", expected), BODY),
            *layout(assigned("got", group("{", pairs, "}")), BODY),
        ],
    )


def _pair(name: str, code: str) -> Code:
    """``"name": code``; a call of a helper may be broken at its brackets."""
    function, bracket, argument = code.partition("(")
    if not function.isidentifier() or "(" in argument:
        return f'"{name}": {code}'
    return group(f'"{name}": {function}{bracket}', [argument.removesuffix(")")], ")")


def _whole_unified_state(state: UnifiedSnapshot) -> Check:
    return Check(
        "the whole state after the last call",
        [
            *comment("The state that the contract predicts after the last call.", BODY),
            *layout(assigned("expected", literal(to_builtins(state))), BODY),
            "    got = look(allocator)",
            '    expected["byte_accounting"] = bool(expected["byte_accounting"])',
            '    got["byte_accounting"] = bool(got["byte_accounting"])',
            "    expected, got = unlike(expected, got)",
        ],
        before=["    forget_moves(allocator)"],
    )


def _unified_state(story: Story, finding: Finding) -> Check:
    if story.state is None:
        raise UsageError(
            f"nothing is predicted at the finding '{finding.quantity}', so it has no script"
        )
    words = state_words(finding.quantity)
    place = section(finding.method, story.trace.family)
    after = "after the last call" if story.steps else "when it is built"
    return Check(
        f"{words}, {after}",
        [
            *comment(f"Predicted: {words} ({place}).", BODY),
            *layout(assigned("expected", expected_state(story, finding.quantity)), BODY),
            f"    got = {state_expression(finding.quantity)}",
        ],
        before=["    forget_moves(allocator)"] if finding.quantity == "copies" else [],
        raising=bool(story.steps) and bool(story.steps[-1].got.error),
    )


def _evicted(finding: Finding, last: Step, number: int) -> Check:
    assert last.expected is not None
    expected = [[eviction.index, eviction.part] for eviction in last.expected.evicted]
    place = section(finding.method, finding.family)
    return Check(
        "what the tree gave up",
        [
            *comment(f"The row (by number) or state, and which part of it ({place}).", BODY),
            *layout(assigned("expected", literal(expected)), BODY),
            f"    got = tree{number}.evicted",
        ],
        raising=bool(last.got.error),
    )


def _state(story: Story, finding: Finding) -> Check:
    if not isinstance(story.state, Snapshot):
        raise UsageError(
            f"nothing is predicted at the finding '{finding.quantity}', so it has no script"
        )
    family = story.trace.geometry.family
    words = meaning(finding.quantity, family)
    place = section(finding.method, family)
    after = "after the last call" if story.steps else "when it is built"
    return Check(
        f"{words}, {after}",
        [
            *comment(f"Predicted: {words} ({place}).", BODY),
            *layout(assigned("expected", literal(predicted(finding.quantity, story.state))), BODY),
            f"    got = {expression(finding.quantity, family)}",
        ],
        raising=bool(story.steps) and bool(story.steps[-1].got.error),
    )


def _raised(finding: Finding, last: Step) -> Check:
    assert last.expected is not None
    predicted_error = last.expected.error or "nothing"
    place = section(finding.method, finding.family)
    return Check(
        f"what {finding.method} raises",
        [
            *comment(f"The contract says that the call raises {predicted_error} ({place}).", BODY),
            f'    expected = "{predicted_error}"',
            "    got = raised.error",
        ],
        raising=True,
    )


def _returned(finding: Finding, last: Step, returned: Variable | None) -> Check:
    assert last.expected is not None
    place = section(finding.method, finding.family)
    name = returned.name if returned is not None else "result"
    if finding.quantity == "returned dtype":
        expected: Code = literal(last.expected.dtype)
        got = f'str({name}.dtype).removeprefix("torch.")'
    else:
        expected = literal(last.expected.value)
        plainly = f"{name} if {name} is None else {name}.tolist()"
        if finding.method == "request_slot_reserve":
            plainly = f"[{name}]"
        got = f"plain({name})" if finding.family in BANDS else plainly
    return Check(
        f"what {finding.method} returns" + (" (dtype)" if "dtype" in finding.quantity else ""),
        [
            *comment(f"The slots that the contract predicts, in order ({place}).", BODY),
            *layout(assigned("expected", expected), BODY),
            f"    got = {got}",
        ],
    )


def _resolved(finding: Finding, last: Step, number: int) -> Check:
    assert last.expected is not None
    place = section(finding.method, finding.family)
    if finding.method in ROW_CALLS:
        return Check(
            "how far the peers of the row are evicted, after the call",
            [
                *comment(f"Where the cursor of the row stands after the call ({place}).", BODY),
                *layout(assigned("expected", literal(last.expected.resolved)), BODY),
                f"    got = [{request_name(number)}.evicted]",
            ],
            raising=bool(last.got.error),
        )
    return Check(
        "the rotation bases after the call, -1 where one is open still",
        [
            *comment(
                f"A base that was open is a class after a call that succeeds ({place}).", BODY
            ),
            *layout(assigned("expected", literal(last.expected.resolved)), BODY),
            f"    got = [-1 if base is None else base for base in {bases_name(number)}]",
        ],
        raising=bool(last.got.error),
    )


def _signal(finding: Finding, last: Step) -> Check:
    assert last.expected is not None
    if finding.quantity == "counted":
        hits = last.expected.counted or ()
        return Check(
            "by how much the counters of the invariants move",
            [
                *comment(
                    "How far each counter moves in the last call (contract_paged_swa §2).", BODY
                ),
                *layout(assigned("expected", literal(_named(hits))), BODY),
                "    got = {",
                "        name: count - counts.get(name, 0)",
                "        for name, count in counters(allocator).items()",
                "        if count != counts.get(name, 0)",
                "    }",
            ],
            before=["    counts = counters(allocator)"],
            raising=bool(last.got.error),
        )
    pairs = [[hit.name, hit.count] for hit in last.expected.hits]
    return Check(
        "which invariants find false elements in the last call, and how many",
        [
            *comment(
                "The invariants in order, with how many false elements (contract_paged_swa §2).",
                BODY,
            ),
            *layout(assigned("expected", literal(pairs)), BODY),
            "    got = hits",
        ],
        before=["    hits = watch_invariants(allocator)"],
        raising=bool(last.got.error),
    )


def _hang(finding: Finding) -> Check:
    return Check(
        f"whether {finding.method} returns",
        [
            "    guard.cancel()",
            '    expected = "the call returns"',
            "    got = expected",
        ],
        before=[f"    guard = watchdog({HANG_SECONDS})"],
        raising=True,
    )


def _named(hits: tuple[Hit, ...]) -> dict[str, int]:
    return {hit.name: hit.count for hit in hits}
