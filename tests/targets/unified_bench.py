"""Short ways to make calls on a unified target by hand."""

from __future__ import annotations

from typing import Any

from eager_calls import Bench

from oracle.byte_buffer import Buffer
from oracle.call import Tree, TreeRow
from oracle.geometry import Geometry, Mode
from oracle.target import Target
from oracle.unified_observation import BandState, UnifiedSnapshot
from targets.eager.target import EagerTarget

SEGMENT_CALLS = ("free_segment", "free_swa_segment", "free_full_segment")


def two_pools(**fields: Any) -> Geometry:
    """The two pools of the golden traces: 1024 bytes, FULL 16 and SWA 8 a slot, pages of four slots; or a variant."""
    buffer = {"total_bytes": 1024, "full_bytes": 16, "swa_bytes": 8}
    return _geometry("unified-swa", buffer, {"size": 0, "page_size": 4}, fields)


def three_pools(**fields: Any) -> Geometry:
    """The three pools of the golden trace, or a variant."""
    buffer = {"total_bytes": 2048, "full_bytes": 16, "swa_bytes": 8, "state_bytes": 96}
    return _geometry(
        "unified-mamba-swa", buffer, {"size": 64, "size_swa": 64, "page_size": 4}, fields
    )


def full_and_states(**fields: Any) -> Geometry:
    """FULL, 16 bytes a slot in pages of four, and nine states of 96 bytes over 1024 bytes; or a variant."""
    buffer = {"total_bytes": 1024, "full_bytes": 16, "state_bytes": 96}
    return _geometry("unified-mamba", buffer, {"size": 0, "page_size": 4}, fields)


def _geometry(
    family: Any, buffer: dict[str, Any], rest: dict[str, Any], fields: dict[str, Any]
) -> Geometry:
    for name, value in fields.items():
        (buffer if name in Buffer.__struct_fields__ else rest)[name] = value
    return Geometry(family=family, buffer=Buffer(**buffer), **rest)


class UnifiedBench(Bench):
    """A bench whose target is a unified allocator."""

    def __init__(
        self,
        geometry: Geometry | None = None,
        mode: Mode | None = None,
        target: Target | None = None,
    ) -> None:
        super().__init__(geometry or two_pools(), mode, target or EagerTarget())

    @property
    def seen(self) -> UnifiedSnapshot:
        snapshot = self.target.snapshot()
        assert isinstance(snapshot, UnifiedSnapshot)
        return snapshot

    def band(self, name: str) -> BandState:
        return self.seen.bands[name]

    def row(self, slots: int) -> tuple[int, ...]:
        """A new row."""
        value = self.call("alloc", need=slots).value
        assert value is not None, f"no room for {slots} slots"
        return value

    def segment(
        self, row: tuple[int, ...], first: int, stop: int, method: str = "free_segment"
    ) -> None:
        """Free the slots ``first`` to before ``stop`` of a row as a segment."""
        outcome = self.free(row[first:stop], method, start_pos=first)
        assert outcome.error == "", outcome

    def flush(self, band: str, *, urgent: bool = False) -> int:
        value = self.call("flush", pool=band, urgent=urgent).value
        assert value is not None
        return value[0]

    def evict(self, need: int, *rows: TreeRow, **fields: Any) -> Any:
        tree = Tree(rows=rows, direct=fields.pop("direct", True))
        return self.call("evict_to_free_tokens", need=need, tree=tree, **fields)

    def sizes(self) -> tuple[int, int, int]:
        """Joint, FULL and SWA available sizes."""
        queries = self.seen.queries
        return (
            queries["available_size"],
            queries["full_available_size"],
            queries["swa_available_size"],
        )

    def copies(self, band: str) -> set[tuple[int, int]]:
        return {(c.source, c.destination) for c in self.seen.copies if c.band == band}

    def states(self, count: int) -> tuple[int, ...]:
        """New states."""
        value = self.call("alloc", pool="state", need=count).value
        assert value is not None, f"no room for {count} states"
        return value

    def begin(self, count: int) -> None:
        """Take states out in advance."""
        outcome = self.call("alloc_group_begin", pool="state", need=count)
        assert (outcome.value, outcome.error) == (None, "")

    def end(self) -> None:
        """Give back what is left of them."""
        outcome = self.call("alloc_group_end", pool="state")
        assert (outcome.value, outcome.error) == (None, "")

    def bound(self, band: str) -> dict[int, int]:
        """Virtual to physical page, beside padding."""
        table = self.band(band).v2p
        return {page: place for page, place in enumerate(table) if page and place != -1}

    def kv(self, band: str, slots: tuple[int, ...]) -> list[int]:
        """What is written in virtual slots of a band."""
        state, size = self.band(band), self.geometry.page_size
        return [state.content[state.v2p[s // size] * size + s % size] for s in slots]
