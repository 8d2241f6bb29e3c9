"""On a CPU: what would make the host wait if the same code ran on a GPU.

Records every operation whose output shape depends on values and every host read, of tensors that would lie on the device. A tensor lies
on the host if it is one of the call's CPU twins, was made by a factory that was told no device, or was computed from such alone. Not
seen: a copy that is none on a CPU (``.to(device)`` of a twin leaves it the host's). Kernels in Triton's interpreter are not looked into.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from oracle.errors import TargetUnavailable
from targets.fused.launcher import prepare
from targets.probes.sources import source_of_now

READS = frozenset({"_local_scalar_dense", "equal"})
SHAPES = frozenset(
    {
        "nonzero", "masked_select", "_unique", "_unique2", "unique_dim", "unique_consecutive",
        "unique_dim_consecutive", "bincount",
        "repeat_interleave.Tensor",
    }
)  # fmt: skip
_MASKED_READS = frozenset({"index"})
_MASKED_WRITES = frozenset({"index_put", "index_put_", "_index_put_impl_"})
_MASK_DTYPES = (torch.bool, torch.uint8)
_READING_METHODS: dict[Any, str] = {
    torch.Tensor.tolist: "tolist",
    torch.Tensor.numpy: "numpy",
    torch.Tensor.__array__: "__array__",
    torch.Tensor.cpu: "cpu",
}


class HostReads:
    """What was seen in the last watched block: ``syncs`` and ``shapes``, in order."""

    def __init__(self) -> None:
        self.syncs: list[str] = []
        self.shapes: list[str] = []
        self._host: list[torch.Tensor] = []
        self._paused = False
        # Torch imports triton for a dispatch mode; without the interpreter, fused could not run on this CPU afterwards.
        with suppress(TargetUnavailable):
            prepare("cpu")

    @contextmanager
    def watch(self, twins: Sequence[torch.Tensor] = ()) -> Iterator[None]:
        """Forget what was seen before and look while the block runs."""
        self.syncs, self.shapes, self._host = [], [], list(twins)
        with self._outside_of_kernels(), _Calls(self), _Operations(self):
            yield

    def saw_method(self, name: str, subject: object) -> None:
        """A method of a tensor that hands its values to Python."""
        if not self._paused and not self._is_host(subject):
            self._add(self.syncs, name)

    def saw_operation(self, name: str, overload: str, arguments: tuple[Any, ...]) -> None:
        """An operation of torch with its positional arguments, before it runs."""
        if self._paused or all(map(self._is_host, _tensors(arguments))):
            return
        if name in READS:
            self._add(self.syncs, name)
        elif f"{name}.{overload}" in SHAPES or name in SHAPES or _is_masked(name, arguments):
            self._add(self.shapes, name)

    def saw_result(self, arguments: tuple[Any, ...], result: object) -> None:
        """What an operation returned: it lies where its arguments do."""
        inputs = _tensors(arguments)
        if inputs and all(map(self._is_host, inputs)):
            self._host += _tensors(result)

    def saw_host_made(self, result: object) -> None:
        """What a factory made that was told no device."""
        self._host += _tensors(result)

    def _is_host(self, tensor: object) -> bool:
        if not isinstance(tensor, torch.Tensor):
            return False
        address = tensor.untyped_storage()._cdata
        return any(address == known.untyped_storage()._cdata for known in self._host)

    def _add(self, seen: list[str], what: str) -> None:
        source = source_of_now()
        if source is not None:
            seen.append(f"{what} at {source}")

    @contextmanager
    def _outside_of_kernels(self) -> Iterator[None]:
        """The interpreter reads and writes tensors on the host, as no kernel does."""
        if "triton.runtime.interpreter" not in sys.modules:
            yield
            return
        executor = importlib.import_module("triton.runtime.interpreter").GridExecutor
        launch: Callable[..., Any] = executor.__call__

        def unseen(grid_executor: Any, *arguments: Any, **named: Any) -> Any:
            self._paused = True
            try:
                return launch(grid_executor, *arguments, **named)
            finally:
                self._paused = False

        executor.__call__ = unseen
        try:
            yield
        finally:
            executor.__call__ = launch


class _Calls(TorchFunctionMode):
    """Sees the methods that read without an operation of torch."""

    def __init__(self, reads: HostReads) -> None:
        super().__init__()
        self._reads = reads

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = _READING_METHODS.get(func)
        if name is not None:
            self._reads.saw_method(name, args[0])
        result = func(*args, **kwargs)
        if "device" not in kwargs and not _tensors((args, kwargs)):
            self._reads.saw_host_made(result)
        return result


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every operation of torch."""

    def __init__(self, reads: HostReads) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._reads = reads

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        if kwargs.get("output_size") is None:
            self._reads.saw_operation(name, func._overloadname, args)
        result = func(*args, **kwargs)
        self._reads.saw_result(args, result)
        return result


def _tensors(value: object) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _is_masked(name: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an index is a mask. Writing one value where one mask says fills, and needs no shape from it."""
    if name not in _MASKED_READS and name not in _MASKED_WRITES:
        return False
    indices = [index for index in arguments[1] if isinstance(index, torch.Tensor)]
    masks = [index for index in indices if index.dtype in _MASK_DTYPES]
    if not masks:
        return False
    fills = name in _MASKED_WRITES and len(indices) == 1 and arguments[2].numel() == 1
    accumulates = len(arguments) > 3 and arguments[3]
    return not fills or bool(accumulates)
