"""The registry of invariants and its levels (contract_paged_swa §2)."""

from __future__ import annotations

import pytest

from oracle.contract import PEER_MAPPED, PEER_RELEASED, SEGMENT_BOUND, SEGMENT_RELEASED
from oracle.invariants import ALLOCATOR_INVARIANTS, BUCKETS, Registry, ResolvedLevel, resolve_level


@pytest.mark.parametrize(
    ("bucket", "off", "warn", "strict"),
    [
        ("SOFTEN", "silent", "counted", "counted"),
        ("GUARD", "silent", "counted", "raised"),
        ("FATAL_CONTAINABLE", "silent", "counted", "raised"),
        ("FATAL_UNCONTAINABLE", "silent", "raised", "raised"),
    ],
)
def test_each_bucket_reacts_as_the_matrix_says(bucket, off, warn, strict):
    invariant = Registry().declare("some.name", bucket)
    assert [invariant.reaction(level) for level in ("off", "warn", "strict")] == [off, warn, strict]


def test_the_allocator_invariants_are_declared():
    assert ALLOCATOR_INVARIANTS.names() == (
        PEER_MAPPED,
        PEER_RELEASED,
        SEGMENT_BOUND,
        SEGMENT_RELEASED,
    )
    for name in (SEGMENT_BOUND, SEGMENT_RELEASED):
        assert ALLOCATOR_INVARIANTS[name].bucket == "FATAL_UNCONTAINABLE"
    assert ALLOCATOR_INVARIANTS[PEER_MAPPED].bucket == "FATAL_UNCONTAINABLE"
    assert ALLOCATOR_INVARIANTS[PEER_RELEASED].bucket == "GUARD"
    assert ALLOCATOR_INVARIANTS[PEER_MAPPED].recover is None
    assert ALLOCATOR_INVARIANTS[PEER_RELEASED].recover is None


@pytest.mark.parametrize("bucket", ["GUARD", "SOFTEN"])
def test_a_name_is_declared_once(bucket):
    registry = Registry()
    first = registry.declare("some.name", "GUARD")
    with pytest.raises(ValueError, match=r"some\.name.*already declared"):
        registry.declare("some.name", bucket)
    assert registry["some.name"] is first


def test_importing_a_declaring_module_again_changes_nothing_but_a_conflict_is_refused():
    registry = Registry(accepts_repeats=True)
    first = registry.declare("some.name", "GUARD")
    assert registry.declare("some.name", "GUARD") is first
    with pytest.raises(ValueError, match=r"some\.name.*already declared"):
        registry.declare("some.name", "SOFTEN")
    with pytest.raises(ValueError, match=r"some\.name.*already declared"):
        registry.declare("some.name", "GUARD", recover=abs)
    assert registry["some.name"] is first


def test_what_cannot_be_contained_takes_no_recover():
    registry = Registry()
    with pytest.raises(ValueError, match="takes no recover"):
        registry.declare("some.name", "FATAL_UNCONTAINABLE", recover=abs)
    assert registry.names() == ()


@pytest.mark.parametrize(
    "bucket", [bucket for bucket in BUCKETS if bucket != "FATAL_UNCONTAINABLE"]
)
def test_every_other_bucket_may_recover(bucket):
    assert Registry().declare("some.name", bucket, recover=abs).recover is abs


def test_an_unknown_bucket_is_refused():
    with pytest.raises(ValueError, match="none of"):
        Registry().declare("some.name", "HARMLESS")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("environment", "level"),
    [
        ({}, "off"),
        ({"SGLANG_INVARIANT_CHECK": "0"}, "off"),
        ({"SGLANG_INVARIANT_CHECK": "1"}, "warn"),
        ({"SGLANG_INVARIANT_CHECK": "2"}, "strict"),
        ({"SGLANG_ENABLE_ASYNC_ASSERT": "1"}, "strict"),
        ({"SGLANG_ENABLE_ASYNC_ASSERT": "True"}, "strict"),
        ({"SGLANG_ENABLE_ASYNC_ASSERT": "false"}, "off"),
        ({"SGLANG_INVARIANT_CHECK": "0", "SGLANG_ENABLE_ASYNC_ASSERT": "1"}, "off"),
        ({"SGLANG_INVARIANT_CHECK": "1", "SGLANG_ENABLE_ASYNC_ASSERT": "1"}, "warn"),
    ],
)
def test_the_level_follows_from_the_environment(environment, level):
    assert resolve_level(environment) == ResolvedLevel(level)


@pytest.mark.parametrize("text", ["", "warn", "1.0"])
def test_a_level_that_is_no_integer_warns_and_counts_as_off(text):
    resolved = resolve_level({"SGLANG_INVARIANT_CHECK": text, "SGLANG_ENABLE_ASYNC_ASSERT": "1"})
    assert resolved.level == "off"
    assert repr(text) in resolved.warning


@pytest.mark.parametrize("text", ["3", "-1"])
def test_an_integer_that_is_no_level_raises(text):
    with pytest.raises(ValueError, match=f"={text} is no level"):
        resolve_level({"SGLANG_INVARIANT_CHECK": text})
