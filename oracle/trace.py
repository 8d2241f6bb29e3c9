"""A trace: geometry, how the checks are switched, who calls, and the operations. Plain data, JSON on disk.

Guarantees that ``decode_trace`` either gives a trace that can be run or raises ``UsageError`` with one sentence.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from oracle.errors import UsageError
from oracle.geometry import Geometry, Mode
from oracle.legality import BREACHES
from oracle.operations import Operation

Callers = Literal["legal", "hostile", "mixed"]
CALLERS: tuple[Callers, ...] = ("legal", "hostile", "mixed")

RelationName = Literal[
    "grouped",
    "segment-form",
    "extend-in-two",
    "each-side",
    "evict-in-two",
    "spare-pages",
    "alloc-group",
    "flush-deferred",
    "eviction-in-group",
]
"""The relations between two runs that a trace can be judged by (``oracle.metamorphic``)."""

SCHEMA_VERSION = 1
MOST_OPERATIONS = 1_000_000
LARGEST_FILE = 256 << 20

_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)


class Trace(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that a run needs. ``callers`` legal: calls that break the contract are skipped; otherwise they are made.

    ``may_break``: the preconditions (``oracle.legality``) that a caller who is not legal may break, None for all of them;
    calls that break another one are skipped, so that one kind of error can be looked at without the noise of the rest.
    ``note`` says where the trace came from (seed, target, finding); nothing reads it. ``relation``: what a second run, which is
    made from the trace, has to have in common with the run of the trace itself (of legal callers only).
    """

    version: int = SCHEMA_VERSION
    geometry: Geometry
    mode: Mode = Mode()
    callers: Callers = "mixed"
    may_break: tuple[str, ...] | None = None
    operations: tuple[Operation, ...] = ()
    note: str = ""
    relation: RelationName | UnsetType = UNSET

    @property
    def family(self) -> str:
        """The family of the allocator that the trace drives."""
        return self.geometry.family


def encode_trace(trace: Trace) -> bytes:
    """The trace as indented JSON with a final newline; the same trace always gives the same bytes."""
    return msgspec.json.format(msgspec.json.encode(trace, order="deterministic"), indent=1) + b"\n"


def decode_trace(data: bytes, source: str = "the trace") -> Trace:
    """Read a trace from JSON. Raises ``UsageError`` that names ``source`` when it is malformed or cannot be run."""
    try:
        trace = msgspec.json.decode(data, type=Trace)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{source} is not a trace: {_fault(data, error)}") from error
    if trace.version != SCHEMA_VERSION:
        raise UsageError(
            f"{source} has schema version {trace.version}, and this kvoracle reads version {SCHEMA_VERSION}"
        )
    if len(trace.operations) > MOST_OPERATIONS:
        raise UsageError(
            f"{source} has {len(trace.operations)} operations; the most is {MOST_OPERATIONS}"
        )
    try:
        trace.geometry.check()
        _check_breaches(trace)
        _check_relation(trace)
    except UsageError as error:
        raise UsageError(f"{source}: {error}") from error
    return trace


def _fault(data: bytes, error: Exception) -> str:
    """What is wrong with ``data``: the decoder's own words, or plainer ones where a text holds half of a character."""
    half = _half_character(data) if type(error) is msgspec.DecodeError else ""
    return f"a text in it has {half}, which is half of a character" if half else str(error)


def _half_character(data: bytes) -> str:
    """The first escape for half of a surrogate pair without the other half right after it, "" where there is none."""
    first, end = "", 0
    for escape in _ESCAPE.finditer(data):
        code = int(escape[1] or b"0", 16)
        is_second = 0xDC00 <= code < 0xE000
        if first and is_second and escape.start() == end:
            first = ""
        elif first or is_second:
            return first or escape[0].decode()
        elif 0xD800 <= code < 0xDC00:
            first, end = escape[0].decode(), escape.end()
    return first


def _check_breaches(trace: Trace) -> None:
    for name in trace.may_break or ():
        if name not in BREACHES:
            close = get_close_matches(name, BREACHES, n=1)
            advice = f": did you mean {close[0]!r}?" if close else ""
            raise UsageError(
                f"a caller cannot break {name!r}, which is no precondition that kvoracle knows{advice}"
            )


def _check_relation(trace: Trace) -> None:
    if trace.relation and trace.callers != "legal":
        raise UsageError(
            f"the relation {trace.relation} holds for legal callers only, not for {trace.callers} ones: "
            "change callers, or leave the relation out"
        )


def read_trace(path: Path) -> Trace:
    """Read a trace file. Raises ``UsageError`` when it cannot be read or is no trace."""
    try:
        # A pipe or a device does not say how much there is to read.
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise UsageError(f"cannot read the trace {path}: {error.strerror or error}") from error
    if len(data) > LARGEST_FILE:
        raise UsageError(f"{path} is larger than {LARGEST_FILE >> 20} MiB, so it is no trace")
    return decode_trace(data, str(path))


def trace_schema() -> bytes:
    """The JSON Schema of trace files, as indented JSON (``docs/trace.schema.json`` is this)."""
    schema = msgspec.json.schema(Trace)
    return msgspec.json.format(msgspec.json.encode(schema, order="deterministic"), indent=2) + b"\n"
