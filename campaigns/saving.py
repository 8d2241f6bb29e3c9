"""Saves each finding as it comes in, and runs its script once right after it is written.

Guarantees that a finding whose files cannot be written or whose script cannot be run is still reported, with a remark.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import msgspec

from campaigns.export_run import ScriptRunner
from campaigns.messages import Reduced, Where
from campaigns.output_folder import OutputFolder, write_whole
from campaigns.scripting import tree_of
from campaigns.verdict import SavedFinding
from oracle.trace import encode_trace

NOT_RUN = "the script could not run"


class Saver:
    """Saves into ``folder``. ``origin`` is what a trace's note says of the campaign it comes from."""

    def __init__(self, folder: OutputFolder, origin: Callable[[str], str]) -> None:
        self._folder = folder
        self._origin = origin
        self._runner = ScriptRunner()
        self._pool = ThreadPoolExecutor(1)
        self._running: list[Future[None]] = []

    def save(self, where: Where, reduced: Reduced) -> SavedFinding:
        """Write the trace and the script of a finding and have the script run; its result is there after ``wait``."""
        trace = msgspec.structs.replace(
            reduced.trace, note=f"{reduced.finding.sentence()}; {self._origin(where.target)}"
        )
        saved = SavedFinding(
            finding=reduced.finding,
            signature=reduced.signature,
            operations=len(trace.operations),
            calls=reduced.calls,
            remark=reduced.remark,
        )
        try:
            file = self._folder.file(where.target, f"{reduced.signature}.json")
            write_whole(file, encode_trace(trace))
            saved.trace_file = str(file)
            if reduced.script:
                script = file.parent / f"{reduced.signature}.py"
                write_whole(script, reduced.script.encode())
                saved.script_file = str(script)
                self._running.append(self._pool.submit(self._run, script, where, saved))
        except OSError as error:
            saved.remark = f"it could not be saved: {error.strerror or error}"
        return saved

    def running(self, seconds: float) -> int:
        """Wait up to ``seconds`` for the scripts; how many have not ended."""
        return len(wait(self._running, timeout=seconds).not_done)

    def close(self) -> None:
        """Run no more scripts."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._runner.close()

    def _run(self, script: Path, where: Where, saved: SavedFinding) -> None:
        shown = self._runner.run(script, argument=tree_of(where))
        saved.reproduced = shown is True
        if shown is None:
            saved.remark = "; ".join([part for part in (saved.remark, NOT_RUN) if part])
