"""Random traces of every family and page size on ``fused``, against the prediction and ``eager``: run it as a program on a GPU.

    python tests/targets/gpu_corpus.py --processes 14 --calls 240000 --seconds 480
    python tests/targets/gpu_corpus.py --processes 4 --traces 120 --sanitizer memcheck
    python tests/targets/gpu_corpus.py --page-sizes 128 256 --callers legal --seconds 60

One run takes all page sizes and all kinds of callers unless it is told otherwise. It prints a table of how many calls were judged at
each page size and what they reached, each finding and each kind of error that a sanitizer reported, and leaves with 1 if there was
any, or if a process ended before its end.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import time

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parent))

from corpus_processes import run_processes
from corpus_tally import Report

from campaigns.sanitizer import TOOLS
from oracle.trace import CALLERS

PAGE_SIZES = (1, 3, 4, 16, 64, 128, 256)
NO_CACHING = "PYTORCH_NO_CUDA_MEMORY_CACHING"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.seconds is not None:
        options.end = time() + options.seconds
    if options.report is not None:
        Path(options.report).write_bytes(_run_share(options))
        return 0
    report, problems = run_processes(Path(__file__), options)
    return _tell(report, problems)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--device", default="cuda")
    add("--page-sizes", type=int, nargs="+", default=list(PAGE_SIZES), metavar="N")
    add("--callers", choices=CALLERS, nargs="+", default=list(CALLERS))
    add("--processes", type=int, default=1, metavar="N", help="how many share the traces")
    add("--traces", type=int, metavar="N", help="stop after so many traces, of all processes")
    add("--calls", type=int, metavar="N", help="stop after so many judged calls or a few more")
    add("--seconds", type=float, metavar="S", help="begin no trace after so many seconds")
    add("--first", type=int, default=0, metavar="SEED", help="the first seed")
    add("--sanitizer", choices=TOOLS, help="run fused alone, under this tool of compute-sanitizer")
    # What a process of this program is told beside the above.
    add("--end", type=float, help=argparse.SUPPRESS)
    add("--number", type=int, default=0, help=argparse.SUPPRESS)
    add("--report", help=argparse.SUPPRESS)
    return parser


def _run_share(options: argparse.Namespace) -> bytes:
    if options.sanitizer is not None:
        # With torch's own cache most memory would be one allocation, whose inner ends no tool knows.
        os.environ[NO_CACHING] = "1"
    import msgspec
    from corpus_share import Share, run_share

    share = Share(
        device=options.device,
        page_sizes=tuple(options.page_sizes),
        callers=tuple(options.callers),
        first=options.first,
        number=options.number,
        of=options.processes,
        traces=_or_endless(options.traces),
        calls=_or_endless(options.calls) / options.processes,
        end=_or_endless(options.end),
        sanitized=options.sanitizer is not None,
    )
    return msgspec.json.encode(run_share(share))


def _or_endless(limit: float | None) -> float:
    return float("inf") if limit is None else limit


def _tell(report: Report, problems: list[str]) -> int:
    print("\n".join([*report.lines(), *report.findings, *problems]))
    total = report.all()
    print(
        f"{total.traces} traces, {total.calls} judged calls on each target, {len(report.findings)} findings, "
        f"{len(problems)} problems"
    )
    return 1 if report.findings or problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
