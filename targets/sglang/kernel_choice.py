"""How a release's Triton kernels are run on a CPU: by our stand-ins, or by Triton's interpreter.

Guarantees that a choice nobody knows is refused. A GPU always runs the kernels themselves, and a release with a CPU path of
its own (0.5.22 and later) never asks.
"""

from __future__ import annotations

import os

from oracle.errors import UsageError

VARIABLE = "KVORACLE_KERNELS"
STAND_IN = "stand-in"
INTERPRETER = "interpreter"


def chosen_kernels(device: str) -> str:
    """``gpu``, ``stand-in`` (the default on a CPU) or ``interpreter``, as ``KVORACLE_KERNELS`` says.

    Raises:
        UsageError: the variable holds something else.
    """
    chosen = os.environ.get(VARIABLE) or STAND_IN
    if chosen not in (STAND_IN, INTERPRETER):
        raise UsageError(f"{VARIABLE}={chosen} is no choice: use {STAND_IN} or {INTERPRETER}")
    return chosen if device == "cpu" else "gpu"
