"""Run an exported script once, the way a person would: with this interpreter, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPRODUCED, GONE = 1, 0


def run_script(
    path: Path, *, argument: str | Path | None = None, timeout: float = 120
) -> bool | None:
    """True when the script shows its fault (exit code 1), False when it does not (0), None when it could not run.

    ``argument`` is the tree that the script shall use. ``timeout`` is in seconds; a script that runs longer could not run.
    This interpreter's module search path is handed down, so that scripts of our own targets find this package.
    """
    command = [sys.executable, str(path)] + ([str(argument)] if argument is not None else [])
    package = str(Path(__file__).resolve().parents[1])
    inherited = os.environ.get("PYTHONPATH")
    search_path = os.pathsep.join([package, inherited] if inherited else [package])
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            timeout=timeout,
            env={**os.environ, "PYTHONPATH": search_path},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # An interpreter that dies of an uncaught exception ends with 1 too; a script's own verdict is on its output.
    if done.returncode == REPRODUCED and b"The fault is there." in done.stdout:
        return True
    return False if done.returncode == GONE else None
