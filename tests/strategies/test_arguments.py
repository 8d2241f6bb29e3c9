"""The derivation of arguments covers every field of every operation, and every value that it draws is allowed."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import operations as op
from oracle.contract import current_contract
from strategies.arguments import (
    AMOUNTS,
    BIASES,
    FEW,
    LEGAL_VALUES,
    NUMBERS,
    RARELY,
    arguments_of,
    struct_strategy,
)

KINDS = [row.operation for row in op.OPERATION_TABLE]
MOST_CHOICES = 101
"""Hypothesis mixes constants of loaded modules into wider draws."""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_of_an_operation_has_a_strategy(kind: type[op.Base]) -> None:
    arguments = arguments_of(kind)
    assert arguments is not None
    assert list(arguments) == [field.name for field in msgspec.structs.fields(kind)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_drawn_operation_can_be_written_and_read_again(kind: type[op.Base]) -> None:
    @settings(max_examples=30, database=None, deadline=None)
    @given(struct_strategy(kind))
    def check(operation: op.Base) -> None:
        data = msgspec.json.encode(operation)
        assert msgspec.json.decode(data, type=kind) == operation

    check()


def test_every_choice_of_a_literal_is_drawn() -> None:
    missing = []
    for kind in KINDS:
        for field in msgspec.structs.fields(kind):
            if get_origin(field.type) is Literal:
                bias = BIASES.get((kind, field.name))
                if bias is not None and set(bias) != set(get_args(field.type)):
                    missing.append((kind.__name__, field.name))
    assert not missing


def test_no_draw_is_so_wide_that_constants_of_loaded_modules_are_mixed_in() -> None:
    tables = [NUMBERS, AMOUNTS, FEW, RARELY, *BIASES.values()]
    assert max(len(table) for table in tables) <= MOST_CHOICES


def test_methods_that_a_target_lacks_are_not_drawn() -> None:
    methods = current_contract("paged").methods

    @settings(max_examples=50, database=None, deadline=None)
    @given(st.fixed_dictionaries(arguments_of(op.Free, methods=methods) or {}))
    def check(fields: dict[str, Any]) -> None:
        assert fields["method"] in methods

    check()


def test_an_operation_of_which_no_method_is_there_has_no_arguments() -> None:
    assert arguments_of(op.FreeSegments, methods=frozenset({"free"})) is None


@pytest.mark.parametrize(("kind", "name"), LEGAL_VALUES, ids=str)
def test_a_legal_caller_draws_no_value_that_always_breaks_the_contract(
    kind: type[op.Base], name: str
) -> None:
    @settings(max_examples=20, database=None, deadline=None)
    @given((arguments_of(kind, legal=True) or {})[name])
    def check(value: object) -> None:
        assert value in LEGAL_VALUES[kind, name]

    check()


def test_an_annotation_that_no_operation_may_have_is_refused() -> None:
    class Odd(op.Base, frozen=True, tag="odd"):
        weight: float = 0.0

    with pytest.raises(TypeError, match="no strategy for a field of type"):
        arguments_of(Odd)
