"""Export a trace as a program that shows its finding without kvoracle: a script, a pytest file or a bug report.

Guarantees that what is written needs torch and the target only (our own targets need this package), that it makes the
calls of the trace up to the finding, and that it ends with 1 while the fault is there, with 0 when it is gone and with 2
when it cannot run. Runs on a CPU. Does not shorten the trace: the reducer does.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from campaigns.export_build import Build, make_build, shape_context
from campaigns.export_layout import comment, inline, literal
from campaigns.export_program import Program, write_program
from campaigns.export_relation import write_related
from campaigns.export_replay import RecordsDifferError, recorded_target
from campaigns.export_run import run_script
from campaigns.export_story import Step, Story, tell
from campaigns.export_templates import IMPORTS_HERE, helpers_for, imports_for, render_template
from campaigns.export_unified_build import unified_functions
from campaigns.messages import EXPORT_FORMATS, ExportFormat
from campaigns.output_folder import write_whole
from oracle.errors import UsageError
from oracle.finding import Finding, signature
from oracle.geometry import BANDS
from oracle.metamorphic import judge_relation
from targets.mode import LEVEL_NUMBERS
from targets.registry import make_target

if TYPE_CHECKING:
    from oracle.lockstep import Session
    from oracle.target import Target
    from oracle.trace import Trace

__all__ = ["render", "run_script", "write_script"]

LEVEL_MEANINGS = {
    "off": "a broken invariant says nothing",
    "warn": "a broken invariant is counted, and raised where nothing contains it",
    "strict": "a broken invariant is raised",
}


def render(
    trace: Trace,
    target: str,
    *,
    format: ExportFormat = "script",  # noqa: A002 (the option's name)
    finding: Finding | None = None,
    session: Session | None = None,
    file_name: str = "",
    made: Target | None = None,
) -> str:
    """The text of a program that shows ``finding`` (None: the first finding of the trace, or that there is none).

    ``target`` is a specification (``sglang==0.5.23``, ``eager``). The trace is run once on the target for its concrete
    calls, or, with a ``session`` of that target alone that kept its records, on those records; of a broken relation it is run
    twice, on ``made`` where the target was made before (a process has one release). ``file_name`` is the name that the
    text tells people to run. Raises ``UsageError`` and ``TargetUnavailable``.
    """
    if format not in EXPORT_FORMATS:
        raise UsageError(f"there is no export format {format!r}: use {', '.join(EXPORT_FORMATS)}")
    story, program = _told(trace, target, finding, session, made)
    spare = program.second.spare if program.second else 0
    build = make_build(target, trace.geometry, trace.mode, spare)
    name = signature(story.finding, trace.operations) if story.finding else "agreement"
    if format == "markdown":
        file_name = file_name or f"{name}.py"
        script = _render("script", story, program, build, file_name)
        return _report(story, program, target, build, script, file_name)
    prefix = "" if format == "script" else "test_"
    return _render(format, story, program, build, file_name or f"{prefix}{name}.py")


def write_script(
    trace: Trace,
    target: str,
    path: Path,
    finding: Finding | None = None,
    *,
    session: Session | None = None,
) -> None:
    """Write the script to ``path``, whole or not at all. Raises as ``render``, and ``UsageError`` when it cannot be written."""
    text = render(trace, target, finding=finding, session=session, file_name=path.name)
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise UsageError(f"cannot write the script {path}: {error.strerror}") from error


def _told(
    trace: Trace,
    target: str,
    finding: Finding | None,
    session: Session | None,
    made: Target | None,
) -> tuple[Story, Program]:
    """What the program tells, and its calls: of two runs where the finding is a broken relation."""
    if trace.relation and finding is None:
        made = made or make_target(target)
        finding = judge_relation(trace, made)
    if finding is not None and finding.kind == "metamorphic":
        return write_related(trace, made or make_target(target), finding)
    story = _story(trace, target, finding, session)
    return story, write_program(story)


def _story(trace: Trace, target: str, finding: Finding | None, session: Session | None) -> Story:
    if session is not None:
        # A target that differs from its prediction before the finding can lead the records astray.
        with suppress(RecordsDifferError):
            return tell(trace, recorded_target(session, target), finding)
    return tell(trace, make_target(target), finding)


def _render(format_: str, story: Story, program: Program, build: Build, file_name: str) -> str:
    context = {
        "geometry": story.trace.geometry,
        "mode": story.trace.mode,
        **shape_context(story.trace.geometry.family),
        "own": build.own,
        "attributes": build.attributes,
    }
    second = program.second
    body = "\n".join([*program.lines, *(second.lines if second else [])])
    helpers = helpers_for(body, family=story.trace.family, **context)
    if story.trace.family in BANDS:
        helpers += unified_functions(body, story.trace.geometry, own=build.own)
    rendered = render_template(
        f"{format_}.py.j2",
        **context,
        title=_title(story),
        summary=_wrapped(_summary(story, program)),
        needs=_wrapped(build.needs),
        usage=build.usage,
        usage_text=_wrapped(build.usage_text),
        file_name=file_name,
        level_number=LEVEL_NUMBERS[story.trace.mode.level],
        level_meaning=LEVEL_MEANINGS[story.trace.mode.level],
        environment=build.environment,
        helpers=helpers,
        build=build.code.strip("\n"),
        body=program.lines,
        second=second.lines if second else [],
        spare=second.spare if second else 0,
        checked=inline(literal(program.checked)),
        test_name=_test_name(story),
        test_sentence=_title(story),
    )
    # What is imported follows from what is written, so the place is filled last.
    rendered = rendered.replace(IMPORTS_HERE, imports_for(rendered), 1)
    return rendered.rstrip("\n") + "\n"


def _report(
    story: Story, program: Program, target: str, build: Build, script: str, file_name: str
) -> str:
    finding, second = story.finding, program.second
    return render_template(
        "report.md.j2",
        title=_title(story).rstrip("."),
        summary=_summary(story, program),
        target=target,
        versions=finding.versions if finding else {},
        geometry=story.trace.geometry,
        mode=story.trace.mode,
        level_meaning=LEVEL_MEANINGS[story.trace.mode.level],
        **shape_context(story.trace.geometry.family),
        steps=_steps(story.steps),
        second=_steps(second.steps) if second else [],
        finding=finding,
        rule=build.rule(finding),
        promise=second.promise if second else "",
        script=script,
        file_name=file_name,
        usage=build.usage,
        needs=build.needs,
        usage_text=build.usage_text,
    )


def _steps(steps: list[Step]) -> list[dict[str, object]]:
    """What a report says of each step."""
    return [
        {
            "index": step.index,
            "operation": step.operation,
            "about": step.about,
            "method": step.call.method if step.call else "",
            "reasons": step.reasons,
        }
        for step in steps
    ]


def _title(story: Story) -> str:
    finding = story.finding
    if finding is None:
        return f"The {story.trace.family} allocator does as the contract says."
    after = f" after the caller broke '{finding.breach}'" if finding.breach else ""
    return f"{finding.kind.capitalize()} on {finding.target}: {finding.quantity}{after}."


def _summary(story: Story, program: Program) -> str:
    finding = story.finding
    if finding is None:
        return "No finding: this makes the calls of the trace and compares the state after the last one."
    if program.second is not None:
        return (
            f"Two runs come to different ends though {program.second.promise}: "
            f"the first to {finding.expected}; the second to {finding.got}."
        )
    return (
        f"Operation {finding.index} of the trace ({finding.operation}, {finding.method}): "
        f"expected {finding.expected}; got {finding.got}."
    )


def _test_name(story: Story) -> str:
    finding = story.finding
    words = (
        f"{story.trace.family} agrees with the contract"
        if finding is None
        else f"{finding.family} {finding.quantity} {finding.breach and 'after ' + finding.breach}"
    )
    return re.sub(r"\W+", "_", words.lower()).strip("_")


def _wrapped(text: str) -> str:
    return "\n".join(line[2:] for line in comment(text.replace("\\", "\\\\"), 0))
