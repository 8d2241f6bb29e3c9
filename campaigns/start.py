"""Where the command ``kvoracle`` begins: Ctrl-C while the commands are still being imported is no traceback either."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from campaigns.command_line import main as kvoracle
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    kvoracle(prog_name="kvoracle")
