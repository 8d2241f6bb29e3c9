"""Running a script on a real release, in a process of its own, as a campaign does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRELUDE = """
import sys
from oracle.call import Call, Segment
from oracle.geometry import Geometry, Mode
from oracle.observation import Hit
from targets.sglang.adapter import make_sglang_target
"""


def run_on_release(script: str, *arguments: str, **environment: str) -> tuple[str, str]:
    """What the script printed and what it wrote to its error stream; fails the test if it raised.

    ``sys.argv[1:]`` of the script are the ``arguments``; ``environment`` is added to this process's.
    """
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "KVORACLE_KERNELS": "", **environment, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, f"{arguments}: {done.stderr[-3000:]}"
    return done.stdout, done.stderr


FORKING = """
import os
import torch
import traceback

def each(label, body):
    # A process holds one release; a fork of one that has imported torch saves importing it again.
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            body(label)
            sys.stdout.flush()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"{label}: status {status}"
"""


def run_on_releases(
    script: str, labels: Sequence[str], *arguments: str, **environment: str
) -> tuple[str, str]:
    """``run_on_release`` with a script that defines ``body(label)``, called for each label in a process of its own."""
    calls = "\nfor label in sys.argv[1].split(): each(label, body)\n"
    return run_on_release(FORKING + script + calls, " ".join(labels), *arguments, **environment)
