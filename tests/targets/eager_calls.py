"""Short ways to make calls on a target by hand, for the tests of this folder."""

from __future__ import annotations

from typing import Any

from oracle.call import Call, Segment
from oracle.geometry import Geometry, Mode
from oracle.observation import Outcome, Snapshot
from oracle.target import Target
from targets.eager.target import EagerTarget


class Bench:
    """One target after a reset, and calls on it."""

    def __init__(self, geometry: Geometry, mode: Mode | None = None, target: Target | None = None):
        self.target = target if target is not None else EagerTarget()
        self.geometry = geometry
        self.target.reset(geometry, mode if mode is not None else Mode())

    def call(self, method: str, **fields: Any) -> Outcome:
        return self.target.apply(Call(method=method, **fields))

    def free(self, slots: Any, method: str = "free", **fields: Any) -> Outcome:
        return self.call(method, slots=tuple(slots), **fields)

    def extend(self, *rows: tuple[int, int, int], **fields: Any) -> Outcome:
        """Rows as (prefix length, sequence length, last slot)."""
        return self.call(
            "alloc_extend",
            prefix_lens=tuple(row[0] for row in rows),
            seq_lens=tuple(row[1] for row in rows),
            last_loc=tuple(row[2] for row in rows),
            extend_num_tokens=sum(row[1] - row[0] for row in rows),
            **fields,
        )

    def fresh(self, *lengths: int) -> tuple[int, ...]:
        """The slots of new rows of these lengths."""
        value = self.extend(*((0, length, -1) for length in lengths)).value
        assert value is not None, f"no room for rows of {lengths}"
        return value

    def tail(self, length: int, tail: int) -> Outcome:
        return self.call(
            "alloc_extend_swa_tail",
            prefix_lens=(0,),
            seq_lens=(length,),
            last_loc=(-1,),
            extend_num_tokens=length,
            swa_tail_len=tail,
        )

    def decode(self, *rows: tuple[int, int], **fields: Any) -> Outcome:
        """Rows as (length with the new slot, last slot)."""
        return self.call(
            "alloc_decode",
            seq_lens=tuple(row[0] for row in rows),
            last_loc=tuple(row[1] for row in rows),
            **fields,
        )

    def segments(self, method: str, *segments: tuple[Any, int]) -> Outcome:
        return self.call(
            method, segments=tuple(Segment(tuple(slots), start) for slots, start in segments)
        )

    @property
    def state(self) -> Snapshot:
        return self.target.snapshot()


def token(size: int = 8, *, need_sort: bool = False) -> Geometry:
    return Geometry(family="token", size=size, need_sort=need_sort)


def paged(size: int = 32, page_size: int = 4, *, need_sort: bool = False) -> Geometry:
    return Geometry(family="paged", size=size, page_size=page_size, need_sort=need_sort)


def hybrid(
    size: int = 32, size_swa: int = 32, page_size: int = 4, *, need_sort: bool = False
) -> Geometry:
    return Geometry(
        family="hybrid-swa",
        size=size,
        size_swa=size_swa,
        page_size=page_size,
        need_sort=need_sort,
    )


def pages(*page_ids: int, page_size: int = 4) -> tuple[int, ...]:
    """All slots of these pages."""
    return tuple(page * page_size + offset for page in page_ids for offset in range(page_size))
