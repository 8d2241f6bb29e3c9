"""How a running campaign shows on standard error: its identity first, then live figures on a terminal, plain lines elsewhere.

Guarantees that nothing is written before a target was made, so that a refusal stays one line.
"""

from __future__ import annotations

from types import TracebackType

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from campaigns.fuzz_run import Listener
from campaigns.messages import Discovered, Event
from campaigns.run_identity import note_lines, versions_line
from campaigns.verdict import TargetVerdict


class Progress(Listener):
    """Writes to standard error. ``first_line`` identifies the run, ``talks``: findings are told as they are met.

    Use as a context manager.
    """

    def __init__(self, first_line: str, *, talks: bool) -> None:
        self._first_line = first_line
        self._talks = talks
        self._console = Console(stderr=True, highlight=False)
        self._targets: list[TargetVerdict] = []
        self._told: set[tuple[str, ...]] = set()
        self._live: Live | None = None
        self._scripts = 0

    def __enter__(self) -> Progress:
        if self._talks and self._console.is_terminal:
            self._live = Live(
                console=self._console,
                transient=True,
                refresh_per_second=4,
                get_renderable=self._table,
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, target: TargetVerdict) -> None:
        """Say what runs: everything about the run before the first target, then each target's versions and notes."""
        if not self._targets:
            self._say(self._first_line)
        if target not in self._targets:
            self._targets.append(target)
            self._say(versions_line(target.target, target.versions))
            for line in note_lines(target.target, target.notes):
                self._say(line)

    def heard(self, target: TargetVerdict, event: Event) -> None:
        """Say each cause once, when it is first met."""
        if not isinstance(event, Discovered):
            return
        cause = (target.target, *event.finding.cause)
        if cause in self._told:
            return
        self._told.add(cause)
        if self._talks:
            breach = f" after '{event.finding.breach}'" if event.finding.breach else ""
            finding = event.finding
            self._say(
                f"met on {target.target}, {finding.family}: {finding.kind} {finding.quantity}{breach}"
            )

    def waiting(self, scripts: int) -> None:
        """Show how many scripts still run."""
        self._scripts = scripts

    def _say(self, line: str) -> None:
        if self._live is not None:
            self._console.print(Text(line), soft_wrap=True)
        else:
            click.echo(line, err=True)

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False)
        for name in ("target", "family", "traces", "steps", "met"):
            table.add_column(
                name, justify="right" if name in ("traces", "steps", "met") else "left"
            )
        for target in self._targets:
            for verdict in target.families:
                table.add_row(
                    target.target,
                    verdict.family,
                    str(verdict.tally.traces),
                    str(verdict.tally.steps),
                    str(sum(key[:2] == (target.target, verdict.family) for key in self._told)),
                )
        if self._scripts:
            table.add_row(f"running {self._scripts} scripts", "", "", "", "")
        return table
