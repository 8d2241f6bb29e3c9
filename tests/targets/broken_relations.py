"""Which mutant breaks which relation on which family, and the short trace on which it does."""

from __future__ import annotations

from functools import cache

from oracle.finding import Finding
from oracle.geometry import Family
from oracle.lockstep import Judging, Session
from oracle.metamorphic import judge_relation, related_traces
from oracle.trace import RelationName, Trace
from strategies.explore import explore
from strategies.reducer import reduce_trace
from targets.registry import make_target

UNJUDGED = Judging(prediction=False, laws=False)

BROKEN_BY: dict[tuple[RelationName, Family], str] = {
    ("grouped", "paged"): "group-pile-aliased",
    ("segment-form", "hybrid-swa"): "representatives-unmapped-only",
    ("extend-in-two", "paged"): "one-page-too-many-taken",
    ("each-side", "hybrid-swa"): "full-segment-through-free",
    ("evict-in-two", "hybrid-swa"): "representatives-one-page-apart",
    ("spare-pages", "paged"): "pages-released-behind",
    ("grouped", "pure-swa"): "sliding-pile-aliased",
    ("segment-form", "pure-swa"): "full-only-free-frees",
    ("grouped", "swa-ring"): "ring-frees-full-side-twice",
    ("segment-form", "swa-ring"): "ring-segments-freed",
    ("each-side", "swa-ring"): "ring-segments-freed",
    ("evict-in-two", "swa-ring"): "ring-segments-freed",
    ("extend-in-two", "page-interleave"): "start-not-moved-by-prefix",
    ("spare-pages", "page-interleave"): "interleaved-pages-behind",
    ("grouped", "hisparse-dsv4"): "full-only-pile-lost",
    ("extend-in-two", "hisparse-dsv4"): "first-of-four-compressed",
    ("alloc-group", "mamba-slots"): "rest-of-states-dropped",
    ("grouped", "unified-swa"): "representative-pile-aliased",
    ("segment-form", "unified-swa"): "peers-forgotten-by-full-free",
    ("each-side", "unified-swa"): "peers-forgotten-by-full-free",
    ("eviction-in-group", "unified-mamba"): "state-flush-forgotten",
    ("flush-deferred", "unified-mamba"): "state-flush-forgotten",
}


@cache
def broken(name: RelationName, family: Family) -> tuple[Finding, Trace]:
    """The finding with which the mutant of ``BROKEN_BY`` breaks the relation, on a reduced trace."""
    mutant = BROKEN_BY[name, family]
    target = make_target(f"mutant:{mutant}")
    met: list[tuple[Finding, Trace]] = []

    def look(trace: Trace, session: Session) -> None:
        for related in related_traces(trace, session.records or ()):
            if related.relation == name and not met:
                finding = judge_relation(related, target)
                met.extend([] if finding is None else [(finding, related)])

    explore(
        target, family, examples=200, seed=3, callers="legal", judging=UNJUDGED,
        on_example=look, stop=lambda: bool(met),
    )  # fmt: skip
    assert met, f"{mutant} keeps {name}"
    finding, trace = met[0]

    def run(candidate: Trace) -> list[Finding]:
        found = judge_relation(candidate, target)
        return [] if found is None else [found]

    reduction = reduce_trace(trace, run, finding.cause, shown=finding)
    return reduction.finding, reduction.trace
