"""Lets a benchmark run in a checkout: imported first, it puts the packages of this checkout within reach.

Guarantees that where something else is missing, one sentence says what, with exit code 2.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

if find_spec("oracle") is None:
    sys.path.insert(0, str(ROOT))
for _name in ("torch", "msgspec", "hypothesis"):
    if find_spec(_name) is None:
        sys.stderr.write(
            f"the benchmarks need {_name}, which is not installed: pip install -e '{ROOT}[torch]'\n"
        )
        sys.exit(2)
