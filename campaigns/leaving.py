"""How a process that runs a target ends: at once, with nothing left that the target started in it.

Guarantees that what was written is flushed, that no thread is waited for, and that an exception which nobody caught ends the process with
the exit code or the signal that an interpreter would end it with. What was registered to run at the exit does not run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import traceback
from typing import NoReturn


def leave(code: int = 0) -> NoReturn:
    """End this process now."""
    for stream in (sys.stdout, sys.stderr):
        # A target may have closed it, or put something else in its place.
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def leave_because_of(error: BaseException) -> NoReturn:
    """End this process now, as ``error`` would have ended it."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            leave((error.code or 0) & 0xFF)
        with contextlib.suppress(Exception):
            print(error.code, file=sys.stderr)
        leave(1)
    with contextlib.suppress(Exception):
        traceback.print_exception(error)
        sys.stderr.flush()
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    leave(1)
