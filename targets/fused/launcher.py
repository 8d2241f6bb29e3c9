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
from targets.fused.memory import Address

INTERPRET = "TRITON_INTERPRET"
Way = Literal["compiled", "interpreter", "torch"]

# A torch that was built for a CPU has neither.
_current_device: Any = getattr(torch._C, "_cuda_getDevice", None)
_current_stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)

_TRUE = frozenset({"1", "true", "on", "yes", "y"})


def prepare(device: str) -> Way:
    """How kernels run on ``device``; asks for the interpreter on a CPU when triton is not imported yet and nobody said no.

    ``torch`` means that they do not: the environment says so, or triton was imported in this process without its interpreter.
    Raises TargetUnavailable when triton is missing, or when a GPU is asked for in a process that interprets.
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
        os.environ.setdefault(INTERPRET, "1")
    language = importlib.import_module("triton.language")
    interprets = type(language.cdiv).__name__ == "InterpretedFunction"
    return "interpreter" if interprets and os.environ.get(INTERPRET) else "torch"


class Kernel:
    """A Triton function that is specialised on dtypes and constants alone, and its kept compiled forms. ``name`` is for people."""

    def __init__(self, function: Callable[..., Any]) -> None:
        triton = importlib.import_module("triton")
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        varying = [n for n in names if "constexpr" not in str(function.__annotations__.get(n, ""))]
        self.name = function.__name__.lstrip("_")
        self._function = triton.jit(
            function, do_not_specialize=varying, do_not_specialize_on_alignment=varying
        )
        self._kept: dict[tuple[object, ...], tuple[Any, Any, Any]] = {}
        self._keeps = True

    def launch(
        self,
        programs: int,
        given: tuple[torch.Tensor, ...],
        arguments: tuple[int, ...],
        constants: tuple[int, ...],
        device: torch.device,
        *dtypes: torch.dtype,
    ) -> None:
        """Launch ``programs`` on the current stream of ``device``.

        First come the tensors ``given`` by callers, then ``arguments``, which are numbers and ``Address``es of ours, then the
        ``constants``; ``dtypes`` are those of the given tensors whose dtype is not always the same.
        """
        kept = self._kept.get((device.index, constants, dtypes))
        if kept is None or _current_device() != device.index:
            self._launch_and_keep(programs, given, arguments, constants, device, dtypes)
            return
        # An address is handed over faster than a tensor, of which the launcher would have to ask it.
        places = [tensor.data_ptr() for tensor in given]
        if not self._launch_kept(kept, programs, device, (*places, *arguments, *constants)):
            self._launch_and_keep(programs, given, arguments, constants, device, dtypes)

    def launch_mixed(
        self,
        programs: int,
        arguments: tuple[torch.Tensor | int, ...],
        constants: tuple[int, ...],
        device: torch.device,
        *dtypes: torch.dtype,
    ) -> None:
        """As ``launch``, for kernels whose tensors stand anywhere among their ``arguments``."""
        kept = self._kept.get((device.index, constants, dtypes))
        if kept is None or _current_device() != device.index:
            self._launch_and_keep(programs, (), arguments, constants, device, dtypes)
            return
        places = [a.data_ptr() if isinstance(a, torch.Tensor) else a for a in arguments]
        if not self._launch_kept(kept, programs, device, (*places, *constants)):
            self._launch_and_keep(programs, (), arguments, constants, device, dtypes)

    def _launch_kept(
        self,
        kept: tuple[Any, Any, Any],
        programs: int,
        device: torch.device,
        arguments: tuple[int, ...],
    ) -> bool:
        """Whether the kept kernel could be launched directly."""
        run, function, metadata = kept
        stream = _current_stream(device.index)
        try:
            run(programs, 1, 1, stream, function, metadata, None, None, None, *arguments)
        except TypeError:
            # Another release of triton packs its arguments differently, and says so before it launches.
            self._keeps = False
            self._kept.clear()
            return False
        return True

    def _launch_and_keep(
        self,
        programs: int,
        given: tuple[torch.Tensor, ...],
        arguments: tuple[torch.Tensor | int, ...],
        constants: tuple[int, ...],
        device: torch.device,
        dtypes: tuple[torch.dtype, ...],
    ) -> None:
        # From a tensor, and not from its address, triton learns the dtype.
        varying = [a.tensor if isinstance(a, Address) else a for a in arguments]
        if device.type == "cpu":
            self._function[(programs,)](*given, *varying, *constants)
            return
        with torch.cuda.device(device):
            compiled = self._function[(programs,)](*given, *varying, *constants)
        run = getattr(compiled, "run", None)
        function = getattr(compiled, "function", None)
        metadata = getattr(compiled, "packed_metadata", None)
        if self._keeps and None not in (run, function, metadata):
            self._kept[device.index, constants, dtypes] = (run, function, metadata)


def tiles(count: int, tile: int) -> int:
    """How many tiles ``count`` elements fill, at least one: a grid has no zero."""
    return max(1, -(-count // tile))
