"""From a ``Call`` on a row to the row layer, ours or a release's.

Guarantees that the cursor can be read after the call whatever it raised. The layer keeps no state: a call brings its row and its
cursors, and what the call leaves of them is read from the request that was made for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from targets.rows.request import Request

if TYPE_CHECKING:
    from oracle.call import Call
    from targets.call_arguments import Arguments
    from targets.rows.layer import RowLayer

ROW_INDEX = 1
"""Which row of the table of requests a call is about; the one before it holds the padding slot."""


@dataclass(frozen=True)
class RowCall:
    """One call that is ready to be made, and how to ask for the cursor of what was evicted."""

    make: Callable[[], object]
    cursor: Callable[[], int]


class RowCaller(Protocol):
    """Who makes the calls on rows over one allocator."""

    def prepare(self, call: Call, arguments: Arguments, /) -> RowCall:
        """``call`` with the tensors of ``arguments``. Makes nothing yet."""


class LayerCaller:
    """Makes the calls through a layer of ours."""

    def __init__(self, layer: RowLayer) -> None:
        self._layer = layer

    def prepare(self, call: Call, arguments: Arguments) -> RowCall:
        """``call`` on a request of its own."""
        (given,) = arguments.positional
        layer = self._layer
        if call.method == "free_row_segments":
            return RowCall(
                lambda: layer.free_row_segments(given, evicted=call.evicted, dead_lo=call.dead_lo),
                lambda: call.evicted,
            )
        cursors = call.cursors
        request = Request(
            given,
            ROW_INDEX,
            held=bool(call.slots),
            protected=cursors.protected,
            floor=cursors.floor,
            evicted=cursors.evicted,
            committed=cursors.committed,
            allocated=cursors.allocated,
        )
        if call.method == "free_row":
            return RowCall(lambda: layer.free_row(request, call.ranges), lambda: request.evicted)
        return RowCall(
            lambda: layer.evict_out_of_window(
                request,
                call.pre_len,
                window=call.window,
                sharing=call.sharing,
                retain_floor=call.retain_floor,
                interval=call.interval,
            ),
            lambda: request.evicted,
        )
