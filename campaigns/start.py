"""Where the command ``kvoracle`` begins and ends: Ctrl-C is no traceback, neither while the commands are imported nor after the report."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

INTERRUPTED = 130


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from campaigns.command_line import main as kvoracle
        from campaigns.interruption import ignore_interruptions

        try:
            kvoracle(prog_name="kvoracle")
        finally:
            ignore_interruptions()
            _forget_what_cannot_be_written()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _forget_what_cannot_be_written() -> None:
    """Of a stream that was refused once, Python would fail over the rest when it ends, and leave with a code of its own (120)."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):
            try:
                stream.flush()
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
