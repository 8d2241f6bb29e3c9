"""Asserts that a device would make, made in the caller: a failed one costs a process its CUDA context otherwise.

Guarantees that an assert made with ``torch._assert_async`` while the block runs is read where it stands and raises there, as it would on
a CPU, so that its context lives on and the failure belongs to its call. Not seen: asserts inside kernels, and those made with
``torch.ops`` directly; they end the process, which a campaign reports as the death that it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

UNNAMED = "Assertion is failed"
"""What a failed assert without a message says, as torch says it."""


class AsyncAssertionError(RuntimeError):
    """A failed asynchronous assert: of the class that torch raises, yet no crash, for the allocator asked for it."""


@contextmanager
def asserts_on_host() -> Iterator[None]:
    """While the block runs, asynchronous asserts wait for their predicate and raise AsyncAssertionError with their message."""
    asynchronous = torch._assert_async
    torch._assert_async = _assert_now  # type: ignore[assignment]
    try:
        yield
    finally:
        torch._assert_async = asynchronous


def _assert_now(holds: torch.Tensor, message: str = "") -> None:
    if not bool(holds):
        raise AsyncAssertionError(message or UNNAMED)
