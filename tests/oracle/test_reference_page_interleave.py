"""The page-interleave allocator and its laws (contract_paged_swa §9)."""

from __future__ import annotations

import pytest
from family_house import FamilyHouse, broken, family_geometry

from oracle.observation import Outcome


def interleave(drive, pages=3, page_size=4, ranks=3, **options):
    """``pages`` pages in each class."""
    return drive("page-interleave", pages * page_size, page_size, sizes={"ranks": ranks}, **options)


def rotated(prefix, seq, bases, last=None):
    """The arguments of an extend with rotation bases."""
    return {
        "prefix_lens": tuple(prefix),
        "seq_lens": tuple(seq),
        "last_loc": tuple(last or [-1] * len(seq)),
        "extend_num_tokens": sum(seq) - sum(prefix),
        "rotation_bases": tuple(bases),
    }


def classes(pool):
    return pool.snapshot.classes


def pages_of(slots, page_size=4):
    return list(dict.fromkeys(slot // page_size for slot in slots))


def test_a_class_has_every_page_of_its_residue_but_the_first(drive):
    pool = interleave(drive)
    assert classes(pool) == [[3, 6, 9], [4, 7, 10], [5, 8, 11]]
    assert pool.snapshot.class_staged == [[], [], []]
    assert pool.snapshot.queries == {
        "available_size": 36,
        "size": 36,
        "aggregate_free_size": 36,
        "least_full_class": 0,
    }
    assert pool.full.all_free == [3, 6, 9, 4, 7, 10, 5, 8, 11]
    assert (pool.full.free, pool.full.staged_count, pool.full.available) == ([], 0, 36)


def test_page_j_comes_from_class_base_plus_j_and_slots_are_in_position_order(drive):
    pool = interleave(drive)
    slots = pool.gives("alloc_extend", **rotated([0], [14], [2]))
    assert pages_of(slots) == [5, 3, 4, 8]
    assert slots[12:] == [32, 33]
    assert classes(pool) == [[6, 9], [7, 10], [11]]


def test_a_row_goes_on_from_its_base_and_prefix(drive):
    pool = interleave(drive)
    first = pool.gives("alloc_extend", **rotated([0], [8], [1]))
    assert pages_of(first) == [4, 5]
    second = pool.gives("alloc_extend", **rotated([8], [12], [1], [first[-1]]))
    assert pages_of(second) == [3]


def test_available_is_that_of_the_shortest_class_in_every_class(drive):
    pool = interleave(drive)
    pool.gives("alloc_extend", **rotated([0], [16], [1]))
    queries = pool.snapshot.queries
    assert classes(pool) == [[6, 9], [10], [8, 11]]
    assert (queries["available_size"], queries["aggregate_free_size"]) == (12, 20)
    assert queries["least_full_class"] == 0


def test_an_open_base_is_resolved_to_the_fullest_class_of_what_is_left_by_then(drive):
    pool = interleave(drive)
    outcome = pool.does("alloc_extend", **rotated([0, 0, 0], [4, 4, 4], [None, 7, None]))
    assert outcome.resolved == (0, 7, 2)
    assert pages_of(outcome.value) == [3, 4, 5]


def test_an_open_base_of_a_row_with_a_prefix_is_counted_from_the_first_page(drive):
    pool = interleave(drive)
    outcome = pool.does("alloc_extend", **rotated([4], [8], [None], [15]))
    assert (outcome.resolved, pages_of(outcome.value)) == ((0,), [4])


def test_a_refusal_changes_nothing_not_even_the_bases(drive):
    pool = interleave(drive, 1, need_sort=True)
    row = pool.gives("alloc_extend", **rotated([0], [4], [1]))
    pool.does("free", slots=row)
    before = pool.snapshot
    outcome = pool.does("alloc_extend", **rotated([0, 0], [4, 12], [None, 0]))
    assert (outcome.value, outcome.resolved) == (None, (-1, 0))
    assert pool.snapshot == before


def test_a_failed_assertion_leaves_the_bases_open_too(drive):
    pool = interleave(drive)
    before = pool.snapshot
    extend = rotated([0, 4], [4, 4], [None, 1], [-1, 15])
    outcome = pool.raises("AssertionError", "new pages", "alloc_extend", **extend)
    assert (outcome.resolved, pool.snapshot) == ((-1, 1), before)


def test_what_an_extend_asserts(drive):
    pool = interleave(drive)
    extend = "alloc_extend"
    pool.raises("AssertionError", "rotation", extend, **rotated([0], [4], []))
    pool.raises("AssertionError", "prefix", extend, **rotated([2], [8], [0], [5]))
    pool.raises("AssertionError", "new pages", extend, **rotated([8], [4], [0], [7]))
    wrong = {**rotated([0], [4], [0]), "extend_num_tokens": 5}
    pool.raises("AssertionError", "tokens", extend, **wrong)
    assert classes(pool) == classes(interleave(drive))


def test_assertions_come_before_a_refusal(drive):
    pool = interleave(drive, 1)
    extend = rotated([0, 2], [40, 8], [0, 0], [-1, 5])
    pool.raises("AssertionError", "prefix", "alloc_extend", **extend)


def test_debug_asserts_that_the_prefix_ends_in_the_class_before(drive):
    extend = rotated([4], [8], [0], [23])
    interleave(drive).gives("alloc_extend", **extend)
    pool = interleave(drive, debug=True)
    pool.raises("AssertionError", "class 2", "alloc_extend", **extend)
    pool.gives("alloc_extend", **rotated([4], [8], [2], [23]))


def test_alloc_cyclic_is_an_extend_of_a_new_row(drive):
    pool = interleave(drive)
    assert pages_of(pool.gives("alloc_cyclic", start_class=4, need=9)) == [4, 5, 3]
    pool.raises("AssertionError", "new pages", "alloc_cyclic", start_class=0, need=0)
    pool.refuses("alloc_cyclic", start_class=1, need=40)


@pytest.mark.parametrize("method", ["alloc", "alloc_decode", "resize"])
def test_what_has_no_class_is_not_implemented(drive, method):
    interleave(drive).raises("NotImplementedError", "page-interleave", method)


def test_a_free_puts_sorted_pages_in_front_of_their_classes(drive):
    pool = interleave(drive)
    pool.gives("alloc_extend", **rotated([0], [36], [0]))
    pool.does("free", slots=[40, 12, 13, 24])
    assert classes(pool) == [[3, 6], [10], []]
    pool.does("free_segment", slots=[36, 20], start_pos=3)
    assert classes(pool) == [[9, 3, 6], [10], [5]]


def test_need_sort_stages_in_front_and_merges_all_classes_once_one_is_short(drive):
    pool = interleave(drive, 2, need_sort=True)
    pool.gives("alloc_extend", **rotated([0], [24], [0]))
    pool.does("free", slots=[24, 16])
    pool.does("free", slots=[12])
    assert (classes(pool), pool.snapshot.class_staged) == ([[], [], []], [[3, 6], [4], []])
    assert pool.snapshot.queries["aggregate_free_size"] == 12
    pool.refuses("alloc_extend", **rotated([0], [12], [0]))
    assert pool.snapshot.class_staged == [[3, 6], [4], []]
    assert pages_of(pool.gives("alloc_extend", **rotated([0], [4], [0]))) == [3]
    assert (classes(pool), pool.snapshot.class_staged) == ([[6], [4], []], [[], [], []])


def test_a_merge_by_hand(drive):
    pool = interleave(drive, 2, need_sort=True)
    row = pool.gives("alloc_extend", **rotated([0], [12], [0]))
    pool.does("free", slots=row)
    pool.does("merge_and_sort_free")
    assert classes(pool) == [[3, 6], [4, 7], [5, 8]]


def test_a_group_frees_all_that_waits_as_one(drive):
    pool = interleave(drive)
    row = pool.gives("alloc_extend", **rotated([0], [24], [0]))
    pool.does("free_group_begin")
    pool.does("free", slots=row[12:16])
    pool.does("free_segment", slots=row[:4], start_pos=0)
    assert (pool.full.group, pool.snapshot.group) == ([row[12:16], row[:4]], None)
    pool.raises("AssertionError", "nested", "free_group_begin")
    pool.does("free_group_end")
    assert (classes(pool)[0], pool.full.group) == ([3, 6, 9], None)


def test_segments_must_be_in_order(drive, segment):
    pool = interleave(drive)
    row = pool.gives("alloc_extend", **rotated([0], [8], [0]))
    parts = (segment(row[4:], 4), segment(row[:4], 0))
    pool.raises("AssertionError", "overlap", "free_segments", segments=parts)
    assert classes(pool) == [[6, 9], [4, 7, 10], [5, 8, 11]]


def test_clear_returns_to_the_start(drive):
    pool = interleave(drive, need_sort=True)
    before = pool.snapshot
    row = pool.gives("alloc_extend", **rotated([0], [24], [0]))
    pool.does("free", slots=row[:4])
    pool.does("free_group_begin")
    pool.does("free", slots=row[4:])
    pool.does("clear")
    assert pool.snapshot == before


def test_debug_asserts_that_no_page_is_free_twice_after_the_release(drive):
    pool = interleave(drive, debug=True)
    pool.raises("AssertionError", "duplicate", "free", slots=[12])
    assert classes(pool)[0] == [3, 3, 6, 9]
    pool.is_undefined("duplicate", "alloc_cyclic", need=4)
    pool.is_undefined("duplicate", "free_group_end")


def test_what_is_left_open(drive):
    pool = interleave(drive)
    pool.is_undefined("no request", "alloc_extend", **rotated([], [], []))
    pool.is_undefined("exact need", "alloc_extend", **rotated([0], [4], [0]), num_new_pages=2)


@pytest.fixture
def house():
    """A row of three pages from class 1 on, 4, 5 and 3, the last one partial."""
    house = FamilyHouse(family_geometry("page-interleave", 12, 4, need_sort=True, ranks=3))
    request = house.row(house.does("alloc_extend", **rotated([0], [10], [1])).value)
    house.books.first_class[request.identity] = 1
    house.settle()
    return house


def test_the_laws_accept_the_life_of_a_row(house):
    request = house.books.requests[0]
    outcome = house.does("alloc_extend", **rotated([0], [8], [None]))
    other = house.row(outcome.value)
    house.books.first_class[other.identity] = outcome.resolved[0]
    house.settle()
    house.does("free", slots=request.slots)
    house.books.give_back(request, [0, 1, 2])
    house.settle()
    assert house.does("alloc_extend", **rotated([0], [80], [None])).value is None
    house.settle()
    house.does("free", slots=other.slots)
    house.books.give_back(other, [0, 1])
    house.does("merge_and_sort_free")
    house.settle()


@pytest.mark.parametrize(
    ("law", "pool", "changes"),
    [
        ("padding-page", "full", {"classes": [[0, 6, 9], [7, 10], [8, 11]]}),
        ("padding-page", "full", {"classes": [[6, 9], [7, 10], [2, 8, 11]]}),
        ("one-owner", "full", {"classes": [[3, 6, 9], [7, 10], [8, 11]]}),
        ("one-owner", "full", {"class_staged": [[6], [], []]}),
        ("conservation", "full", {"classes": [[6], [7, 10], [8, 11]]}),
        ("conservation", "full", {"classes": [[6, 9], [7, 10], [8, 12]]}),
        ("page-class", "full", {"classes": [[7, 9], [6, 10], [8, 11]]}),
        ("page-class", "full", {"classes": [[6, 9, 7, 10], [8, 11]]}),
        ("capacity-within-size", "full", {"queries__aggregate_free_size": 28}),
        ("capacity-within-size", "", {"queries__available_size": 28}),
        ("capacity-within-size", "", {"queries__least_full_class": 1}),
    ],
)
def test_each_law_fires(house, law, pool, changes):
    assert house.judge() is None
    broken(house.judge(**changes), law, pool)


def test_a_row_that_leaves_its_turn_is_reported(house):
    request = house.books.requests[0]
    house.books.first_class[request.identity] = 2
    assert broken(house.judge(), "rotation", "full").got.startswith("class 1")


def test_answers_are_judged(house):
    extend = rotated([0], [8], [0])
    answer = (*range(24, 28), *range(28, 32))
    right = Outcome(value=answer, resolved=(0,))
    assert house.claims(right, "alloc_extend", **extend) is None
    turned = Outcome(value=answer[4:] + answer[:4], resolved=(0,))
    broken(house.claims(turned, "alloc_extend", **extend), "rotation", "full")
    moved = Outcome(value=answer, resolved=(1,))
    broken(house.claims(moved, "alloc_extend", **extend), "rotation", "")
    still_open = Outcome(value=answer, resolved=(-1,))
    found = house.claims(still_open, "alloc_extend", **rotated([0], [8], [None]))
    broken(found, "rotation", "")
    cyclic = Outcome(value=answer)
    assert house.claims(cyclic, "alloc_cyclic", start_class=3, need=8) is None
    broken(house.claims(cyclic, "alloc_cyclic", start_class=1, need=8), "rotation", "full")
    held = Outcome(value=tuple(range(12, 16)), resolved=(0,))
    broken(house.claims(held, "alloc_extend", **rotated([0], [4], [0])), "returned-slots", "full")


def test_a_refusal_that_resolves_a_base_is_reported(house):
    extend = rotated([0], [80], [None])
    refused = Outcome(resolved=(0,))
    broken(house.claims(refused, "alloc_extend", **extend), "failed-call-changes-nothing", "")
    assert house.claims(Outcome(resolved=(-1,)), "alloc_extend", **extend) is None


def test_pages_that_do_not_come_back_are_reported(house):
    house.books.clear()
    broken(house.judge(), "conservation", "full")
