"""The operations of the code around a hybrid allocator: rows with cursors, and the prefix tree (contract_paged_swa §11).

What ``oracle.operations`` says of fields holds here too. ``node`` is which node of the tree, newest first. Three fields make a
caller slip, each 0 or False for one who does not: ``stale`` pages is how far behind the evicted cursor is that the call gets (any
number means down to 0), ``drift`` slots is how far off its page boundary a cursor is, ``floorless`` forgets the floor.
"""

from __future__ import annotations

from typing import Literal

from oracle.operation_base import Base, Unit

Drifting = Literal["evicted", "protected"]


class EvictWindow(Base, frozen=True, tag="evict-window"):
    """Window eviction by cursors of ``count`` + 1 requests from ``request`` on, more than one of them in a free group (§11.2).

    ``behind`` slots of the row are not computed yet (chunked prefill), so the window ends before them. ``floor``: one more than the
    floor that a row gets of which nothing was evicted yet, 0 for the one it has. ``retain``: one more than the retain floor in
    pages, 0 for none. ``interval``: one less than the eviction interval.
    """

    request: int = 0
    count: int = 0
    behind: int = 0
    sharing: bool = True
    floor: int = 0
    retain: int = 0
    interval: int = 0
    stale: int = 0
    drift: int = 0
    drifting: Drifting = "evicted"
    floorless: bool = False


class ReleaseRow(Base, frozen=True, tag="release-row"):
    """A request gives its row back: what counts of it beyond the protected prefix, then what was allocated beyond that (§11.3).

    ``together``: both ranges in one call.
    """

    request: int = 0
    together: bool = False
    stale: int = 0
    drift: int = 0
    drifting: Drifting = "evicted"
    floorless: bool = False
    overwrite: bool = False


class FreeRowSegments(Base, frozen=True, tag="free-row-segments"):
    """The end of a row from ``page`` of the pages beyond its protected prefix on goes back in segments of ``runs`` + 1 pages and
    a last one with the rest (§11.3). ``empty``: an empty segment stands after the first one."""

    request: int = 0
    page: int = 0
    runs: tuple[int, ...] = (0,)
    empty: bool = False
    stale: int = 0
    drift: int = 0
    floorless: bool = False
    wide: bool = False


class OverAllocate(Base, frozen=True, tag="over-allocate"):
    """A request grows by ``amount`` for speculative decoding: the row is longer than what counts of it (§11.1)."""

    request: int = 0
    amount: int = 0
    unit: Unit = "tokens"


class RollBack(Base, frozen=True, tag="roll-back"):
    """``accepted`` slots of those that a request has too many count from now on; the whole pages beyond go back (§11.3).

    ``request``: which one of the requests that have too many. ``drift`` slots of the first page to go back are left out.
    """

    request: int = 0
    accepted: int = 0
    drift: int = 0


class Insert(Base, frozen=True, tag="insert"):
    """The tree takes ``pages`` + 1 pages of a row as a new node: its protected cursor moves up. No call on the allocator (§11.1)."""

    request: int = 0
    pages: int = 0


class InsertAgain(Base, frozen=True, tag="insert-again"):
    """A request inserts what a node of the tree holds already: its duplicates go back, and a part without peers recovers (§11.6).

    ``pair``: which request and node of those that fit, newest first. ``drift`` slots is how far off its page the cut is.
    """

    pair: int = 0
    drift: int = 0


class HitPrefix(Base, frozen=True, tag="hit-prefix"):
    """A new request starts with the prefix down to a node, which is protected, and grows by ``amount`` (§11.1)."""

    node: int = 0
    amount: int = 0
    unit: Unit = "tokens"


class EvictNodePeers(Base, frozen=True, tag="evict-node-peers"):
    """The tree evicts on the SWA side: ``pages`` + 1 pages of a node that has peers lose them (§11.6)."""

    node: int = 0
    page: int = 0
    pages: int = 0


class EvictNode(Base, frozen=True, tag="evict-node"):
    """The tree evicts a leaf that no request holds: its peers, and then its FULL pages on the FULL pool itself (§11.6).

    ``keep_peers`` forgets the first; ``locked``: it is a node that is in use.
    """

    node: int = 0
    locked: bool = False
    keep_peers: bool = False


class RecoverNode(Base, frozen=True, tag="recover-node"):
    """Load-back from the host: ``pages`` + 1 pages of a node that lacks peers get new ones (§11.6). ``overwrite``: they have some."""

    node: int = 0
    page: int = 0
    pages: int = 0
    overwrite: bool = False


class LoadNode(Base, frozen=True, tag="load-node"):
    """Load-back from the host: a new node below another one, straight from the FULL pool, with no peers (§11.6). ``root``: below none."""

    node: int = 0
    amount: int = 0
    unit: Unit = "pages"
    root: bool = False
