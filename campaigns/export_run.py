"""Run an exported script once, the way a person would: with this interpreter, in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

REPRODUCED, GONE = 1, 0
LONGEST = 120.0
"""Seconds after which a script that still runs could not run."""


def run_script(
    path: Path, *, argument: str | Path | None = None, timeout: float = LONGEST
) -> bool | None:
    """True when the script shows its fault (exit code 1), False when it does not (0), None when it could not run.

    ``argument`` is the tree that the script shall use. ``timeout`` is in seconds; a script that runs longer could not run.
    This interpreter's module search path is handed down, so that scripts of our own targets find this package.
    """
    try:
        done = subprocess.run(
            [sys.executable, *_argv(path, argument)],
            capture_output=True,
            check=False,
            timeout=timeout,
            env=_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return _verdict(done.returncode, done.stdout)


class ScriptRunner:
    """Runs many scripts, one after the other, as ``run_script`` does, in processes that need not load torch again.

    Where processes cannot be forked, or torch is missing, each script has an interpreter to itself.
    """

    def __init__(self) -> None:
        self._host: subprocess.Popen[bytes] | None = None
        self._one_at_a_time = threading.Lock()
        self._closed = False

    def run(self, path: Path, *, argument: str | Path | None = None) -> bool | None:
        """The verdict of one script, as ``run_script`` gives it. May be called by several threads."""
        with self._one_at_a_time:
            if self._closed:
                return None
            if not hasattr(os, "fork"):
                return run_script(path, argument=argument)
            with tempfile.NamedTemporaryFile(prefix="kvoracle-script-") as output:
                try:
                    code = self._ask(_argv(path, argument), output.name)
                except (OSError, ValueError):
                    self._host = None
                    return None if self._closed else run_script(path, argument=argument)
                return None if code is None else _verdict(code, Path(output.name).read_bytes())

    def close(self) -> None:
        """End the process that runs the scripts; a script that runs then could not run."""
        self._closed = True
        if self._host is not None:
            with contextlib.suppress(OSError):
                self._host.kill()

    def _ask(self, argv: list[str], output: str) -> int | None:
        """The exit code, None when time ran out. Raises OSError or ValueError when the host is not there."""
        if self._host is None:
            self._host = subprocess.Popen(
                [sys.executable, "-P", str(Path(__file__).with_name("script_host.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                start_new_session=True,
            )
        assert self._host.stdin is not None
        assert self._host.stdout is not None
        request = {"argv": argv, "output": output, "timeout": LONGEST}
        self._host.stdin.write(json.dumps(request).encode() + b"\n")
        self._host.stdin.flush()
        code: int | None = json.loads(self._host.stdout.readline())["code"]
        return code


def _argv(path: Path, argument: str | Path | None) -> list[str]:
    return [str(path)] + ([str(argument)] if argument is not None else [])


def _environment() -> dict[str, str]:
    package = str(Path(__file__).resolve().parents[1])
    inherited = os.environ.get("PYTHONPATH")
    search_path = os.pathsep.join([package, inherited] if inherited else [package])
    return {**os.environ, "PYTHONPATH": search_path}


def _verdict(code: int, printed: bytes) -> bool | None:
    # An interpreter that dies of an uncaught exception ends with 1 too; a script's own verdict is on its output.
    if code == REPRODUCED and b"The fault is there." in printed:
        return True
    return False if code == GONE else None
