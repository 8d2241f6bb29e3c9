"""Each mutant differs from `eager` on a sequence written by hand for it, and from nothing before that."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from eager_calls import Bench, hybrid, paged, pages

from oracle.geometry import Geometry
from oracle.observation import Snapshot
from targets.eager.target import EagerTarget
from targets.mutants.registry import MUTANTS, make_mutant


def padding(bench: Bench) -> None:
    bench.fresh(4)


def aliased(bench: Bench) -> None:
    bench.fresh(4)
    bench.call("free_group_begin")
    bench.free(pages(1), overwrite=True)
    bench.call("free_group_end")


def flush(bench: Bench) -> None:
    bench.fresh(8)
    bench.call("free_group_begin")
    bench.free(pages(1), "free_segment")
    bench.free(pages(2))
    bench.call("free_group_end")


def one_free(bench: Bench) -> None:
    bench.fresh(4)
    bench.free(pages(1))


def partial_segment(bench: Bench) -> None:
    bench.fresh(6)
    bench.free((*pages(1), 8, 9), "free_segment")


def part_of_a_page(bench: Bench) -> None:
    bench.fresh(4)
    bench.free((4,), "free_swa")


def staged(bench: Bench) -> None:
    bench.free(bench.fresh(32))
    bench.call("alloc", need=32)


def exact_fit(bench: Bench) -> None:
    bench.call("alloc", need=32)


def recovery_in_a_group(bench: Bench) -> None:
    row = bench.fresh(4)
    bench.call("free_group_begin")
    bench.free(row, "free_swa")
    new = bench.call("alloc", need=4, pool="swa").value
    bench.call("set_full_to_swa_mapping", slots=row, peers=new)
    bench.call("free_group_end")


def two_pages(bench: Bench) -> None:
    bench.fresh(8)
    bench.free(pages(1, 2))


def two_requests(bench: Bench) -> None:
    bench.fresh(4)
    bench.fresh(4)


SEQUENCES: dict[str, tuple[Geometry, Callable[[Bench], None]]] = {
    "padding-page-not-reserved": (paged(), padding),
    "group-pile-aliased": (paged(), aliased),
    "flush-order-swapped": (hybrid(), flush),
    "dedup-dropped": (paged(), one_free),
    "last-partial-page-kept": (paged(), partial_segment),
    "mapping-cleared-for-named-slots-only": (hybrid(), part_of_a_page),
    "merge-skipped": (paged(need_sort=True), staged),
    "capacity-off-by-one": (paged(), exact_fit),
    "mapping-read-at-group-end": (hybrid(), recovery_in_a_group),
    "page-pushed-twice": (paged(), two_pages),
    "peer-pages-swapped": (hybrid(), two_requests),
}


def final_state(target: EagerTarget, name: str) -> Snapshot:
    geometry, sequence = SEQUENCES[name]
    bench = Bench(geometry, target=target)
    sequence(bench)
    return bench.state


def test_every_mutant_has_a_sequence() -> None:
    assert set(SEQUENCES) == set(MUTANTS)


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_ends_in_another_state_than_eager(name: str) -> None:
    assert final_state(make_mutant(name), name) != final_state(EagerTarget(), name)


@pytest.mark.parametrize("name", MUTANTS)
def test_the_fault_sits_in_the_family_that_the_mutant_names(name: str) -> None:
    mutant = MUTANTS[name]
    assert SEQUENCES[name][0].family == mutant.family
    assert mutant.description.count(".") == 1
    assert mutant.description.endswith(".")
    assert mutant.kinds


@pytest.mark.parametrize("name", MUTANTS)
def test_a_reset_takes_a_mutant_back_to_its_own_initial_state(name: str) -> None:
    target = make_mutant(name)
    first = final_state(target, name)
    assert final_state(target, name) == first


def test_swapped_peers_keep_every_count_and_the_one_to_one_mapping() -> None:
    right = final_state(EagerTarget(), "peer-pages-swapped")
    wrong = final_state(make_mutant("peer-pages-swapped"), "peer-pages-swapped")
    assert right.mapping is not None
    assert wrong.mapping is not None
    assert wrong.mapping[4:12] == [*right.mapping[8:12], *right.mapping[4:8]]
    assert (wrong.full, wrong.swa, wrong.queries) == (right.full, right.swa, right.queries)
