"""Which parts of a trace are worth a relation: for each relation a few prefixes that end in a subject of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from oracle.lockstep import CallRecord
from oracle.metamorphic.check import RELATIONS
from oracle.metamorphic.relation import Relation
from oracle.metamorphic.running import is_failure
from oracle.metamorphic.spare_pages import asks_for_sizes
from oracle.trace import Trace


def related_traces(trace: Trace, records: Iterable[CallRecord]) -> Iterator[Trace]:
    """The prefixes of ``trace``, each with the relation that is to be judged at its end. Of legal callers only.

    ``records`` are the calls that the trace made. Each relation gets its last subject and that with the most slots, because each
    subject costs two runs of what comes before it.
    """
    if trace.callers != "legal":
        return
    slots: Counter[int] = Counter()
    failed = set()
    for record in records:
        slots[record.index] += 1 + len(record.call.slots) + record.call.extend_num_tokens
        if is_failure(record.call, record.got):
            failed.add(record.index)
    for name, relation in RELATIONS.items():
        if trace.family not in relation.families:
            continue
        if name == "spare-pages":
            end = min([_first_about_sizes(trace), *failed])
            ends = [end] if end and _suits(relation, trace, end - 1) else []
        else:
            ends = [
                index + 1
                for index in sorted(slots.keys() - failed)
                if _suits(relation, trace, index)
            ]
        for end in sorted({*ends[-1:], max(ends, key=lambda end: slots[end - 1], default=0)} - {0}):
            yield replace(trace, operations=trace.operations[:end], relation=name, note="")


def _suits(relation: Relation, trace: Trace, index: int) -> bool:
    return relation.ends_with(trace.operations[index], trace.geometry)


def _first_about_sizes(trace: Trace) -> int:
    """The first operation whose meaning depends on the sizes; how many there are, where none does."""
    sized = (index for index, one in enumerate(trace.operations) if asks_for_sizes(one))
    return next(sized, len(trace.operations))
