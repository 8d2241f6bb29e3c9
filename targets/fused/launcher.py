"""Launches our kernels: compiled and kept on CUDA, through Triton's interpreter on a CPU.

Guarantees that a kernel is compiled once for each device, index dtype and set of constants, whatever the counts and addresses
are, and that a kept kernel that cannot be launched directly is launched the ordinary way. Waits for nothing.
"""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any, Literal

import torch

from oracle.errors import TargetUnavailable

INTERPRET = "TRITON_INTERPRET"
Way = Literal["compiled", "interpreter", "torch"]

_TRUE = frozenset({"1", "true", "on", "yes", "y"})


def prepare(device: str) -> Way:
    """How kernels run on ``device``; asks for the interpreter on a CPU when triton is not imported yet.

    ``torch`` means that they cannot: triton was imported in this process without its interpreter. Raises
    TargetUnavailable when triton is missing, or when a GPU is asked for in a process that interprets.
    """
    if importlib.util.find_spec("triton") is None:
        raise TargetUnavailable(
            "the target 'fused' needs triton, which is not installed; install it, or use fused:reference"
        )
    if device != "cpu":
        if os.environ.get(INTERPRET, "").lower() in _TRUE:
            raise TargetUnavailable(
                f"the target 'fused' compiles for {device!r}, but {INTERPRET} is set: unset it"
            )
        return "compiled"
    if "triton" not in sys.modules:
        os.environ[INTERPRET] = "1"
    language = importlib.import_module("triton.language")
    interprets = type(language.cdiv).__name__ == "InterpretedFunction"
    return "interpreter" if interprets and os.environ.get(INTERPRET) else "torch"


class Kernel:
    """A Triton function that is specialised on dtypes and constants alone, and its kept compiled forms."""

    def __init__(self, function: Callable[..., Any]) -> None:
        triton = importlib.import_module("triton")
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        varying = [n for n in names if "constexpr" not in str(function.__annotations__.get(n, ""))]
        self._function = triton.jit(
            function, do_not_specialize=varying, do_not_specialize_on_alignment=varying
        )
        self._kept: dict[tuple[object, ...], tuple[Any, Any, Any]] = {}
        self._keeps = True

    def launch(
        self,
        programs: int,
        arguments: tuple[torch.Tensor | int, ...],
        constants: tuple[int, ...],
        device: torch.device,
        *dtypes: torch.dtype,
    ) -> None:
        """Launch ``programs`` on the current stream of ``device``.

        ``arguments`` are the parameters that vary, then come the ``constants``; ``dtypes`` are those of the tensors whose
        dtype is not always the same.
        """
        index = device.index
        key = (index, constants, dtypes)
        kept = self._kept.get(key)
        if kept is None or torch._C._cuda_getDevice() != index:
            self._launch_and_keep(programs, arguments, constants, device, key)
            return
        run, function, metadata = kept
        # An address is handed over faster than a tensor, of which the launcher would have to ask it.
        plain = [a if type(a) is int else a.data_ptr() for a in arguments]  # type: ignore[union-attr]
        stream = torch._C._cuda_getCurrentRawStream(index)
        try:
            run(programs, 1, 1, stream, function, metadata, None, None, None, *plain, *constants)
        except TypeError:
            # Another release of triton packs its arguments differently, and says so before it launches.
            self._keeps = False
            self._kept.clear()
            self._launch_and_keep(programs, arguments, constants, device, key)

    def _launch_and_keep(
        self,
        programs: int,
        arguments: tuple[torch.Tensor | int, ...],
        constants: tuple[int, ...],
        device: torch.device,
        key: tuple[object, ...],
    ) -> None:
        if device.type == "cpu":
            self._function[(programs,)](*arguments, *constants)
            return
        with torch.cuda.device(device):
            compiled = self._function[(programs,)](*arguments, *constants)
        run = getattr(compiled, "run", None)
        function = getattr(compiled, "function", None)
        metadata = getattr(compiled, "packed_metadata", None)
        if self._keeps and None not in (run, function, metadata):
            self._kept[key] = (run, function, metadata)


def tiles(count: int, tile: int) -> int:
    """How many tiles ``count`` elements fill, at least one: a grid has no zero."""
    return max(1, -(-count // tile))
