"""The target ``fused`` through Triton's interpreter, and how often it launches a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from targets.fused.launcher import Kernel
from targets.fused.target import FusedTarget


def interpreted() -> FusedTarget:
    """A target whose kernels are interpreted; skips where triton was imported to compile for a GPU."""
    target = FusedTarget()
    if target.versions["kernels"] != "interpreter":
        pytest.skip("triton was imported without its interpreter in this process")
    return target


@contextmanager
def counted_launches() -> Iterator[list[str]]:
    """The names of the kernels launched in the block."""
    names: list[str] = []
    launch: Callable[..., None] = Kernel.launch

    def count(kernel: Kernel, *arguments: Any) -> None:
        names.append(kernel._function.__name__)
        launch(kernel, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "launch", count)
        yield names
