"""``kvoracle targets``: what can be put under test, and whether it can be had here."""

from __future__ import annotations

import click


@click.command()
@click.option(
    "--releases",
    is_flag=True,
    help="Which families and operations each supported release of SGLang has.",
)
@click.option("--mutants", is_flag=True, help="Also our own allocators with a fault put in.")
def targets(releases: bool, mutants: bool) -> None:
    """List what can be put under test.

    A target that cannot be had here says why. Entry points in the group "kvoracle.targets" are listed too.

    \b
    Example:
      kvoracle targets
      kvoracle targets --mutants
      kvoracle targets --releases
    """
    if releases:
        from campaigns.release_listing import listing

        click.echo("\n".join(listing()))
        return
    from targets.registry import MUTANT, known_targets

    everything = known_targets()
    known = [one for one in everything if mutants or not one.specification.startswith(MUTANT)]
    width = max(len(target.specification) for target in known)
    for target in known:
        here = "" if target.available else f" (not here: {target.reason})"
        click.echo(f"{target.specification:{width}}  {target.description}{here}")
    if len(known) < len(everything):
        hidden = len(everything) - len(known)
        click.echo(
            f"{MUTANT + 'NAME':{width}}  eager with a fault put in, {hidden} of them: --mutants lists them"
        )
