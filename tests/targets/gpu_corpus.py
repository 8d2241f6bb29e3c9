"""Random traces of every family and page size on ``fused``, against the prediction and ``eager``: run it as a program on a GPU.

    python tests/targets/gpu_corpus.py --seconds 240
    compute-sanitizer --tool memcheck --report-api-errors no python tests/targets/gpu_corpus.py --traces 200 --sanitized

Several at once, each with another ``--first``, say 1000 apart, use more of a GPU. It prints how many traces and judged calls there were, each finding, and leaves with 1 if there was any.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

PAGE_SIZES = (1, 3, 4, 16, 64)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--traces", type=int, help="stop after so many traces")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, help="stop after so many seconds")
    parser.add_argument("--sanitized", action="store_true", help="fused alone, without guards")
    options = parser.parse_args(arguments)
    if options.sanitized:
        # With torch's own cache most memory would be one allocation, whose inner ends no tool knows.
        os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    from random_traces import random_trace

    from oracle.geometry import FAMILIES, LEVELS, Mode
    from oracle.lockstep import Judging, run_trace
    from targets.eager.target import EagerTarget
    from targets.fused import memory
    from targets.fused.target import FusedTarget

    targets = [FusedTarget(options.device)]
    if options.sanitized:
        memory.leave_out_guards()
    else:
        targets.append(EagerTarget("cpu"))
    end = monotonic() + (options.seconds or float("inf"))
    traces = steps = findings = 0
    kinds = list(itertools.product(PAGE_SIZES, FAMILIES, ("mixed", "legal")))
    for seed, (page_size, family, callers) in (
        (s, k) for s in itertools.count(options.first) for k in kinds
    ):
        if traces == options.traces or monotonic() >= end:
            break
        if family == "token" and page_size > 1:
            continue
        mode = Mode(level=LEVELS[seed % len(LEVELS)], debug=seed % 5 == 4)
        trace = random_trace(family, page_size, seed, callers, mode)
        session = run_trace(trace, targets, Judging(laws=False))
        traces, steps = traces + 1, steps + session.steps
        for finding in session.findings:
            findings += 1
            print(f"seed {seed}, page size {page_size}, {callers}: {finding.sentence()}")
    print(f"{traces} traces, {steps} judged calls on each target, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
