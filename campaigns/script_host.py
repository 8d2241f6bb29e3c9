"""The process in which a campaign's scripts run: it imports torch once, then forks for each script.

Reads one request a line on standard input, ``{"argv": [...], "output": FILE, "timeout": SECONDS}``, and answers with one line,
``{"code": EXIT_CODE}``: null when the script ran out of time. A script starts as it would in a fresh interpreter, with
nothing of this package imported; that torch is loaded already saves the two seconds which most of them would take.
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import NoReturn

import torch  # noqa: F401 (what each script would import first)

POLLED = 0.005


def main() -> None:
    """Answer requests until standard input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        code = _run(request["argv"], request["output"], request["timeout"])
        print(json.dumps({"code": code}), flush=True)


def _run(argv: list[str], output: str, timeout: float) -> int | None:
    child = os.fork()
    if child == 0:
        _be_the_script(argv, output)
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(POLLED)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _be_the_script(argv: list[str], output: str) -> NoReturn:
    code = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(written, 1)
        os.dup2(written, 2)
        sys.argv = argv
        sys.path.insert(0, str(Path(argv[0]).resolve().parent))
        runpy.run_path(argv[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 (as an interpreter does)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
