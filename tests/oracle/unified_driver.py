"""A short way to drive a unified reference allocator and to look at it."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from oracle.byte_buffer import Buffer
from oracle.call import Call, Tree, TreeRow
from oracle.contract import current_contract
from oracle.geometry import Geometry, Mode
from oracle.observation import Outcome
from oracle.unified import UnifiedReference
from oracle.unified_observation import BandState, PageCopy, UnifiedSnapshot


def two_pools(**sizes: Any) -> Geometry:
    """The two-pool geometry of the contract's golden traces, or a variant of it."""
    buffer: dict[str, Any] = {"total_bytes": 1024, "full_bytes": 16, "swa_bytes": 8}
    return _geometry("unified-swa", buffer, sizes)


def three_pools(**sizes: Any) -> Geometry:
    """The three-pool geometry of the contract's golden trace, or a variant of it."""
    buffer: dict[str, Any] = {
        "total_bytes": 2048,
        "full_bytes": 16,
        "swa_bytes": 8,
        "state_bytes": 96,
    }
    return _geometry("unified-mamba-swa", buffer, {"size": 64, "size_swa": 64} | sizes)


def full_and_state(**sizes: Any) -> Geometry:
    """A FULL pool and states over one buffer."""
    buffer: dict[str, Any] = {"total_bytes": 1024, "full_bytes": 16, "state_bytes": 96}
    return _geometry("unified-mamba", buffer, sizes)


def _geometry(family: Any, buffer: dict[str, Any], sizes: dict[str, Any]) -> Geometry:
    known = Buffer.__struct_fields__
    buffer = buffer | {name: value for name, value in sizes.items() if name in known}
    rest = {"size": 0, "page_size": 4} | {n: v for n, v in sizes.items() if n not in known}
    geometry = Geometry(family=family, buffer=Buffer(**buffer), **rest)
    geometry.check()
    return geometry


class UnifiedDriver:
    """One reference allocator under test."""

    def __init__(self, geometry: Geometry, *, level: Any = "off", **contract: Any) -> None:
        self.geometry = geometry
        chosen = structs.replace(current_contract(geometry.family), **contract)
        self.reference = UnifiedReference(geometry, Mode(level=level), chosen)

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
        """Perform a call that returns something."""
        outcome = self.does(method, **arguments)
        assert outcome.value is not None, (method, arguments, "returned None")
        return list(outcome.value)

    def refuses(self, method: Any, **arguments: Any) -> None:
        """Perform a call that returns None."""
        assert self.does(method, **arguments).value is None, (method, arguments)

    def raises(self, error: str, method: Any, **arguments: Any) -> Outcome:
        """Perform a call that raises ``error``."""
        outcome = self.call(method, **arguments)
        assert self.reference.undefined == "", self.reference.undefined
        assert outcome.error == error, (method, arguments, outcome)
        return outcome

    def is_undefined(self, text: str, method: Any, **arguments: Any) -> None:
        """Perform a call for which the contract makes no promise."""
        self.call(method, **arguments)
        assert text in self.reference.undefined, repr(self.reference.undefined)

    def alloc(self, slots: int) -> list[int]:
        """A row."""
        return self.gives("alloc", need=slots)

    def flush(self, band: str, *, urgent: bool = False) -> int:
        """Flush one band; how many pages moved or were stripped."""
        return self.gives("flush", pool=band, urgent=urgent)[0]

    def evict(
        self, need: int, *rows: TreeRow, states: tuple[int, ...] = (), **arguments: Any
    ) -> Any:
        """Evict from a tree that holds these rows."""
        tree = Tree(rows=rows, states=states, direct=arguments.pop("direct", True))
        return self.does("evict_to_free_tokens", need=need, tree=tree, **arguments)

    @property
    def snapshot(self) -> UnifiedSnapshot:
        return self.reference.snapshot()

    @property
    def full(self) -> BandState:
        return self.snapshot.bands["full"]

    @property
    def swa(self) -> BandState:
        return self.snapshot.bands["swa"]

    @property
    def state(self) -> BandState:
        return self.snapshot.bands["state"]

    def sizes(self) -> tuple[int, int, int]:
        """Joint, FULL and SWA available sizes."""
        queries = self.snapshot.queries
        names = ("available_size", "full_available_size", "swa_available_size")
        return queries[names[0]], queries[names[1]], queries[names[2]]

    def copies(self, band: str) -> set[tuple[int, int]]:
        """The copies that the last call made on one band."""
        return {(c.source, c.destination) for c in self.snapshot.copies if c.band == band}

    def last_copies(self) -> list[PageCopy]:
        return self.snapshot.copies


def bound(band: BandState) -> dict[int, int]:
    """The pairs of the table beside padding: virtual page to physical page."""
    return {page: place for page, place in enumerate(band.v2p) if page and place != -1}
