"""Where the command ``kvoracle`` begins and ends: Ctrl-C is no traceback, neither while the commands are imported nor after the report."""

from __future__ import annotations

import sys

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
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
