"""Gives the peers of a page back twice and goes on, for a memory checker to watch: ``double_ratchet.py TARGET DEVICE TIMES``.

Says each call before it is made, and what came back, so that what the checker says in between belongs to it. Ends with ``done``.
"""

from __future__ import annotations

import sys
from typing import Any

from oracle.byte_buffer import Buffer
from oracle.call import Call
from oracle.geometry import Geometry, Mode
from targets.registry import make_target

TWO_POOLS = Geometry(
    family="unified-swa",
    size=0,
    page_size=4,
    buffer=Buffer(total_bytes=1024, full_bytes=16, swa_bytes=8),
)


def main(specification: str, device: str, times: int) -> None:
    """Run it on the target, with the window eviction made ``times`` times."""
    target = make_target(specification, device=device)
    target.reset(TWO_POOLS, Mode())

    def make(method: str, **fields: Any) -> Any:
        print(f"call {method} {fields}", flush=True)
        try:
            outcome = target.apply(Call(method=method, **fields))  # type: ignore[arg-type]
        except Exception as lost:  # noqa: BLE001 (a checker may take the CUDA context away)
            print(f"lost {type(lost).__name__} {lost}", flush=True)
            return None
        print(f"came {outcome.value} {outcome.error} {outcome.message}", flush=True)
        return outcome.value

    row = make("alloc", need=8)
    for _ in range(times):
        make("free_swa_segment", slots=row[:4], start_pos=0)
    # The holes of the SWA side are drawn now, whatever page they name.
    again = make("alloc", need=8)
    make("translate", pool="swa", slots=again or (4,))
    make("flush", pool="swa", urgent=True)
    make("alloc", need=8)
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
