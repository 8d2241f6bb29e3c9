"""``kvoracle mutants`` and ``kvoracle targets --releases``."""

from __future__ import annotations

from click.testing import CliRunner

from campaigns.command_line import main
from campaigns.mutation_score import Kill, score_table
from targets.sglang.releases import RELEASES


def test_a_mutant_is_killed_and_the_score_says_by_what() -> None:
    done = CliRunner().invoke(main, ["mutants", "dedup-dropped", "--examples", "60"])
    assert done.exit_code == 0, done.output
    assert "dedup-dropped  killed by " in done.output
    assert "1 of 1 mutants were killed (100%)." in done.output


def test_the_laws_alone_kill_it_too() -> None:
    done = CliRunner().invoke(main, ["mutants", "dedup-dropped", "--examples", "60", "--laws-only"])
    assert done.exit_code == 0, done.output
    assert "killed by law " in done.output


def test_a_survivor_and_an_equivalent_are_told_apart() -> None:
    survivor = Kill(mutant="one", examples=5)
    equivalent = Kill(mutant="other", examples=5, equivalent="it only rests")
    assert survivor.survives
    assert not equivalent.survives
    assert score_table([survivor, equivalent]) == [
        "one    SURVIVES 5 examples",
        "other  equivalent: it only rests",
        "",
        "0 of 1 mutants were killed (0%); 1 more are equivalent.",
    ]


def test_the_listing_has_a_column_for_each_release_and_says_what_came_and_went() -> None:
    done = CliRunner().invoke(main, ["targets", "--releases"])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert "mamba-slots        0.5.13 to 0.5.23" in lines
    columns = next(line for line in lines if line.startswith(" "))
    assert len(columns.split()) == len(RELEASES)
    (resize,) = [line.split() for line in lines if line.startswith("resize ")]
    assert resize[1:].count(".") == RELEASES.index("0.5.16")
    assert any(line.startswith("0.5.17 ") and "-backup_state" in line for line in lines)
