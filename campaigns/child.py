"""A child process as its parent sees it: started with a job, heard through a queue, ended kindly or at once.

Guarantees that the queue gets every event of the child, and after them exactly one ``Gone``, however the child ended, and that
nothing in the child's process group outlives it. The child is out of reach of Ctrl-C, which reaches the parent only.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import msgspec

import campaigns
from campaigns.deaths import EARLY_END, name_of_end
from campaigns.messages import Ended, Event, Job, decode_event, encode_line
from campaigns.sanitizer import Sanitizer

LONGEST_LAST_WORDS = 400
STALL_SECONDS = 180.0
"""How long a child at work may say nothing before it counts as hanging."""


@dataclass(frozen=True)
class Gone:
    """The process is no more. ``how`` is "" when it did all it was asked to do, else what ended it, say ``SIGSEGV``.

    ``last_words`` is the end of what it wrote on standard error.
    """

    how: str
    last_words: str


Inbox = queue.SimpleQueue[tuple["Child", Event | Gone]]


class Child:
    """One child process doing ``job``; what it says arrives in ``inbox``. ``folder`` takes what it leaves behind.

    It runs under ``sanitizer``, if one is given.
    """

    def __init__(
        self, job: Job, folder: Path, inbox: Inbox, sanitizer: Sanitizer | None = None
    ) -> None:
        self.job = job
        self._heard_at = monotonic()
        self._inbox = inbox
        self._errors = Path(job.where.journal).with_suffix(".stderr")
        watched = sanitizer.command() if sanitizer is not None else ()
        added = sanitizer.environment() if sanitizer is not None else {}
        folder.mkdir(parents=True, exist_ok=True)
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [*watched, sys.executable, "-P", "-m", "campaigns.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=_environment(folder) | added,
                start_new_session=True,
            )
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.write(encode_line(job))
            self._process.stdin.flush()
        threading.Thread(target=self._listen, daemon=True).start()

    def is_silent_for(self, seconds: float) -> bool:
        """Whether the last event is longer ago than ``seconds``."""
        return monotonic() - self._heard_at > seconds

    def ask_to_stop(self) -> None:
        """Let the child finish what it has and end: its standard input is closed."""
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def kill(self) -> None:
        """End the child at once, with what it started."""
        # It leads a group of its own: a sanitizer has the worker for a child.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _listen(self) -> None:
        ended = False
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                event = decode_event(line)
            except msgspec.MsgspecError:
                # The last line of a process that died while it wrote.
                break
            ended = isinstance(event, Ended)
            self._heard_at = monotonic()
            self._inbox.put((self, event))
            if ended:
                # A process that the target forked may hold the pipe open for ever.
                break
        code = self._process.wait()
        self.kill()
        self.ask_to_stop()
        how = "" if ended else name_of_end(code) or EARLY_END
        self._inbox.put((self, Gone(how, self._last_words())))

    def _last_words(self) -> str:
        try:
            text = self._errors.read_text(errors="replace")
        except OSError:
            return ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return lines[-1][:LONGEST_LAST_WORDS] if lines else ""


def _environment(folder: Path) -> dict[str, str]:
    environment = dict(os.environ)
    # Hypothesis would leave a folder of its own where the person happens to stand.
    environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
    # The child must find these packages also where they are not installed.
    root = str(Path(next(iter(campaigns.__path__))).parent)
    former = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = root + os.pathsep + former if former else root
    # Allocators work on tiny tensors: more threads only get into each other's way.
    environment.setdefault("OMP_NUM_THREADS", "1")
    return environment
