"""From what a probe saw to the line of the allocator that did it.

Guarantees that frames of torch, triton and the probes themselves are passed over. Whether a line is an instrument's own is told by its
file: the places where invariants are looked at for the oracle are instruments, and so is the KV of a release's bands, which remembers
where pages went; what they read is no cost of the allocator.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

_INSTRUMENTS = (
    ("targets/eager/signals.py", "", 1),
    ("targets/sglang/signal_probe.py", "", 1),
    ("targets/async_asserts.py", "", 1),
    ("targets/sglang/unified_pools.py", "", 1),
    ("targets/fused/watch.py", "", 2),
    ("targets/fused/hybrid_allocation.py", "_assert_none_gone", 2),
)
"""Files, functions in them ("" for any), and within how many of the innermost lines they make what was seen an instrument's."""

_PASSED_OVER = ("/torch/", "/triton/", "/targets/probes/", "/contextlib.py", "/warnings.py")


def source_of_now() -> str | None:
    """``file:line`` of the innermost line that is neither torch's nor a probe's; None when an instrument is at work."""
    lines = _lines(sys._getframe(1))
    for depth, (name, function, _) in enumerate(lines):
        for file, of_function, within in _INSTRUMENTS:
            if name.endswith(file) and of_function in ("", function) and depth < within:
                return None
    if not lines:
        return "an unknown line"
    name, _, line = lines[0]
    return f"{'/'.join(Path(name).parts[-2:])}:{line}"


def _lines(frame: FrameType | None, most: int = 2) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    while frame is not None and len(found) < most:
        name = frame.f_code.co_filename.replace("\\", "/")
        if not any(part in name for part in _PASSED_OVER):
            found.append((name, frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    return found
