"""How many of our kernels a block launches where they are interpreted, by the launcher's own count.

Guarantees that every launch through ``targets.fused.launcher`` is counted. On a CPU torch launches no kernels, so what it does is no
launch here; on CUDA ``launches`` counts it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from targets.fused.launcher import Kernel

LAUNCHES = ("launch", "launch_mixed")


class LauncherLaunches:
    """What was seen in the last watched block: the names of ``kernels``, in order."""

    def __init__(self) -> None:
        self.kernels: list[str] = []

    @contextmanager
    def watch(self, _twins: Sequence[torch.Tensor] = ()) -> Iterator[None]:
        """Forget what was seen before and look while the block runs."""
        self.kernels = []
        former = {name: getattr(Kernel, name) for name in LAUNCHES}
        # Nothing is paid for counting while nobody counts.
        for name, launch in former.items():
            setattr(Kernel, name, self._counting(launch))
        try:
            yield
        finally:
            for name, launch in former.items():
                setattr(Kernel, name, launch)

    def _counting(self, launch: Callable[..., None]) -> Callable[..., None]:
        def count(kernel: Kernel, *arguments: Any) -> None:
            self.kernels.append(kernel.name)
            launch(kernel, *arguments)

        return count
