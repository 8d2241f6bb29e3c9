"""A request inserts what the tree holds already: duplicates go back, parts of the node without peers recover (§11.6).

Where both have peers, or the row has none, the row's pages go back and it goes on with the node's. Where only the row has peers,
the node adopts the row's pages; if someone else holds the node's pages, they get the row's peers in place.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from oracle import legality
from oracle import operations as op
from oracle.call import Call, Method
from oracle.caller import Caller, Plan, Planned
from oracle.legality import Breaches
from oracle.observation import Outcome
from oracle.ownership import Request, TreeNode
from oracle.planning.cursors import cursors_of, dead_low
from oracle.planning.tree import has_peers

Step = Generator[Planned, Outcome, bool]
Fate = Literal["dead", "alive", "adopted", "transferred"]
_BOTH_SIDES: tuple[Method, ...] = ("free_segment", "free")
_FULL_ONLY: tuple[Method, ...] = ("free_full_segment", "free_full", "free")


class _Part(Struct):
    """Pages of a node with one fate: the first page in the node, how many, and what becomes of the row's pages."""

    first: int
    count: int
    fate: Fate


def plan_insert_again(caller: Caller, operation: op.InsertAgain) -> Plan:
    """Part by part in the order of the row."""
    pairs = _pairs(caller)
    if not pairs:
        return
    request, node = pairs[operation.pair % len(pairs)]
    cursors, size = cursors_of(request), caller.page_size
    parts = _parts(caller, request, node)
    transferred = any(part.fate == "transferred" for part in parts)
    if transferred and not caller.has("clear_full_to_swa_mapping"):
        return
    drift = operation.drift % size if _is_cut(parts) else 0
    breaches = tuple(_breaches(caller, request, node, parts))
    if drift:
        breaches = (legality.UNALIGNED_CURSOR, *breaches)
    over = 0
    for part in parts:
        # The duplicate part is cut at the evicted cursor: what a wrong cut gives to one side it takes from the other.
        under, over = over, drift if part.fate == "dead" and _followed(parts, part) else 0
        done = yield from _settle(caller, request, node, part, (under, over), breaches)
        if not done:
            return
    request.node = node
    request.cursors = replace(cursors, protected=cursors.protected + len(node.slots))


def _pairs(caller: Caller) -> list[tuple[Request, TreeNode]]:
    """The requests that go on below a node's parent by at least as much as counts, with the node; newest first."""
    books = caller.books
    return [
        (request, node)
        for request in reversed(books.requests)
        for node in reversed(books.tree)
        if node.parent is request.node
        and not request.gone
        and len(node.slots) <= cursors_of(request).committed - cursors_of(request).protected
    ]


def _parts(caller: Caller, request: Request, node: TreeNode) -> list[_Part]:
    books, size = caller.books, caller.page_size
    cursors = cursors_of(request)
    parts: list[_Part] = []
    for page in range(books.page_count(node)):
        position = cursors.protected + page * size
        fate: Fate = "alive"
        if dead_low(cursors, size) <= position < cursors.evicted:
            fate = "dead"
        elif not has_peers(books, node, page):
            locked = books.holders.get(books.page_of(node, page), 0) > 1
            fate = "transferred" if locked else "adopted"
        if parts and parts[-1].fate == fate:
            parts[-1].count += 1
        else:
            parts.append(_Part(page, 1, fate))
    return parts


def _breaches(
    caller: Caller, request: Request, node: TreeNode, parts: list[_Part]
) -> dict[str, None]:
    books, size = caller.books, caller.page_size
    first = cursors_of(request).protected // size
    pages = range(first, first + books.page_count(node))
    found = legality.holding(books, request, pages)
    for part in parts:
        own = range(first + part.first, first + part.first + part.count)
        if part.fate == "dead":
            found += legality.unmapped(books, request, own)
        else:
            found += legality.mapped(books, request, own)
        if part.fate == "transferred":
            found += legality.complete(books, books.page_slots(request, own.start, part.count))
    if cursors_of(request).evicted % size:
        found.append(legality.UNALIGNED_CURSOR)
    return dict.fromkeys(found)


def _settle(
    caller: Caller,
    request: Request,
    node: TreeNode,
    part: _Part,
    moved: tuple[int, int],
    breaches: Breaches,
) -> Step:
    """One part. ``moved``: slots that its free leaves out at the start, and takes from the next part at the end."""
    books, size = caller.books, caller.page_size
    start = cursors_of(request).protected + part.first * size
    stop = start + part.count * size
    held = tuple(books.page_slots(node, part.first, part.count))
    incoming = tuple(request.slots[start:stop])
    if part.fate == "adopted":
        call = Call(method=_form(caller, _FULL_ONLY), slots=held)
        outcome = yield Planned(call, breaches)
        if outcome.error:
            return False
        books.remember(held, 0)
        books.adopt(node, part.first * size, incoming)
        return True
    if part.fate == "transferred" and not (yield from _transfer(caller, incoming, held, breaches)):
        return False
    freed = tuple(request.slots[start + moved[0] : stop + moved[1]])
    forms = _BOTH_SIDES if part.fate == "alive" else _FULL_ONLY
    outcome = yield Planned(Call(method=_form(caller, forms), slots=freed), breaches)
    if outcome.error:
        return False
    books.remember(incoming, 0)
    books.unpeer(incoming)
    books.adopt(request, start, held)
    return True


def _transfer(
    caller: Caller, incoming: tuple[int, ...], held: tuple[int, ...], breaches: Breaches
) -> Step:
    """The peers of ``incoming`` become those of ``held``: looked up, cleared, set (§11.6, locked FULL)."""
    books = caller.books
    outcome = yield Planned(Call(method="translate_loc_from_full_to_swa", slots=incoming), breaches)
    if outcome.value is None:
        return False
    peers = outcome.value
    outcome = yield Planned(Call(method="clear_full_to_swa_mapping", slots=incoming), breaches)
    if outcome.error:
        return False
    books.peered.difference_update(incoming)
    call = Call(method="set_full_to_swa_mapping", slots=held, peers=peers)
    outcome = yield Planned(call, breaches)
    if outcome.error:
        return False
    books.peered.update(held)
    books.loaded_peers.extend(held)
    return True


def _form(caller: Caller, methods: tuple[Method, ...]) -> Method:
    """The first of these that the target has (§13.1)."""
    return next(method for method in methods if caller.has(method))


def _is_cut(parts: list[_Part]) -> bool:
    return any(_followed(parts, part) for part in parts if part.fate == "dead")


def _followed(parts: list[_Part], part: _Part) -> bool:
    """Whether the next part is a duplicate with peers: only there the cut between the two is seen."""
    index = parts.index(part)
    return index + 1 < len(parts) and parts[index + 1].fate == "alive"
