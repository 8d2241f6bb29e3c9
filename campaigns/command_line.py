"""The command ``kvoracle``: its group of commands, and how it says that something cannot be done.

Guarantees that whatever kvoracle refuses, and whatever is wrong with the command line, is one line on standard error that begins with
``kvoracle:`` and exit code 2, never a traceback.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from campaigns.bisect_command import bisect
from campaigns.export_command import export
from campaigns.fetch_command import fetch
from campaigns.fuzz_command import fuzz
from campaigns.lane import problem_of
from campaigns.messages import Broken
from campaigns.mutants_command import mutants
from campaigns.rediscover_command import rediscover
from campaigns.replay_command import replay
from campaigns.run_identity import own_version
from campaigns.simulate_command import simulate
from campaigns.targets_command import targets
from campaigns.variables import check_variables
from campaigns.verdict import INTERRUPTED, USAGE
from campaigns.wording import one_line
from oracle.errors import KvoracleError


class ReaderGoneError(Exception):
    """Whoever read the standard output has gone (``| head``)."""


class OneSentenceGroup(click.Group):
    """A group of commands whose every error is one sentence."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and leave with its exit code (return it where ``standalone_mode`` is False)."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            sys.exit(USAGE)
        except click.ClickException as error:
            _refuse(_usage(error))
        except KvoracleError as error:
            _refuse(str(error))
        except (KeyboardInterrupt, click.Abort):
            sys.exit(INTERRUPTED)
        except ReaderGoneError:
            # Nothing is left to say, and nobody to say it to; what is still in the buffer must not fail once more at the exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.exit(USAGE)
        except OSError as error:
            named = error.filename if error.filename is not None else _stream_of(error)
            _refuse(
                f"{named}: {error.strerror or error}" if named else error.strerror or f"{error}"
            )
        except Exception as error:  # noqa: BLE001 (a traceback tells a person nothing; whoever mends it finds it in the file)
            sentence = f"kvoracle itself failed: {one_line(error)}"
            _refuse(problem_of(Broken(sentence, traceback.format_exc())))
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Click would leave with 1 for a pipe that broke, which here means findings."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError from error


def _stream_of(error: OSError) -> str:
    """What could not be written when ``click.echo`` raised ``error``, "" when it was something else: a stream has no file name."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code is click.echo.__code__:
            name = "standard error" if frame.f_locals.get("err") else "standard output"
            return f"{name} cannot be written"
    return ""


def _usage(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    if isinstance(error, click.UsageError) and context is not None:
        message += f" (see '{context.command_path} --help')"
    return message


def _refuse(sentence: str) -> NoReturn:
    # Where standard error cannot be written, the exit code alone says it; a traceback would leave with 1, which means findings.
    with contextlib.suppress(OSError):
        click.echo(f"kvoracle: {' '.join(sentence.split())}", err=True)
    sys.exit(USAGE)


@click.group(cls=OneSentenceGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(own_version(), prog_name="kvoracle")
def main() -> None:
    """Tell whether a KV-cache allocator is right, and if not, show the shortest program that proves it.

    \b
    kvoracle targets                            what can be put under test here
    kvoracle fuzz sglang==0.5.23 --seconds 60   judge a release
    kvoracle simulate sglang==0.5.23            serve days of traffic from it
    kvoracle replay FILE.json sglang==0.5.23    run a saved trace, operation by operation
    kvoracle export FILE.json --target eager    make a program of it that needs no kvoracle

    Exit codes of whatever judges: 0 clean, 1 findings, 2 wrong usage or environment.
    """
    check_variables(os.environ)


for command in (targets, fuzz, simulate, replay, export, fetch, bisect, rediscover, mutants):
    main.add_command(command)
