"""``kvoracle mutants``: does the suite find faults that were put in on purpose?"""

from __future__ import annotations

import click

from campaigns.interruption import Interruption
from campaigns.options import laws_only_option
from campaigns.verdict import CLEAN, FINDINGS, INTERRUPTED
from oracle.errors import UsageError


@click.command(short_help="Score the suite on faults that were put in on purpose.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--examples",
    type=click.IntRange(1),
    default=300,
    show_default=True,
    help="How many traces each mutant gets.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@laws_only_option
def mutants(names: tuple[str, ...], examples: int, seed: int, laws_only: bool) -> int:
    """Fuzz our own allocator with one fault put in, one fault after the other, and say which were found.

    A mutant that nothing can tell from the allocator without a fault is called equivalent, with the reason; it does not count.

    \b
    Examples:
      kvoracle mutants
      kvoracle mutants dedup-dropped --examples 50 --laws-only

    \b
    Exit codes:
      0    every mutant that is not equivalent was killed
      1    one survives, or one that is called equivalent was killed
      2    wrong usage
      130  interrupted
    """
    from campaigns.mutation_score import Kill, attack, score_table
    from targets.mutants.registry import MUTANTS

    strange = [name for name in names if name not in MUTANTS]
    if strange:
        raise UsageError(
            f"there is no mutant {strange[0]!r}: 'kvoracle targets --mutants' lists them"
        )
    kills: list[Kill] = []
    chosen = list(dict.fromkeys(names)) or list(MUTANTS)
    with Interruption() as interruption:
        for place, name in enumerate(chosen, 1):
            if interruption.count:
                break
            kill = attack(MUTANTS[name], examples=examples, seed=seed, laws_only=laws_only)
            kills.append(kill)
            click.echo(f"{place} of {len(chosen)}: {name}", err=True)
    click.echo("\n".join(score_table(kills)))
    if len(kills) < len(chosen):
        click.echo(f"Interrupted: {len(kills)} of {len(chosen)} mutants were attacked.")
        return INTERRUPTED
    wrong = any(kill.survives or (kill.equivalent and kill.finding) for kill in kills)
    return FINDINGS if wrong else CLEAN
