"""On CUDA: where the host waits for the device.

Guarantees what torch's sync debug mode reports, and that a detector which does not see a form known to sync is refused (``BlindDetectorError``).
Adds the copies which that mode lets pass: non-blocking ones from pageable memory, which the driver stages on the host. Not seen: waits
outside torch (a driver call through ctypes).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from oracle.errors import KvoracleError
from targets.probes.sources import source_of_now

_COPIES = frozenset({"_to_copy", "copy_"})
PAGEABLE_COPY = "non-blocking copy from pageable memory"
_SYNC_MESSAGE = "synchroniz"


class BlindDetectorError(KvoracleError):
    """The detector does not see a form that is known to sync."""


class CudaSyncs:
    """What was seen in the last watched block: ``syncs``, in order; ``shapes`` stays empty, they sync.

    Raises BlindDetectorError when it is made and does not work here.
    """

    def __init__(self) -> None:
        self.syncs: list[str] = []
        self.shapes: list[str] = []
        self._check()

    @contextmanager
    def watch(self, _twins: Sequence[torch.Tensor] = ()) -> Iterator[None]:
        """Forget what was seen before and look while the block runs."""
        self.syncs = []
        former = torch.cuda.get_sync_debug_mode()
        with warnings.catch_warnings(), _Copies(self):
            warnings.simplefilter("always")
            warnings.showwarning = self._warned
            torch.cuda.set_sync_debug_mode("warn")
            try:
                yield
            finally:
                torch.cuda.set_sync_debug_mode(former)

    def add(self, what: str) -> None:
        """Note that ``what`` happens now, unless an instrument does it."""
        source = source_of_now()
        if source is not None:
            self.syncs.append(f"{what} at {source}")

    def _warned(self, message: object, *_: object, **__: object) -> None:
        if _SYNC_MESSAGE in str(message):
            self.add("host sync")

    def _check(self) -> None:
        value = torch.zeros(1, device="cuda")
        with self.watch():
            value.item()
        if not self.syncs:
            raise BlindDetectorError(
                "torch's sync debug mode does not report item(), which waits for the GPU"
            )
        pageable = torch.zeros(1)
        with self.watch():
            pageable.to("cuda", non_blocking=True)
        if not any(PAGEABLE_COPY in seen for seen in self.syncs):
            raise BlindDetectorError(f"a {PAGEABLE_COPY} was made and not seen")
        self.syncs = []


class _Copies(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees copies to a GPU that do not wait and come from memory that is not pinned."""

    def __init__(self, syncs: CudaSyncs) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._syncs = syncs

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        if name in _COPIES:
            source = args[0] if name == "_to_copy" else args[1]
            free_running = kwargs.get("non_blocking", args[2] if len(args) > 2 else False)
            comes_from_host = source.device.type == "cpu" and not source.is_pinned()
            if free_running and comes_from_host and result.device.type == "cuda":
                self._syncs.add(PAGEABLE_COPY)
        return result
