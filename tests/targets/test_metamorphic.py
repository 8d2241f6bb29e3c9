"""Relations between two runs hold on ``eager`` and on the prediction of every release line, and mutants break them."""

from __future__ import annotations

from collections import Counter

import pytest

from oracle import operations as op
from oracle.contract import Contract
from oracle.finding import Finding
from oracle.geometry import ALL_FAMILIES, FAMILIES, Family, Geometry, Mode
from oracle.lockstep import Session, run_trace
from oracle.metamorphic import RELATIONS, judge_relation, related_traces, run_both
from oracle.prediction import make_prediction
from oracle.target import Target
from oracle.trace import RelationName, Trace, decode_trace, encode_trace
from strategies.explore import explore
from targets.reference import ReferenceTarget
from targets.registry import make_target
from targets.sglang.contracts import contract_for_version
from tests.targets.broken_relations import BROKEN_BY, UNJUDGED, broken
from tests.targets.planted_relation_faults import PlantedTarget

ROWS = (op.Alloc(amount=2), op.Extend(parts=(op.Part(amount=9),)))


class ReleaseLine(ReferenceTarget):
    """What the contract of a release says, as a target."""

    def __init__(self, version: str) -> None:
        super().__init__()
        self._version = version

    def contract(self, family: str) -> Contract | None:
        return contract_for_version(self._version, family, power_of_two_pages=False)

    def reset(self, geometry: Geometry, mode: Mode) -> None:
        contract = self.contract(geometry.family)
        assert contract is not None
        self._reference = make_prediction(geometry, mode, contract)


def judged(target: Target, family: Family, examples: int) -> tuple[Counter[str], list[Finding]]:
    """How often each relation applied on random legal traces, and what was found."""
    applied: Counter[str] = Counter()
    found: list[Finding] = []

    def look(trace: Trace, session: Session) -> None:
        for related in related_traces(trace, session.records or ()):
            applied[str(related.relation)] += run_both(related, target) is not None
            finding = judge_relation(related, target)
            if finding is not None:
                found.append(finding)

    explore(
        target,
        family,
        examples=examples,
        seed=3,
        callers="legal",
        judging=UNJUDGED,
        on_example=look,
    )
    return applied, found


def spoken_of(family: Family) -> set[RelationName]:
    return {name for name, relation in RELATIONS.items() if family in relation.families}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_relation_holds_on_eager(family: Family) -> None:
    applied, found = judged(make_target("eager"), family, 27)
    assert not found, found[0].sentence()
    assert set(applied) == spoken_of(family)
    assert min(applied.values()) >= 2, applied


@pytest.mark.long
@pytest.mark.parametrize("family", [family for family in ALL_FAMILIES if family not in FAMILIES])
def test_every_relation_holds_on_eager_in_the_other_families(family: Family) -> None:
    applied, found = judged(make_target("eager"), family, 60)
    assert not found, found[0].sentence()
    assert {name for name, times in applied.items() if times} == spoken_of(family)


@pytest.mark.parametrize("family", ALL_FAMILIES)
def test_what_no_mutant_breaks_in_a_family_a_planted_fault_breaks(family: Family) -> None:
    broken_ones: set[str] = set()
    wanted = {name for name in spoken_of(family) if (name, family) not in BROKEN_BY}
    planted = {name: PlantedTarget(name) for name in wanted}

    def look(trace: Trace, session: Session) -> None:
        for related in related_traces(trace, session.records or ()):
            name = related.relation
            if isinstance(name, str) and name in wanted - broken_ones:
                finding = judge_relation(related, planted[name])
                broken_ones.update([] if finding is None else [name])

    explore(
        make_target("eager"), family, examples=200, seed=3, callers="legal", judging=UNJUDGED,
        on_example=look, stop=lambda: len(broken_ones) == len(planted),
    )  # fmt: skip
    assert broken_ones == set(planted), "a relation that holds whatever happens says nothing"


@pytest.mark.parametrize("version", ["0.5.14", "0.5.17", "0.5.19"])
def test_every_relation_holds_where_the_contract_has_other_choices(version: str) -> None:
    for family in FAMILIES:
        applied, found = judged(ReleaseLine(version), family, 16)
        assert not found, found[0].sentence()
        assert sum(applied.values()) > 10, applied


@pytest.mark.parametrize(("name", "family"), BROKEN_BY)
def test_a_mutant_breaks_each_relation_and_the_trace_gets_short(
    name: RelationName, family: Family
) -> None:
    finding, trace = broken(name, family)
    assert finding.kind == "metamorphic"
    assert finding.quantity.startswith(f"{name}: ")
    assert len(trace.operations) <= 9, trace.operations
    assert trace.relation == name
    assert judge_relation(trace, make_target("eager")) is None


def test_a_trace_keeps_its_relation_on_disk_and_is_judged_by_it_when_it_is_run() -> None:
    geometry = Geometry(family="paged", size=16, page_size=4)
    trace = Trace(
        geometry=geometry,
        callers="legal",
        operations=(*ROWS, op.Free(request=1, count=99, overwrite=True)),
        relation="grouped",
    )
    read = decode_trace(encode_trace(trace))
    assert read == trace
    assert b"relation" not in encode_trace(Trace(geometry=geometry))
    assert not run_trace(read, [make_target("eager")]).findings
    found = run_trace(read, [make_target("mutant:group-pile-aliased")]).findings
    assert [finding.kind for finding in found] == ["metamorphic"]
    assert found[0].index == 2


def test_a_relation_says_nothing_of_what_it_is_not_about() -> None:
    target = make_target("eager")
    geometry = Geometry(family="token", size=16)
    rows = (op.Alloc(amount=2), op.Alloc(amount=3))
    for callers, operations, relation in (
        ("legal", (), "grouped"),
        ("legal", rows, "grouped"),  # ends with no free
        ("hostile", (*rows, op.Release()), "grouped"),
        ("legal", (*rows, op.GroupBegin(), op.Release()), "grouped"),  # in a group already
        ("legal", (*rows, op.Release()), "each-side"),  # no other side
        ("legal", (*rows, op.Release()), "spare-pages"),  # a queue of slots
        ("legal", (op.Extend(parts=(op.Part(amount=1),)),), "extend-in-two"),  # nothing to cut
    ):
        trace = Trace(
            geometry=geometry,
            callers=callers,  # type: ignore[arg-type]
            operations=operations,
            relation=relation,  # type: ignore[arg-type]
        )
        assert run_both(trace, target) is None, (operations, relation)
