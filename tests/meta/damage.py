"""Damages sound trace files: in their bytes, and in the document that they hold.

Guarantees that equal states of the random generator give equal bytes on every platform and Python.
"""

import copy
import functools
import json
from collections.abc import Callable
from random import Random
from typing import Any

from oracle.geometry import (
    FAMILIES,
    LARGEST_PAGE_SIZE,
    LARGEST_SIZE,
    UNIFIED_FAMILIES,
    Family,
    Geometry,
)
from oracle.operations import OPERATION_TABLE, Drain
from oracle.trace import Trace, encode_trace
from strategies.unified_geometries import make_unified_geometry

NUMBERS = (
    0, 1, -1, 2, 3, 7, 255, 4096, LARGEST_PAGE_SIZE + 1, LARGEST_SIZE, LARGEST_SIZE + 1,
    2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, -(10**30), 1.5, 1e308,
)  # fmt: skip
STRANGERS: tuple[Any, ...] = (
    None, True, False, "", "8", "alloc", "no such thing", "\u0000", "\U0001f4a5", [], {}, [[]], [0], {"kind": "alloc"},
)  # fmt: skip


def _geometry(family: Family) -> Geometry:
    if family in UNIFIED_FAMILIES:
        return make_unified_geometry(
            family,
            pages=6,
            page_size=4,
            entries=(16, 8),
            spare=1,
            lazy=True,
            state_bytes=0 if family == "unified-swa" else 96,
            states=3,
        )
    page_size, size_swa = (1, 0) if family == "token" else (4, 0)
    if family == "hybrid-swa":
        size_swa = 24
    return Geometry(family=family, size=32, page_size=page_size, size_swa=size_swa)


@functools.cache
def _sound(families: tuple[Family, ...]) -> tuple[str, ...]:
    documents = []
    for family in families:
        geometry = _geometry(family)
        kinds = [kind.operation for kind in OPERATION_TABLE if family in kind.families]
        # A few requests first, so that the rest has rows to work on.
        operations = [kinds[0](), kinds[0](), *(kind() for kind in kinds), Drain()]
        sparse = json.loads(encode_trace(Trace(geometry=geometry, operations=tuple(operations))))
        for operation, struct in zip(sparse["operations"], operations, strict=True):
            for field in struct.__struct_fields__:
                operation.setdefault(field, _plain(getattr(struct, field)))
        documents.append(json.dumps(sparse))
    return tuple(documents)


def _plain(value: Any) -> Any:
    """A default as it would stand in JSON (structs inside tuples are written without their defaults)."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "__struct_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
    return value


def sound_documents(families: tuple[Family, ...] = FAMILIES) -> list[dict[str, Any]]:
    """One trace of each family, with every operation of the family and every field written out."""
    return [json.loads(text) for text in _sound(families)]


def damaged(random: Random, families: tuple[Family, ...] = FAMILIES) -> bytes:
    """A trace file with up to three kinds of damage, sometimes to its document and then to its bytes."""
    document: Any = json.loads(random.choice(_sound(families)))
    if random.random() < 0.75:
        for _ in range(random.randint(1, 3)):
            random.choice(DOCUMENT_DAMAGES)(document, random)
        if random.random() < 0.9:
            return json.dumps(document).encode()
    data = json.dumps(document).encode()
    for _ in range(random.randint(1, 3)):
        data = random.choice(BYTE_DAMAGES)(data, random)
    return data


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Each container inside ``value`` with each of its keys or positions."""
    places: list[tuple[Any, Any]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        places.append((value, key))
        if isinstance(item, dict | list):
            places.extend(_places(item))
    return places


def _place(document: Any, random: Random) -> tuple[Any, Any] | None:
    places = _places(document)
    return random.choice(places) if places else None


def _remove(document: Any, random: Random) -> None:
    if place := _place(document, random):
        del place[0][place[1]]


def _set_number(document: Any, random: Random) -> None:
    places = [
        (holder, key)
        for holder, key in _places(document)
        if isinstance(holder[key], int) and not isinstance(holder[key], bool)
    ]
    if places:
        holder, key = random.choice(places)
        holder[key] = random.choice(NUMBERS)


def _set_stranger(document: Any, random: Random) -> None:
    if place := _place(document, random):
        place[0][place[1]] = copy.deepcopy(random.choice(STRANGERS))


def _rename_kind(document: Any, random: Random) -> None:
    operations = document.get("operations")
    if isinstance(operations, list) and operations:
        operation = random.choice(operations)
        if isinstance(operation, dict):
            operation["kind"] = random.choice(["", "Alloc", "reset", "alloc ", "drain", "restore"])


def _add_field(document: Any, random: Random) -> None:
    holders = [holder for holder, _ in _places(document) if isinstance(holder, dict)]
    if holders:
        random.choice(holders)[random.choice(["", "surplus", "kind", "size", "pages"])] = (
            random.choice(NUMBERS)
        )


def _reorder(document: Any, random: Random) -> None:
    operations = document.get("operations")
    if isinstance(operations, list):
        random.shuffle(operations)
        del operations[random.randint(0, len(operations)) :]


def _repeat(document: Any, random: Random) -> None:
    operations = document.get("operations")
    if isinstance(operations, list) and operations:
        operations.extend(copy.deepcopy(operations[: random.randint(1, len(operations))]))


def _nest(document: Any, random: Random) -> None:
    if place := _place(document, random):
        deep: Any = place[0][place[1]]
        for _ in range(random.choice([1, 2, 50, 400])):
            deep = [deep] if random.random() < 0.5 else {"kind": deep}
        place[0][place[1]] = deep


def _flip(data: bytes, random: Random) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


def _cut(data: bytes, random: Random) -> bytes:
    return data[: random.randint(0, len(data))]


def _drop(data: bytes, random: Random) -> bytes:
    start = random.randint(0, len(data))
    return data[:start] + data[start + random.choice([1, 2, 10, 100]) :]


def _insert(data: bytes, random: Random) -> bytes:
    at = random.randint(0, len(data))
    noise = random.choice(
        [b"[" * 5000, b'{"a":' * 2000, b"\x00", b"\xff", b'"', b",", b"9" * 400, b"-", b"\\ud800"]
    )
    return data[:at] + noise + data[at:]


def _digit(data: bytes, random: Random) -> bytes:
    digits = [at for at, byte in enumerate(data) if 48 <= byte <= 57]
    if not digits:
        return data
    at = random.choice(digits)
    return data[:at] + random.choice([b"0", b"9", b"99999", b"1e5", b"-1"]) + data[at + 1 :]


DOCUMENT_DAMAGES: tuple[Callable[[Any, Random], None], ...] = (
    _remove, _set_number, _set_number, _set_stranger, _rename_kind, _add_field, _reorder, _repeat, _nest,
)  # fmt: skip
BYTE_DAMAGES: tuple[Callable[[bytes, Random], bytes], ...] = (_flip, _cut, _drop, _insert, _digit)
