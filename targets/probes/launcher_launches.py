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


class LauncherLaunches:
    """What was seen in the last watched block: the names of ``kernels``, in order."""

    def __init__(self) -> None:
        self.kernels: list[str] = []

    @contextmanager
    def watch(self, _twins: Sequence[torch.Tensor] = ()) -> Iterator[None]:
        """Forget what was seen before and look while the block runs."""
        self.kernels = []
        launch: Callable[..., None] = Kernel.launch

        def count(kernel: Kernel, *arguments: Any) -> None:
            self.kernels.append(kernel.name)
            launch(kernel, *arguments)

        # Nothing is paid for counting while nobody counts.
        Kernel.launch = count  # type: ignore[assignment, method-assign]
        try:
            yield
        finally:
            Kernel.launch = launch  # type: ignore[method-assign]
