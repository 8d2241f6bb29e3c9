"""The end of a trace on rows and a prefix tree: the group is closed, every row goes back, then the tree from its leaves on."""

from __future__ import annotations

from oracle import operations as op
from oracle.call import Call
from oracle.caller import Caller, Plan, Planned
from oracle.planning.cursors import cursors_of, free_breaches
from oracle.planning.rows import release_row
from oracle.planning.segments import release
from oracle.planning.tree import evict_node, is_free


def plan_row_drain(caller: Caller, _operation: op.Drain) -> Plan:
    """A row that is not as its cursors say goes back by what has peers; whoever cannot give something back stops."""
    books = caller.books
    if books.group_open:
        outcome = yield Planned(Call(method="free_group_end"))
        if outcome.error:
            return
        books.close_group()
    while books.requests:
        request = books.requests[-1]
        cursors = cursors_of(request)
        as_it_says = cursors.evicted % caller.page_size == 0 and not free_breaches(
            books, request, cursors, cursors.protected // caller.page_size
        )
        if as_it_says:
            yield from release_row(caller, request, cursors, [])
        else:
            yield from release(caller, request)
        if request in books.requests:
            return
    while books.tree:
        node = next((node for node in reversed(books.tree) if is_free(books, node)), None)
        if node is None:
            return
        yield from evict_node(caller, node)
        if node in books.tree:
            return
