"""A broken relation as a program: both runs of the trace, each on an allocator of its own, and what they have to have in common.

Guarantees that the program makes the calls of ``oracle.metamorphic.run_both`` and compares the quantity of the finding. Judges
nothing itself.
"""

from __future__ import annotations

import dataclasses

from msgspec import UnsetType

from campaigns.export_calls import request_name
from campaigns.export_checks import Check
from campaigns.export_layout import comment
from campaigns.export_names import Variable
from campaigns.export_program import Looking, Program, SecondRun, write_program
from campaigns.export_quantities import expression, meaning
from campaigns.export_shapes import shape_of
from campaigns.export_story import Step, Story, tell_unjudged
from campaigns.export_unified import state_expression, state_words
from oracle.errors import UsageError
from oracle.finding import Finding
from oracle.geometry import BANDS, Family
from oracle.metamorphic import RELATIONS, run_both
from oracle.metamorphic.check import Related
from oracle.metamorphic.running import is_failure
from oracle.target import Target
from oracle.trace import Trace

BODY = 4
LAST_ANSWERS = frozenset({"verdict", "evicted", "resolved"})


def write_related(trace: Trace, target: Target, finding: Finding) -> tuple[Story, Program]:
    """The story of the first run, and the program that shows ``finding``: the relation of ``trace`` is broken on ``target``.

    Raises ``UsageError`` where the target shows no two runs, or the finding is nothing that a program can compare.
    """
    related = run_both(trace, target)
    if related is None or isinstance(trace.relation, UnsetType):
        raise UsageError(f"there are no two runs that could show the finding '{finding.quantity}'")
    name, _, quantity = finding.quantity.partition(": ")
    first, second = (
        dataclasses.replace(tell_unjudged(run, target), finding=finding)
        for run in (trace, related.other)
    )
    if quantity == "outcome":
        second.steps = _until_failure(second, related)
    differing = 0 if name == "spare-pages" else related.common
    program = write_program(first, _looking(quantity, differing))
    program.second = SecondRun(
        write_program(second, _looking(quantity, differing, is_second=True)).lines,
        [step for step in second.steps if step.index >= differing],
        related.other.geometry.size - trace.geometry.size,
        RELATIONS[trace.relation].promise,
    )
    return first, program


def _until_failure(story: Story, related: Related) -> list[Step]:
    steps = story.steps
    for number, step in enumerate(steps):
        failed = step.call is not None and is_failure(step.call, step.got)
        if step.index >= related.common and failed:
            return steps[: number + 1]
    raise UsageError("the second run fails nowhere when it is made once more")


def _looking(quantity: str, first_index: int, *, is_second: bool = False) -> Looking:
    """What makes the end of one run, where its result is returned. ``first_index``: the first operation that matters."""

    def look(story: Story, variables: list[Variable | None]) -> Check:
        if quantity == "outcome":
            return _outcome(story, variables[-1] if is_second else None, is_second=is_second)
        if quantity == "returned":
            return _returned(story, variables, first_index)
        if quantity in LAST_ANSWERS:
            return _answer(quantity, story, variables[-1])
        code, words = state_code(quantity, story.trace.geometry.family)
        return Check(words, _result(words, code))

    return look


def _outcome(story: Story, returned: Variable | None, *, is_second: bool) -> Check:
    step = story.steps[-1]
    assert step.call is not None
    checked = f"whether {step.call.method} fails in the second run only"
    if not is_second:
        return Check(checked, ['    return "granted"'])
    if step.got.error:
        lines = ['    return "granted" if raised.error == "nothing" else raised.error']
        return Check(checked, lines, raising=True)
    assert returned is not None
    returned.used = True
    return Check(checked, [f'    return "refused" if {returned.name} is None else "granted"'])


def _returned(story: Story, variables: list[Variable | None], first_index: int) -> Check:
    handed_out = []
    for step, variable in zip(story.steps, variables, strict=True):
        if variable is not None and step.index >= first_index and step.got.value is not None:
            variable.used = True
            handed_out.append(variable.name)
    answers = f"({', '.join(handed_out)}{',' if len(handed_out) == 1 else ''})"
    words = "the slots that were handed out, in order"
    lines = [
        *comment(f"Compared: {words}.", BODY),
        f"    answers = {answers}",
        "    given = [answer for answer in answers if answer is not None]",
        "    return [slot for answer in given for slot in answer.tolist()]",
    ]
    return Check(words, lines)


def _answer(quantity: str, story: Story, returned: Variable | None) -> Check:
    """What the last call says."""
    number = len(story.steps)
    if quantity == "verdict":
        assert returned is not None
        returned.used = True
        code, words = f"plain({returned.name})", "the verdict of the last call"
    elif quantity == "evicted":
        code, words = f"tree{number}.evicted", "what the tree gave up"
    else:
        code, words = f"{request_name(number)}.evicted", "the cursor after the last call"
    return Check(words, _result(words, code))


def _result(words: str, code: str) -> list[str]:
    return [*comment(f"Compared: {words}.", BODY), f"    return {code}"]


def state_code(quantity: str, family: Family) -> tuple[str, str]:
    """How a script reads a quantity of ``oracle.metamorphic.relation``, and the quantity in words. Raises ``UsageError``."""
    found = _unified_code(quantity) if family in BANDS else _fixed_code(quantity, family)
    if found is None:
        raise UsageError(f"no program can compare the quantity '{quantity}'")
    return found


def _fixed_code(quantity: str, family: Family) -> tuple[str, str] | None:
    pool, _, name = quantity.partition(".")
    shape = shape_of(family)
    if name == "free or staged":
        words = f"the pages of the {shape.label(pool)} pool that are free or staged, sorted"
        return f"sorted(listed_pages({shape.place(pool)}))", words
    if quantity == "classes free or staged":
        return "class_pages(allocator)", "the pages of each class that are free or staged, sorted"
    code = expression(quantity, family)
    return None if code is None else (code, meaning(quantity, family))


def _unified_code(quantity: str) -> tuple[str, str] | None:
    band, _, name = quantity.partition(".")
    state = f'look(allocator)["bands"]["{band}"]'
    if name == "free ids":
        return f'sorted({state}["free_ids"] or [])', f"the ids of the {band.upper()} band, sorted"
    if name == "bound":
        words = f"the virtual pages that are bound in the {band.upper()} band"
        return f'bound_pages(allocator, "{band}")', words
    code = state_expression(quantity)
    return None if code is None else (code, state_words(quantity))
