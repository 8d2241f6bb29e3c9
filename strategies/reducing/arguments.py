"""The pass that makes arguments plain: defaults, zero, one, halves, fewer parts.

Guarantees that an accepted change makes a value simpler: a smaller number, an earlier choice of a literal, a shorter
tuple, or the default of its field.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec.structs import replace

from strategies.reducing.search import Search

COUNTED_DOWN = 8
"""Numbers up to this one are also tried with one less."""


def simplify_arguments(search: Search) -> None:
    """Simplify each operation, the last one first, until nothing of it can be simplified."""
    for index in reversed(range(len(search.operations))):
        while index < len(search.operations) and _simplify_one(search, index):
            pass


def simpler_structs(struct: Any, modulus: int) -> Iterator[Any]:
    """Simpler variants of an operation or a part of one: all defaults first, then one field changed.

    ``modulus``: numbers are also tried modulo this, which many operations cannot tell apart.
    """
    kind = type(struct)
    plain = kind()
    if struct == plain:
        return
    yield plain
    for field in msgspec.structs.fields(kind):
        value, default = getattr(struct, field.name), getattr(plain, field.name)
        for simpler in _simpler_values(field.type, value, default, modulus):
            yield replace(struct, **{field.name: simpler})


def _simplify_one(search: Search, index: int) -> bool:
    operations = search.operations
    modulus = 8 * search.best.geometry.page_size + 1
    for simpler in simpler_structs(operations[index], modulus):
        if search.accepts_operations((*operations[:index], simpler, *operations[index + 1 :])):
            return True
    return False


def _simpler_values(annotation: Any, value: Any, default: Any, modulus: int) -> Iterator[Any]:
    if isinstance(value, tuple):
        yield from _simpler_tuples(get_args(annotation)[0], value, modulus)
    elif value == default:
        return
    elif isinstance(value, bool):
        yield default
    elif isinstance(value, int):
        yield from _simpler_numbers(value, default, modulus)
    elif get_origin(annotation) is Literal:
        choices = get_args(annotation)
        yield from choices[: choices.index(value)]


def _simpler_numbers(value: int, default: int, modulus: int) -> Iterator[int]:
    tries = [default, 0, 1, value % 8, value % modulus, value // 2]
    if value <= COUNTED_DOWN:
        tries.append(value - 1)
    for number in dict.fromkeys(tries):
        if number == default or 0 <= number < abs(value):
            yield number


def _simpler_tuples(
    annotation: Any, values: tuple[Any, ...], modulus: int
) -> Iterator[tuple[Any, ...]]:
    if len(values) > 1:
        for index in range(len(values)):
            yield values[:index] + values[index + 1 :]
    for index, value in enumerate(values):
        simpler: Iterator[Any]
        if isinstance(value, msgspec.Struct):
            simpler = simpler_structs(value, modulus)
        else:
            simpler = _simpler_values(annotation, value, 0, modulus)
        for item in simpler:
            yield (*values[:index], item, *values[index + 1 :])
