"""State machines: for a family, a Hypothesis machine with a rule for each kind of operation, made from the table.

Guarantees that nothing a target returns feeds back into what is drawn, and that each example ends with a drain and is
handed over as a trace. Knows two ways to end: raising the first finding, or never raising.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from hypothesis.strategies import SearchStrategy, booleans, sampled_from

from oracle.contract import Contract
from oracle.errors import UsageError
from oracle.finding import Finding, raise_finding
from oracle.geometry import Mode
from oracle.lockstep import Session
from oracle.operations import Alloc, Base, Drain
from oracle.target import Target
from oracle.trace import Callers, Trace
from strategies.breaches import DRAWN, chosen_breaches, possible_breaches
from strategies.geometries import DRAWN_FAMILIES, geometry_arguments, make_geometry
from strategies.rules import RuleSpecification, rules_for
from strategies.setting import MachineSetting, Raising
from strategies.statistics import ExplorationStatistics
from strategies.upkeep import Upkeep

RESTING_STEPS = 2

FIRST_ROWS: tuple[tuple[int, ...], ...] = (
    (), (0,), (0, 0), (1,), (1, 0), (0, 1), (2,), (0, 0, 0), (1, 1), (0, 2, 0), (3,), (0, 0, 0, 0),
)  # fmt: skip
"""Rows that an example starts with, so that one in which swarm testing switched the allocating rules off is not idle."""

SECOND_BREACHES = (*[None] * 50, *range(0, DRAWN, 2))
"""Half of the callers that break one precondition break another one too."""

OnExample = Callable[[Trace, Session], None]


class AllocatorMachine(RuleBasedStateMachine):
    """The part that all machines share: it steps a session and keeps the trace. Use ``make_machine``."""

    setting: MachineSetting
    contract: Contract
    raising: Raising
    accepted: Callable[[Finding], bool] | None
    statistics: ExplorationStatistics
    on_example: OnExample | None
    idle_examples: ClassVar[int] = 0
    """How many of the next examples do nothing and are not handed over."""

    def __init__(self) -> None:
        super().__init__()
        self._idle = type(self).idle_examples > 0
        if self._idle:
            type(self).idle_examples -= 1
        self.drawn = 0
        """How many rules ran, whether or not the session was finished: what is drawn depends on nothing else."""
        self.operations: list[Base] = []
        self.session: Session | None = None
        self._callers: Callers = self.setting.callers
        self._may_break: tuple[str, ...] | None = None
        self._interrupted = False
        self._upkeep: Upkeep

    def start_session(
        self,
        *,
        rows: tuple[int, ...],
        debug: bool = False,
        hostile: bool | None = None,
        breach: int = 0,
        also: int | None = None,
        **sizes: Any,
    ) -> None:
        """Build what the example runs on, and allocate ``rows`` (extra pages of each).

        ``hostile`` picks a side for mixed callers, ``breach`` and ``also`` go to ``chosen_breaches``, ``sizes`` to
        ``make_geometry``.
        """
        if self._idle:
            return
        setting = self.setting
        geometry = setting.geometry or make_geometry(setting.family, **sizes)
        if hostile is not None:
            self._callers = "hostile" if hostile else "legal"
        self._upkeep = Upkeep(geometry, hostile=self._callers != "legal")
        if self._callers != "legal":
            possible = possible_breaches(geometry, self.contract)
            self._may_break = chosen_breaches(possible, breach, also)
        if setting.debug is not None:
            debug = setting.debug
        self.session = Session(
            setting.targets,
            geometry,
            Mode(level=setting.level, debug=debug),
            self._callers,
            setting.judging,
            may_break=self._may_break,
            keep_records=True,
        )
        self._raise_first()
        for amount in rows:
            self._step(Alloc(amount=amount, unit="pages"))

    def perform(self, operation: Base) -> None:
        """Step a drawn operation, after the upkeep that is due."""
        self.drawn += 1
        if self.session is None or self.session.finished:
            return
        upkeep = self._upkeep.due()
        if upkeep is not None:
            self._step(upkeep)
        self._step(operation)

    def _step(self, operation: Base) -> None:
        """Step the session, count what happened, and raise where the machine is to raise."""
        session = self.session
        if session is None or session.finished:
            return
        self.operations.append(operation)
        self._upkeep.saw(operation)
        records = session.records or []
        first, rows = len(records), _rows_of(session)
        self._interrupted = True
        status = session.step(operation)
        self._interrupted = False
        # A fork makes no call, nor does an insert: it is done when there is one row more, or one node of the tree.
        forked = _rows_of(session) > rows
        self.statistics.count(operation, "done" if forked else status, records[first:])
        self._raise_first()

    def trace(self) -> Trace:
        """The example so far."""
        assert self.session is not None, "the trace of a machine that was not started"
        return Trace(
            geometry=self.session.geometry,
            mode=self.session.mode,
            callers=self._callers,
            may_break=self._may_break,
            operations=tuple(self.operations),  # type: ignore[arg-type]
        )

    def teardown(self) -> None:
        """Drain, judge that too, and hand the trace over (unless the example was cut off in the middle of a call)."""
        if self.session is None or self._interrupted:
            return
        try:
            if not (self.raising != "never" and self._raisable()):
                self._step(Drain())
        finally:
            if not self._interrupted and self.on_example is not None:
                self.on_example(self.trace(), self.session)

    def _raisable(self) -> list[Any]:
        assert self.session is not None
        found = self.session.findings
        return [
            one
            for one in found
            if (self.raising == "hazards" or one.kind != "hazard")
            and not (self.accepted is not None and self.accepted(one))
        ]

    def _raise_first(self) -> None:
        if self.raising == "never" or self.session is None or not self.session.findings:
            return
        found = self._raisable()
        if found:
            raise_finding(found[0])


def make_machine(
    setting: MachineSetting,
    *,
    raising: Raising = "never",
    accepted: Callable[[Finding], bool] | None = None,
    on_example: OnExample | None = None,
    statistics: ExplorationStatistics | None = None,
) -> type[AllocatorMachine]:
    """A machine class for ``setting``. Raises ``UsageError`` when a target does not have the family or the geometry.

    A finding that is ``accepted`` ends its example and raises nothing. ``on_example`` is called with each finished
    example; ``statistics`` counts every operation.
    """
    contract = setting.targets[0].contract(setting.family) if setting.targets else None
    if contract is None:
        names = ", ".join(target.name for target in setting.targets) or "no target"
        raise UsageError(f"{names} does not have the {setting.family} family")
    if setting.geometry is not None:
        # Said here, once and plainly, rather than from inside an example.
        Session(setting.targets, setting.geometry)
    elif setting.family not in DRAWN_FAMILIES:
        raise UsageError(f"no geometry of the {setting.family} family can be drawn: give one")
    start: dict[str, SearchStrategy[Any]]
    start = geometry_arguments(setting.family, contract, setting.geometry)
    start["rows"] = sampled_from(FIRST_ROWS)
    if setting.debug is None and contract.has_debug:
        start["debug"] = sampled_from((False, False, False, True))
    if setting.callers == "mixed":
        start["hostile"] = booleans()
    if setting.callers != "legal":
        start["breach"] = sampled_from(range(DRAWN))
        start["also"] = sampled_from(SECOND_BREACHES)
    members: dict[str, Any] = {
        "__doc__": f"Drives the {setting.family} family.",
        "setting": setting,
        "contract": contract,
        "raising": raising,
        "accepted": staticmethod(accepted) if accepted is not None else None,
        "on_example": staticmethod(on_example) if on_example is not None else None,
        "statistics": statistics if statistics is not None else ExplorationStatistics(),
        "start": _initialized(_starter(), start),
        "alloc_page": rule()(_one_page()),
    }
    for specification in rules_for(setting.family, contract, setting.callers):
        made = _make_rule(specification)
        for copy in range(specification.copies):
            members[f"{specification.name}_{copy}"] = made
    return type(setting.machine_name(), (AllocatorMachine,), members)


def _rows_of(session: Session) -> int:
    books = session.caller.books
    return len(books.requests) + len(books.tree)


def _initialized(
    start: Callable[..., None], arguments: dict[str, SearchStrategy[Any]]
) -> Callable[..., None]:
    made: Callable[..., None] = initialize(**arguments)(start)  # type: ignore[call-overload]
    return made


def _starter() -> Callable[..., None]:
    def start(self: AllocatorMachine, **drawn: Any) -> None:
        self.start_session(**drawn)

    return start


def _one_page() -> Callable[..., None]:
    # Hypothesis tries the simplest rule first and shrinks towards it: fewest arguments, then the
    # name. So the rule without arguments that sorts first must be the one that gets things going.
    def alloc_page(self: AllocatorMachine) -> None:
        self.perform(Alloc(unit="pages"))

    return alloc_page


def _make_rule(specification: RuleSpecification) -> Callable[..., None]:
    kind = specification.kind

    def step(self: AllocatorMachine, **fields: Any) -> None:
        self.perform(kind(**fields))

    step.__name__ = step.__qualname__ = specification.name
    # The overloads of rule leave no room for arguments that are only known at run time.
    made: Callable[..., None] = rule(**specification.arguments)(step)  # type: ignore[call-overload]
    if specification.rests:
        made = precondition(_is_awake)(made)
    return made


def _is_awake(machine: Any) -> bool:
    awake: bool = machine.drawn % RESTING_STEPS == RESTING_STEPS - 1
    return awake


def targets_of(targets: Target | Sequence[Target]) -> tuple[Target, ...]:
    """One target or several, as a tuple."""
    return (targets,) if isinstance(targets, Target) else tuple(targets)
