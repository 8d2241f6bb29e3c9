"""Where a probe looks at what an allocator does inside a call, and at nothing that the driver does around it.

Guarantees that nothing is paid for while no probe is attached. One probe at a time, in one thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

import torch

_NOTHING = nullcontext()


class Watcher(Protocol):
    """Who looks at what happens in a block."""

    def watch(self, twins: Sequence[torch.Tensor], /) -> AbstractContextManager[None]:
        """Look while the block runs. ``twins``: the arguments that lie on the CPU whatever the device is."""


_attached: list[Watcher] = []


@contextmanager
def attached(watcher: Watcher) -> Iterator[None]:
    """While the block runs, the inside of every call is watched by ``watcher``."""
    _attached.append(watcher)
    try:
        yield
    finally:
        _attached.pop()


def watching_now() -> bool:
    """Whether a probe is attached."""
    return bool(_attached)


def watching(twins: Sequence[torch.Tensor]) -> AbstractContextManager[None]:
    """For the inside of one call: the attached probe's look, or nothing."""
    return _attached[-1].watch(twins) if _attached else _NOTHING
