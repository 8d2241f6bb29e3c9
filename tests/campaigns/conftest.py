"""Fixtures of the campaign tests: the command line as a person runs it, and targets that misbehave."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MISBEHAVING = """
import os
import signal
import sys
import threading
import time
from pathlib import Path

from oracle.observation import Outcome
from targets.eager.target import EagerTarget

ASSERTED = "CUDA error: device-side assert triggered\\nCUDA kernel errors might be reported later"
ILLEGAL = "Triton Error [CUDA]: an illegal memory access was encountered"


class Misbehaving(EagerTarget):
    def __init__(self, argument, device):
        self.argument = argument
        self.lost = ""
        super().__init__(device, name=f"misbehaving:{argument}")
        print("a target may print what it likes")
        self.notes = ("it is assumed to misbehave",) if argument == "assumes" else ()
        if argument == "dies-at-once":
            os._exit(9)
        if argument == "refuses":
            raise ValueError("no such allocator")
        if argument == "has-no-versions":
            self.versions = None

    def apply(self, call):
        if self.argument == "exits":
            sys.exit(0)
        if self.argument == "leaves-a-thread":
            self.leave(os.getpid())
            threading.Thread(target=time.sleep, args=(1000,)).start()
        if self.argument == "leaves-a-process":
            child = os.fork()
            if child == 0:
                time.sleep(1000)
                os._exit(0)
            self.leave(child)
        if self.argument == "never-answers":
            Path("asked").touch()
            time.sleep(1000)
        if call.method == "alloc_decode":
            if self.argument == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.argument == "leaves":
                os._exit(7)
            if self.argument == "raises":
                raise LookupError("the adapter is broken")
            if self.argument == "raises-what-has-no-encoding":
                raise RuntimeError(chr(0xD800) + " is no character")
            if self.argument == "raises-at-length":
                raise RuntimeError("x" * 3000)
            if self.argument == "answers-nothing":
                return None
            if self.argument == "answers-words":
                return Outcome(value=("one",), dtype="int64")
            if self.argument == "hangs":
                time.sleep(600)
            if self.argument == "dies-once" and not Path("died").exists():
                Path("died").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            if self.argument == "asserts":
                self.lost = ASSERTED
            if self.argument == "reads-too-far":
                self.lost = ILLEGAL
                return Outcome()
        if self.lost:
            return Outcome(error="crash:AcceleratorError", message=self.lost)
        return super().apply(call)

    def leave(self, process):
        with Path("left").open("a") as file:
            print(process, file=file)

    def snapshot(self):
        self.fail_if_lost()
        if self.argument == "shows-nothing":
            return None
        return super().snapshot()

    def __getattribute__(self, name):
        if name == "allocator" and object.__getattribute__(self, "argument") == "hides":
            if sys._getframe(1).f_globals["__name__"] != "targets.eager.target":
                raise AttributeError(name)
        return super().__getattribute__(name)

    def contract(self, family):
        return 7 if self.argument == "promises-a-number" else super().contract(family)

    def reset(self, geometry, mode):
        self.fail_if_lost()
        super().reset(geometry, mode)

    def fail_if_lost(self):
        # As on a GPU: once it is lost, everything fails.
        if self.lost:
            raise RuntimeError(self.lost)
"""

CommandIn = Callable[..., subprocess.CompletedProcess[str]]
RunCommand = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which ``misbehaving:HOW`` is a target, as another distribution would add it."""
    folder = tmp_path_factory.mktemp("distribution")
    (folder / "misbehaving.py").write_text(MISBEHAVING)
    information = folder / "misbehaving-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: misbehaving\nVersion: 1.0\n"
    )
    (information / "entry_points.txt").write_text(
        "[kvoracle.targets]\nmisbehaving = misbehaving:Misbehaving\nabsent = misbehaving:Absent\n"
    )
    changed = dict(os.environ)
    changed["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT)])
    return changed


@pytest.fixture(scope="session")
def command_in(environment: dict[str, str]) -> CommandIn:
    """Run ``kvoracle`` in a folder with the given arguments, to the end."""

    def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "campaigns", *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    return run


@pytest.fixture
def command(command_in: CommandIn, tmp_path: Path) -> RunCommand:
    """The same in the test's own empty folder."""
    return lambda *arguments: command_in(tmp_path, *arguments)
