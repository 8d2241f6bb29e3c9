"""A short way to drive a reference allocator and to look at it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec import UNSET, structs

from oracle.call import Call, Segment
from oracle.contract import current_contract
from oracle.family_sizes import FamilySizes
from oracle.geometry import Geometry, Mode
from oracle.observation import Outcome, PoolState, Snapshot
from oracle.reference import make_reference
from targets.sglang.contracts import contract_for_version


class Driver:
    """One reference allocator under test."""

    def __init__(
        self,
        family: Any,
        size: int,
        page_size: int = 1,
        *,
        size_swa: int | None = None,
        need_sort: bool = False,
        level: Any = "off",
        debug: bool = False,
        release: str = "",
        sizes: dict[str, int] | None = None,
        **contract: Any,
    ) -> None:
        if size_swa is None:
            size_swa = size if family == "hybrid-swa" else 0
        geometry = Geometry(
            family=family,
            size=size,
            page_size=page_size,
            size_swa=size_swa,
            need_sort=need_sort,
            sizes=FamilySizes(**sizes) if sizes else UNSET,
        )
        chosen = current_contract(family)
        if release:
            found = contract_for_version(release, family, power_of_two_pages=False)
            assert found is not None, f"no contract for {family} of {release}"
            chosen = found
        chosen = structs.replace(chosen, **contract)
        self.reference = make_reference(geometry, Mode(level=level, debug=debug), chosen)

    def call(self, method: Any, **arguments: Any) -> Outcome:
        """Perform one call, defined or not."""
        arguments = {
            name: tuple(value) if isinstance(value, list | range) else value
            for name, value in arguments.items()
        }
        return self.reference.apply(Call(method=method, **arguments))

    def does(self, method: Any, **arguments: Any) -> Outcome:
        """Perform a call that raises nothing."""
        outcome = self.call(method, **arguments)
        assert self.reference.undefined == "", self.reference.undefined
        assert outcome.error == "", (method, arguments, outcome)
        return outcome

    def gives(self, method: Any, **arguments: Any) -> list[int]:
        """Perform a call that returns slots."""
        outcome = self.does(method, **arguments)
        assert outcome.value is not None, (method, arguments, "returned None")
        assert outcome.dtype == "int64"
        return list(outcome.value)

    def refuses(self, method: Any, **arguments: Any) -> None:
        """Perform a call that returns None."""
        outcome = self.does(method, **arguments)
        assert outcome.value is None, (method, arguments, outcome)
        assert outcome.dtype == ""

    def raises(self, error: str, text: str, method: Any, **arguments: Any) -> Outcome:
        """Perform a call that raises ``error`` with ``text`` in its message."""
        outcome = self.call(method, **arguments)
        assert self.reference.undefined == "", self.reference.undefined
        assert outcome.error == error, (method, arguments, outcome)
        assert text in outcome.message, outcome.message
        assert outcome.value is None
        return outcome

    def is_undefined(self, text: str, method: Any, **arguments: Any) -> None:
        """Perform a call for which the contract makes no promise."""
        self.call(method, **arguments)
        assert text in self.reference.undefined, repr(self.reference.undefined)
        assert self.reference.undefined

    def extend(self, prefix: int, seq: int, last: int = -1, **arguments: Any) -> list[int]:
        """Extend one request."""
        return self.gives("alloc_extend", **one_extend(prefix, seq, last), **arguments)

    @property
    def snapshot(self) -> Snapshot:
        return self.reference.snapshot()

    @property
    def full(self) -> PoolState:
        return self.snapshot.full

    @property
    def swa(self) -> PoolState:
        swa = self.snapshot.swa
        assert swa is not None
        return swa

    @property
    def mapping(self) -> list[int]:
        mapping = self.snapshot.mapping
        assert mapping is not None
        return mapping

    def mapped(self) -> dict[int, int]:
        """The live entries of the mapping."""
        return {slot: peer for slot, peer in enumerate(self.mapping) if peer > 0}


def one_extend(prefix: int, seq: int, last: int = -1) -> dict[str, Any]:
    """The arguments of an extend of one request."""
    return extend_of([prefix], [seq], [last])


def extend_of(prefix: Sequence[int], seq: Sequence[int], last: Sequence[int]) -> dict[str, Any]:
    """The arguments of an extend of several requests."""
    return {
        "prefix_lens": tuple(prefix),
        "seq_lens": tuple(seq),
        "last_loc": tuple(last),
        "extend_num_tokens": sum(seq) - sum(prefix),
    }


@pytest.fixture
def drive() -> type[Driver]:
    return Driver


@pytest.fixture
def extends() -> Callable[..., dict[str, Any]]:
    return extend_of


@pytest.fixture
def segment() -> Callable[..., Segment]:
    def build(slots: Sequence[int], start_pos: int) -> Segment:
        return Segment(tuple(slots), start_pos)

    return build


@pytest.fixture
def tokens() -> Callable[..., list[int]]:
    """The slots of pages, page by page, at page size 4."""

    def build(*pages: int, page_size: int = 4) -> list[int]:
        return [slot for page in pages for slot in range(page * page_size, (page + 1) * page_size)]

    return build
