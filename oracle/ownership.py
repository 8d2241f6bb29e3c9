"""What the caller believes it owns: rows, pages with their holders, peers, and what was freed before.

Built only from what the target returned and what the caller gave back; it knows neither the prediction nor the target's
state. It is what makes a call legal or not, and what the laws compare the target's own snapshot with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from oracle.call import RowCursors

MOST_STALE = 16
NO_CURSORS = RowCursors()


@dataclass(eq=False)
class Request:
    """A live request: its row (FULL slots in token order) and the pages of the row that it has given back.

    ``cursors`` (families with rows, §11.1) are those of the last call on the row, ``node`` is where the tree holds its prefix.
    """

    identity: int
    slots: list[int] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)
    cursors: RowCursors = NO_CURSORS
    node: TreeNode | None = None


@dataclass(eq=False)
class TreeNode(Request):
    """Whole pages that the prefix tree holds, below those of ``parent`` (families with rows)."""

    parent: TreeNode | None = None


@dataclass(frozen=True)
class Stale:
    """A range that was freed: its slots, its position in the row, and whether that was in the group that is open now."""

    slots: tuple[int, ...]
    start_pos: int
    in_open_group: bool


@dataclass(frozen=True)
class DeviceBuffer:
    """Slots of the device pool that a request holds as its buffer (families with a device)."""

    identity: int
    slots: tuple[int, ...]


class Ownership:
    """The caller's books. Pages are ``slot // page_size``; at page size 1 a page is a slot."""

    def __init__(self, page_size: int) -> None:
        self.page_size = page_size
        self.requests: list[Request] = []
        self.holders: dict[int, int] = {}
        """FULL page -> how many rows hold it (more than one after a fork)."""
        self.peered: set[int] = set()
        """FULL slots that have a peer."""
        self.straddled: set[int] = set()
        """FULL pages whose peers lie at other page offsets or on two SWA pages (an unaligned tail)."""
        self.tags: dict[int, tuple[int, int]] = {}
        """FULL slot -> (request, position) whose KV its holder wrote there last."""
        self.stale: list[Stale] = []
        self.group_open = False
        self.written: list[int] = []
        """FULL slots whose KV was written, on both pools, because of the last call."""
        self.loaded_peers: list[int] = []
        """FULL slots for whose new peers the KV was loaded again because of the last call."""
        self.states: list[int] = []
        """States that are held, the newest last (families with states)."""
        self.stale_states: list[int] = []
        """States that went back, the newest last."""
        self.reservations: list[tuple[int, ...]] = []
        """Physical SWA slots that wait for a load, an entry for each reservation."""
        self.loading = False
        """Whether a load from the host was begun and not yet finished."""
        self.gates: set[tuple[str, int]] = set()
        """The move gates that are installed, as band and number."""
        self.events = 0
        """How many forward passes were launched: their events are 0 to this - 1."""
        self.device_backed: set[int] = set()
        """What has a place on the device: logical slots (hisparse), compressed ids (hisparse-dsv4)."""
        self.buffers: list[DeviceBuffer] = []
        """Device buffers that are held, the newest last."""
        self.returned_buffers: list[DeviceBuffer] = []
        """Device buffers that went back, the newest last."""
        self.first_class: dict[int, int] = {}
        """Request -> class of the first page of its row (page-interleave)."""
        self.request_slots = 0
        """How many request slots are taken (swa-ring)."""
        self.preparing = False
        """Whether a begin took states out in advance that no end gave back yet (mamba-slots, unified families with states). Nobody
        holds them until they are handed out."""
        self.tree: list[TreeNode] = []
        """The nodes of the prefix tree, the newest last (families with rows)."""
        self._identity = 0

    def newest(self, index: int) -> Request | None:
        """The ``index``-th newest live request, modulo how many there are."""
        count = len(self.requests)
        return self.requests[count - 1 - index % count] if count else None

    def page_count(self, request: Request) -> int:
        """How many pages the row spans, a partial last page included."""
        return -(-len(request.slots) // self.page_size)

    def page_slots(self, request: Request, page: int, count: int = 1) -> list[int]:
        """The row's slots on ``count`` pages from row page ``page`` on."""
        return request.slots[page * self.page_size : (page + count) * self.page_size]

    def page_of(self, request: Request, page: int) -> int:
        """The FULL page behind row page ``page``."""
        return request.slots[page * self.page_size] // self.page_size

    def open_request(self) -> Request:
        """A new request with an empty row, the newest from now on."""
        self._identity += 1
        request = Request(self._identity)
        self.requests.append(request)
        return request

    def grow(self, request: Request, slots: Sequence[int], *, peered: Iterable[int] = ()) -> None:
        """Append ``slots`` to the row; ``peered`` are those of them that got peers. Their KV is written."""
        position = len(request.slots)
        size = self.page_size
        for slot in slots:
            if position % size == 0:
                self.holders[slot // size] = self.holders.get(slot // size, 0) + 1
            self.tags[slot] = (request.identity, position)
            position += 1
        request.slots.extend(slots)
        self.peered.update(peered)
        self.written.extend(slots)

    def share(self, request: Request, pages: int) -> None:
        """A new request holds the first ``pages`` pages of the row too."""
        fork = self.open_request()
        fork.slots = self.page_slots(request, 0, pages)
        for page in range(pages):
            self.holders[self.page_of(fork, page)] += 1

    def plant(self, slots: Sequence[int], parent: TreeNode | None) -> TreeNode:
        """A new node of the tree holds the whole pages of ``slots`` too."""
        self._identity += 1
        node = TreeNode(self._identity, list(slots), parent=parent)
        self.tree.append(node)
        self._hold(slots)
        return node

    def start_from(self, node: TreeNode, prefix: Sequence[int]) -> Request:
        """A new request holds ``prefix``, the whole pages from the root of the tree down to ``node``, too."""
        request = self.open_request()
        request.slots, request.node = list(prefix), node
        request.cursors = RowCursors(
            protected=len(prefix), committed=len(prefix), allocated=len(prefix)
        )
        self._hold(prefix)
        return request

    def adopt(self, request: Request, first: int, slots: Sequence[int]) -> None:
        """From position ``first`` on the row holds the whole pages of ``slots`` in place of its own."""
        old = request.slots[first : first + len(slots)]
        self._hold(slots)
        for slot in old[:: self.page_size]:
            page = slot // self.page_size
            self.holders[page] -= 1
            if not self.holders[page]:
                del self.holders[page]
        request.slots[first : first + len(slots)] = slots

    def _hold(self, slots: Sequence[int]) -> None:
        for slot in slots[:: self.page_size]:
            page = slot // self.page_size
            self.holders[page] = self.holders.get(page, 0) + 1

    def unpeer(self, slots: Iterable[int]) -> None:
        """The whole pages of ``slots`` have no peers any more."""
        size = self.page_size
        if size == 1:
            self.peered.difference_update(slots)
            return
        for page in {slot // size for slot in slots}:
            self.peered.difference_update(range(page * size, (page + 1) * size))
            self.straddled.discard(page)

    def give_back(self, request: Request, pages: Iterable[int]) -> None:
        """The row gives these row pages back; a row that ends in given-back pages gets shorter, an empty one is gone."""
        size = self.page_size
        for page in pages:
            if page in request.gone:
                continue
            request.gone.add(page)
            full_page = self.page_of(request, page)
            self.holders[full_page] -= 1
            if not self.holders[full_page]:
                del self.holders[full_page]
        while request.slots and self.page_count(request) - 1 in request.gone:
            last = self.page_count(request) - 1
            request.gone.discard(last)
            del request.slots[last * size :]
        if not request.slots:
            self.forget(request)

    def forget(self, request: Request) -> None:
        """The request, or the node of the tree, is no longer live."""
        if request in self.requests:
            self.requests.remove(request)
        elif isinstance(request, TreeNode) and request in self.tree:
            self.tree.remove(request)

    def remember(self, slots: Sequence[int], start_pos: int) -> None:
        """Keep a freed range, so that a hostile caller can use it again."""
        self.stale.append(Stale(tuple(slots), start_pos, self.group_open))
        del self.stale[:-MOST_STALE]

    def close_group(self) -> None:
        """The group is closed: what was freed in it is now like anything that was freed."""
        self.group_open = False
        self.stale = [Stale(entry.slots, entry.start_pos, False) for entry in self.stale]

    def clear(self) -> None:
        """Every row is forgotten and the group closed; freed ranges are still remembered, the live rows among them."""
        for request in [*self.requests, *self.tree]:
            self.remember(request.slots, 0)
        self.close_group()
        self.requests.clear()
        self.tree.clear()
        self.holders.clear()
        self.peered.clear()
        self.straddled.clear()
        self.tags.clear()
        self.stale_states += self.states
        self.states.clear()
        self.reservations.clear()
        self.loading = False
        self.device_backed.clear()
        self.returned_buffers += self.buffers
        self.buffers.clear()
        self.first_class.clear()
        self.preparing = False
