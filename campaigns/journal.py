"""What ran last: each operation is written down before it runs, so that a process that dies leaves its trace.

Guarantees that ``read_journal`` gives the trace of the session that was running, its last operation included, for any way of dying
that leaves the file system alive.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from oracle.lockstep import Session
from oracle.operations import Base, Operation
from oracle.trace import Trace

_OPERATIONS: msgspec.json.Decoder[Operation] = msgspec.json.Decoder(Operation)


class Journal:
    """The file at ``path``, which holds the running session only."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        self._encoder = msgspec.json.Encoder()
        self._session: Session | None = None

    def write(self, session: Session, operation: Base) -> None:
        """Write down that ``operation`` is about to run; a new session starts the file anew."""
        if session is not self._session:
            self._session = session
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, self._encoder.encode(_start_of(session)) + b"\n")
        os.write(self._file, self._encoder.encode(operation) + b"\n")


def _start_of(session: Session) -> Trace:
    allowed = session.caller.may_break
    return Trace(
        geometry=session.geometry,
        mode=session.mode,
        callers="mixed" if allowed is None or allowed else "legal",
        may_break=tuple(sorted(allowed)) if allowed else None,
    )


def read_journal(path: Path) -> Trace | None:
    """The trace of the session that ran last; None when none began. A line that was cut off is left out."""
    try:
        lines = path.read_bytes().splitlines()
        trace = msgspec.json.decode(lines[0], type=Trace)
    except (OSError, IndexError, msgspec.MsgspecError):
        return None
    operations: list[Operation] = []
    for line in lines[1:]:
        try:
            operations.append(_OPERATIONS.decode(line))
        except msgspec.MsgspecError:
            break
    return msgspec.structs.replace(trace, operations=tuple(operations))
