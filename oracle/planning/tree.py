"""The prefix tree over the rows: insert, hit, eviction on either side, load-back (contract_paged_swa §11.1, §11.6).

A node holds whole pages below those of its parent, as a row that shares them. Only leaves that no request holds go.
"""

from __future__ import annotations

from collections.abc import Generator

from msgspec.structs import replace

from oracle import legality
from oracle import operations as op
from oracle.call import Call
from oracle.caller import Caller, Plan, Planned
from oracle.observation import Outcome
from oracle.ownership import Ownership, Request, TreeNode
from oracle.planning import allocations
from oracle.planning.cursors import ceiling, cursors_of


def path_to(node: TreeNode | None) -> list[TreeNode]:
    """The nodes from the root of the tree down to ``node``."""
    path: list[TreeNode] = []
    while node is not None:
        path.insert(0, node)
        node = node.parent
    return path


def prefix_of(node: TreeNode) -> list[int]:
    """All slots from the root of the tree down to ``node``."""
    return [slot for one in path_to(node) for slot in one.slots]


def plan_insert(caller: Caller, operation: op.Insert) -> Plan:
    """The tree holds more of the row from now on."""
    books, size = caller.books, caller.page_size
    request = books.newest(operation.request)
    if request is None or request.gone:
        return
    cursors = cursors_of(request)
    first, stop = cursors.protected // size, cursors.committed // size
    if first < stop:
        count = 1 + operation.pages % (stop - first)
        request.node = books.plant(books.page_slots(request, first, count), request.node)
        request.cursors = replace(cursors, protected=(first + count) * size)
    yield from ()


def plan_hit_prefix(caller: Caller, operation: op.HitPrefix) -> Plan:
    """A new request shares the prefix, and grows."""
    books = caller.books
    node = _nth(books.tree, operation.node)
    if node is None or any(one not in books.tree for one in path_to(node)):
        return
    books.start_from(node, prefix_of(node))
    part = op.Part(request=1, amount=operation.amount, unit=operation.unit)
    yield from allocations.plan_extend(caller, op.Extend(parts=(part,)))


def plan_evict_node_peers(caller: Caller, operation: op.EvictNodePeers) -> Plan:
    """Peers of a node go back by its FULL indices, as if they stood at the start of a row."""
    books = caller.books
    node = _nth([one for one in books.tree if _pages(books, one, peered=True)], operation.node)
    if node is None:
        return
    peered = _pages(books, node, peered=True)
    run = _run_from(peered, operation.page % len(peered), operation.pages)
    breaches = legality.mapped(books, node, run)
    if any(_needs(caller, request, node, run) for request in books.requests):
        breaches.append(legality.SHARED)
    yield from _free_peers(caller, node, run, tuple(breaches))


def plan_evict_node(caller: Caller, operation: op.EvictNode) -> Plan:
    """A leaf that nobody holds goes, or a node that somebody does."""
    books = caller.books
    node = _nth(
        [one for one in books.tree if is_free(books, one) is not operation.locked], operation.node
    )
    if node is not None:
        yield from evict_node(caller, node, keep_peers=operation.keep_peers)


def evict_node(caller: Caller, node: TreeNode, *, keep_peers: bool = False) -> Plan:
    """Peers first, by runs, then the FULL pages on the FULL pool itself; each as a set where there is no segment form (§13.1)."""
    books = caller.books
    pages = range(books.page_count(node))
    peered = _pages(books, node, peered=True)
    breaches = legality.holding(books, node, pages) + legality.mapped(books, node, peered)
    if not is_free(books, node) and legality.SHARED not in breaches:
        breaches.append(legality.SHARED)
    if keep_peers and peered:
        breaches.append(legality.PEER_STILL_MAPPED)
    while peered and not keep_peers:
        run = _run_from(peered, 0, len(peered))
        peered = peered[len(run) :]
        freed = yield from _free_peers(caller, node, run, tuple(breaches))
        if not freed:
            return
    slots = tuple(node.slots)
    segment_form = "free_segment" in caller.contract.pool_methods
    call = Call(method="free_segment" if segment_form else "free", pool="full", slots=slots)
    outcome = yield Planned(call, tuple(breaches))
    if not outcome.error:
        books.remember(slots, 0)
        books.unpeer(slots)
        books.give_back(node, pages)


def plan_recover_node(caller: Caller, operation: op.RecoverNode) -> Plan:
    """New peers for pages of a node: SWA slots, then the mapping."""
    books, size = caller.books, caller.page_size
    peered = operation.overwrite
    node = _nth([one for one in books.tree if _pages(books, one, peered=peered)], operation.node)
    if node is None:
        return
    pages = _pages(books, node, peered=peered)
    run = _run_from(pages, operation.page % len(pages), operation.pages)
    slots = tuple(books.page_slots(node, run[0], len(run)))
    breaches = (legality.PEER_OVERWRITTEN,) if peered else ()
    outcome = yield Planned(Call(method="alloc", pool="swa", need=len(run) * size), breaches)
    if not outcome.value:
        return
    call = Call(method="set_full_to_swa_mapping", slots=slots, peers=outcome.value[: len(slots)])
    outcome = yield Planned(call, breaches)
    if not outcome.error:
        books.peered.update(slots)
        books.loaded_peers.extend(slots)


def plan_load_node(caller: Caller, operation: op.LoadNode) -> Plan:
    """FULL pages straight from the FULL pool become a node."""
    books = caller.books
    parent = None if operation.root else _nth(books.tree, operation.node)
    before = len(books.requests)
    load = op.Load(amount=operation.amount, unit=operation.unit)
    yield from allocations.plan_load(caller, load)
    if len(books.requests) > before:
        loaded = books.requests.pop()
        books.tree.append(TreeNode(loaded.identity, loaded.slots, parent=parent))


def has_peers(books: Ownership, request: Request, page: int) -> bool:
    """Whether any slot of the page has one."""
    return not books.peered.isdisjoint(books.page_slots(request, page))


def is_free(books: Ownership, node: TreeNode) -> bool:
    """Whether nothing is below the node and nobody else holds its pages."""
    if any(other.parent is node for other in books.tree):
        return False
    pages = range(books.page_count(node))
    return not legality.holding(books, node, pages)


def _nth(nodes: list[TreeNode], index: int) -> TreeNode | None:
    """The ``index``-th newest of these nodes, modulo how many there are."""
    return nodes[len(nodes) - 1 - index % len(nodes)] if nodes else None


def _pages(books: Ownership, node: TreeNode, *, peered: bool) -> list[int]:
    """The pages of the node that have peers, or those that have none."""
    every = range(books.page_count(node))
    return [page for page in every if has_peers(books, node, page) is peered]


def _needs(caller: Caller, request: Request, node: TreeNode, run: list[int]) -> bool:
    """Whether the pages of the node lie in the window of a request that holds them."""
    path = path_to(request.node)
    if node not in path:
        return False
    size = caller.page_size
    start = sum(len(one.slots) for one in path[: path.index(node)])
    window = ceiling(max(caller.geometry.family_sizes.window, size), size)
    return start + (run[-1] + 1) * size > cursors_of(request).committed - 1 - window


def _free_peers(
    caller: Caller, node: TreeNode, run: list[int], breaches: legality.Breaches
) -> Generator[Planned, Outcome, bool]:
    slots = tuple(caller.books.page_slots(node, run[0], len(run)))
    call = Call(
        method="free_swa_segment" if caller.has("free_swa_segment") else "free_swa", slots=slots
    )
    outcome = yield Planned(call, breaches)
    if outcome.error:
        return False
    caller.books.remember(slots, 0)
    caller.books.unpeer(slots)
    return True


def _run_from(pages: list[int], index: int, more: int) -> list[int]:
    """Up to ``more`` + 1 pages that follow each other, from the one at ``index`` on."""
    run = [pages[index]]
    for page in pages[index + 1 : index + 1 + more]:
        if page != run[-1] + 1:
            break
        run.append(page)
    return run
