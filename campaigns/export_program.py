"""A story as straight-line code: one statement a call, with the comments that explain it, and the check at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from campaigns.export_calls import CallCode, assigned
from campaigns.export_checks import Check, make_check
from campaigns.export_device import device_page
from campaigns.export_laws import CONTENT_LAWS, law_of, write_lines
from campaigns.export_layout import INDENT, Code, comment, group, layout
from campaigns.export_names import FixedNames, Variable
from campaigns.export_shapes import shape_of
from campaigns.export_story import Step, Story
from campaigns.export_unified import writes_kv
from campaigns.export_unified_calls import ANSWERING, TOKENS, TOLD, UnifiedCallCode, UnifiedNames
from campaigns.export_words import ALLOCATING, further_words
from oracle.geometry import BANDS, Geometry
from oracle.kv_content import written_by

BODY = INDENT
Looking = Callable[[Story, list[Variable | None]], Check]
"""Makes a check of a story and of what each of its steps returned."""

WHATS = {
    "free_group_begin": "frees wait from here on",
    "free_group_end": "what waits is freed now",
    "merge_and_sort_free": "staged pages join the free list, sorted",
    "clear": "back to the state after construction",
    "resize": "other sizes, in slots, and back to the state after construction",
    "backup_state": "the allocator's state is kept",
    "restore_state": "and put back",
}


@dataclass
class SecondRun:
    """The run that has to come to the same: the lines of its function, its steps from where it is another one, how many slots more
    its allocator has, and the sentence that promises the same.
    """

    lines: list[str]
    steps: list[Step]
    spare: int
    promise: str


@dataclass
class Program:
    """The lines of the function that makes the calls, in words what it checks at the end, and the second run where there is one."""

    lines: list[str]
    checked: str
    second: SecondRun | None = None


class _Writer:
    """Writes the calls one after the other. Variables that nothing refers to later are not assigned."""

    def __init__(self, story: Story, look: Looking | None = None) -> None:
        self.story = story
        self.bands = BANDS.get(story.trace.geometry.family, ())
        self.unified = bool(self.bands)
        self.names = fixed_names(story.trace.geometry)
        self.shape = shape_of(story.trace.geometry.family)
        self.every = UnifiedNames(story.trace.geometry.page_size)
        finding = story.finding
        self.hazard = finding is not None and finding.kind == "hazard"
        self.writes = finding is not None and law_of(finding.quantity)[1] in CONTENT_LAWS
        self.numbers = finding is None or writes_kv(finding.quantity)
        self.prepared = [self._prepare(number, step) for number, step in enumerate(story.steps)]
        last = self.prepared[-1][1] if self.prepared else None
        if last is not None and look is None:
            last.used = True
        names = self.every if self.unified else self.names
        if look is None:
            self.check = make_check(story, names, last)
        else:
            self.check = look(story, [variable for _, variable, _ in self.prepared])

    def _prepare(
        self, number: int, step: Step
    ) -> tuple[CallCode | None, Variable | None, list[str]]:
        """Resolve names in order; the lines are written once all uses are known."""
        if step.call is None:
            return None, None, []
        if self.unified:
            return self._prepare_unified(number, step)
        place = self.shape.place(step.call.pool)
        code = CallCode(step.call, self.names.of(step.call), number + 1, place)
        is_last = number == len(self.story.steps) - 1
        variable = None
        if step.got.value is not None or (is_last and step.call.method in ALLOCATING):
            variable = self.names.add(step.call, step.got.value or (), number + 1)
        stamped: list[str] = []
        if self.writes:
            for stamp in step.stamps:
                stamped += write_lines(self.names.tokens, stamp.slots, stamp.tags, stamp.loaded)
        return code, variable, stamped

    def _prepare_unified(
        self, number: int, step: Step
    ) -> tuple[CallCode | None, Variable | None, list[str]]:
        call = step.call
        assert call is not None
        code = UnifiedCallCode(call, self.every, number + 1)
        is_last = number == len(self.story.steps) - 1
        variable = None
        returns = call.method in TOKENS or call.method in ANSWERING
        if step.got.value is not None or (is_last and returns):
            variable = self.every.add(call, step.got.value or (), number + 1)
        return code, variable, self._numbered(step, variable) if self.numbers else []

    def _numbered(self, step: Step, variable: Variable | None) -> list[str]:
        """The statement with which the KV is written that comes with a call."""
        assert step.call is not None
        slots, bands = written_by(step.call, step.got)
        if not slots:
            return []
        named: Code
        if step.call.method == "set_full_to_swa_mapping":
            named = self.every.tokens.tensor(slots, wide=True)
        else:
            assert variable is not None
            variable.used = True
            named = variable.name
        names = [f'"{name}"' for name in bands if name in self.bands]
        return layout(group("wrote(", ["allocator", named, *names], ")"), BODY)

    def lines(self) -> list[str]:
        """Every statement, comments included."""
        lines: list[str] = []
        if any(step.call and step.call.method == "backup_state" for step in self.story.steps):
            lines.append("    backups = []")
        if self.story.trace.family == "swa-ring":
            lines.append("    request_slots = request_pool(allocator)  # the caller's own")
        if self.story.trace.family == "hybrid-rows":
            lines.append("    rows = row_layer(allocator)  # frees rows by their cursors")
        last = len(self.story.steps) - 1
        for number, step in enumerate(self.story.steps):
            code, variable, stamped = self.prepared[number]
            lines += (
                ["", *comment(self._told(step), BODY)] if lines else comment(self._told(step), BODY)
            )
            for reason in step.reasons:
                lines += comment(f"The caller breaks the contract: {reason}.", BODY)
            if code is None:
                continue
            if number == last and self.check.before:
                lines += self.check.before
            lines += self._call(step, code, variable, is_last=number == last)
            lines += stamped
        if lines:
            lines.append("")
        if not self.story.steps:
            lines += self.check.before
        return lines + self.check.after

    def _call(
        self, step: Step, code: CallCode, variable: Variable | None, *, is_last: bool
    ) -> list[str]:
        lines = [line for before in code.before for line in layout(before, BODY)]
        assert step.call is not None
        statement: Code = code.expression
        if step.call.method == "backup_state":
            statement = group("backups.append(", [statement], ")")
        if variable is not None and variable.used:
            statement = assigned(variable.name, statement)
        guard = self._guard(step, is_last=is_last)
        if guard:
            lines.append(f"    with {guard}:")
        lines += layout(statement, BODY + (INDENT if guard else 0))
        return lines + [f"    {after}" for after in code.after]

    def _guard(self, step: Step, *, is_last: bool) -> str:
        """What stands around the call: who may raise what there."""
        if is_last and self.check.raising:
            return "raising() as raised"
        error = (step.expected or step.got).error
        if error.startswith("invariant:"):
            return "suppress(RuntimeError)"
        if error:
            return f"suppress({error if error.isidentifier() else 'Exception'})"
        return "caller_error()" if self.hazard and step.breaches else ""

    def _told(self, step: Step) -> str:
        head = f"Operation {step.index} ({step.operation})"
        if step.call is None:
            return f"{head}: a new request shares pages of another row; no call."
        what = WHATS.get(step.call.method) or further_words(step.call) or step.about
        if self.unified and step.call.pool == "state" and step.call.method in ("alloc", "free"):
            what = f"{step.call.method}s states"
        elif self.unified and not (step.call.method in TOKENS and step.got.value):
            what = TOLD.get(step.call.method, what)
        error = (step.expected or step.got).error
        refused = f"; the contract refuses this with {error}" if error else ""
        return f"{head}: {what}{refused}."


def fixed_names(geometry: Geometry) -> FixedNames:
    """The variables of a program for an allocator of fixed pools."""
    states = geometry.family == "mamba-slots"
    page = device_page(geometry)
    return FixedNames(geometry.page_size, page, "states" if states else "row")


def write_program(story: Story, look: Looking | None = None) -> Program:
    """The body of the function that reproduces the story. Raises ``UsageError`` for a finding that no script can show.

    ``look`` makes the check, None: that of the story's finding.
    """
    writer = _Writer(story, look)
    check: Check = writer.check
    return Program(writer.lines(), check.checked)
