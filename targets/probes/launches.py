"""How many kernels a block launches on CUDA, by torch's profiler.

Guarantees that every kernel which ran on the device between the waits around the block is counted, whoever launched it. Copies and
fills by the driver (memcpy, memset) are counted apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch.profiler import ProfilerActivity, profile


class Launches:
    """What was seen in the last watched block: the names of ``kernels``, and of ``copies``, in order."""

    def __init__(self) -> None:
        self.kernels: list[str] = []
        self.copies: list[str] = []

    @contextmanager
    def watch(self, _twins: Sequence[torch.Tensor] = ()) -> Iterator[None]:
        """Forget what was seen before and look while the block runs. Waits for the device before and after."""
        self.kernels, self.copies = [], []
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as watched:
            yield
            torch.cuda.synchronize()
        for event in watched.events():
            if event.device_type == torch._C._autograd.DeviceType.CUDA:
                of_driver = event.name.startswith(("Memcpy", "Memset"))
                (self.copies if of_driver else self.kernels).append(event.name)
