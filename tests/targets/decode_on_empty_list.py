"""What releases do when a paged allocator has no page left and a legal caller asks for one: run it as a program on a GPU.

    python tests/targets/decode_on_empty_list.py
    python tests/targets/decode_on_empty_list.py 0.5.9 0.5.21 0.5.22 --calls decode extend
    KVORACLE_KERNELS=interpreter python tests/targets/decode_on_empty_list.py --device cpu

The answer to such a call is None. Each release makes it in a process of its own, once alone and once under compute-sanitizer's memcheck, all at
the same time. A line for each says what the call gave or what ended the process, and what memcheck saw. Leaves with 1 if a process could
not make the call at all.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from msgspec import Struct

from campaigns.deaths import name_of_end
from campaigns.sanitizer import Sanitizer, find_sanitizer, read_report
from oracle.call import Call
from oracle.errors import UsageError
from oracle.geometry import Geometry, Mode

RELEASES = ("0.5.19", "0.5.20", "0.5.23")
PAGE_SIZE, PAGES = 4, 2
LENGTH = PAGE_SIZE * PAGES
CALLS = {
    "decode": Call(
        method="alloc_decode", seq_lens=(LENGTH + 1,), last_loc=(PAGE_SIZE + LENGTH - 1,)
    ),
    "extend": Call(
        method="alloc_extend", prefix_lens=(0,), seq_lens=(1,), last_loc=(-1,), extend_num_tokens=1
    ),
}
"""The calls, once a row of ``LENGTH`` slots holds every page: one more token for it, a first token for another."""


class Observed(Struct, frozen=True, kw_only=True):
    """What came of one call. ``came``: what it gave, "" if nothing came back; ``end``: what ended its process, "" if nothing did.

    ``seen``: what memcheck reported, None where it did not watch; ``words``: the last that the process said on standard error.
    """

    release: str
    call: str
    came: str
    end: str
    seen: tuple[str, ...] | None
    words: str
    was_made: bool

    def sentence(self) -> str:
        """It in a line."""
        how = "alone" if self.seen is None else "under memcheck"
        words = f" ({self.words})" if self.words else ""
        what = f"its process was ended by {self.end}{words}" if self.end else f"it gave {self.came}"
        saw = "" if self.seen is None else f"; memcheck saw {'; '.join(self.seen) or 'nothing'}"
        made = "" if self.was_made else ", before the call was made"
        return f"sglang {self.release}, {self.call} on an empty list, {how}: {what}{made}{saw}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("releases", nargs="*", default=list(RELEASES))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--calls", nargs="+", choices=CALLS, default=["decode"])
    parser.add_argument("--alone", action="store_true", help="not under compute-sanitizer")
    parser.add_argument("--make", choices=CALLS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.make is not None:
        _make(options.releases[0], options.make, options.device)
        return 0
    program = ""
    if not options.alone:
        try:
            program = find_sanitizer()
        except UsageError:
            print("there is no compute-sanitizer here, so nothing is watched")
    observed = observe(options.releases, options.calls, options.device, program)
    print("\n".join(each.sentence() for each in observed))
    return 0 if all(each.was_made for each in observed) else 1


def observe(
    releases: Sequence[str], calls: Sequence[str], device: str, program: str = ""
) -> list[Observed]:
    """Make each call on each release, alone, and also under ``program`` if one is given."""
    with tempfile.TemporaryDirectory() as name:
        runs = [
            _Run(release, call, device, watched, Path(name))
            for release in releases
            for call in calls
            for watched in dict.fromkeys(("", program))
        ]
        return [run.end() for run in runs]


class _Run:
    """One call in a process of its own, started at once."""

    def __init__(self, release: str, call: str, device: str, program: str, folder: Path) -> None:
        self._release, self._call = release, call
        self._sanitizer: Sanitizer | None = None
        watched: tuple[str, ...] = ()
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        if program:
            log = folder / f"{release}-{call}.log"
            self._sanitizer = Sanitizer(program, "memcheck", str(log))
            watched = self._sanitizer.command()
            environment |= self._sanitizer.environment()
        told = (release, "--make", call, "--device", device)
        self._process = subprocess.Popen(
            [*watched, sys.executable, __file__, *told],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def end(self) -> Observed:
        """Wait for the end of the process."""
        printed, errors = self._process.communicate()
        said = [line for line in errors.splitlines() if line.strip()]
        lines = dict(line.partition(" ")[::2] for line in printed.splitlines())
        return Observed(
            release=self._release,
            call=self._call,
            came=lines.get("came", ""),
            end=name_of_end(self._process.returncode),
            seen=None if self._sanitizer is None else _seen(self._sanitizer),
            words=said[-1] if said else "",
            was_made="makes" in lines,
        )


def _seen(sanitizer: Sanitizer) -> tuple[str, ...]:
    try:
        errors = read_report(Path(sanitizer.log))
    except UsageError as nothing:
        return (str(nothing),)
    return tuple(f"{error.count} times {error.detail}" for error in errors)


def _make(release: str, call: str, device: str) -> None:
    """Make the call in this process, which ends with the device if that is lost."""
    import resource

    from targets.lost_device import EndsWithItsDevice
    from targets.registry import make_target

    # The memory of a process that may die is of no use to anybody.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    target = EndsWithItsDevice(make_target(f"sglang=={release}", device=device))
    target.reset(Geometry(family="paged", size=LENGTH, page_size=PAGE_SIZE), Mode())
    row = target.apply(Call(method="alloc", need=LENGTH)).value
    assert row == tuple(range(PAGE_SIZE, PAGE_SIZE + LENGTH)), row
    print(f"makes {CALLS[call].method}", flush=True)
    outcome = target.apply(CALLS[call])
    print(f"came {outcome.error or outcome.value} {outcome.message}".rstrip(), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
