"""Inert stand-ins for what an allocator's module imports and the allocator never uses.

A stand-in lets a module be imported: it can be subclassed, subscripted, used as a decorator or
called while SGLang modules are being executed. Afterwards it is loud: calling it, subscripting it,
iterating over it, ordering it or asking its truth raises `StandInUsed`, so that a release whose allocator does
need the missing thing fails with its name instead of computing with nothing.

Guarantees: no stand-in is put in place of anything outside SGLang's own modules (see `finder`).
Does not guarantee: `isinstance` against a stand-in is silently False.
"""

from __future__ import annotations

import inspect
from abc import ABCMeta
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NoReturn

from oracle.errors import TargetUnavailable

_executing = 0


class StandInUsed(TargetUnavailable):
    """The code under test used something that the hermetic import had left out."""


@contextmanager
def executing_module() -> Iterator[None]:
    """Stand-ins are permissive inside: a module of SGLang is being executed."""
    global _executing
    _executing += 1
    try:
        yield
    finally:
        _executing -= 1


def _refuse(path: str) -> NoReturn:
    top = path.partition(".")[0]
    if top == "triton":
        raise StandInUsed(
            f"this release does the requested operation with Triton ({path}), which was not imported: "
            "install triton and set KVORACLE_KERNELS=interpreter, or choose a release with a CPU path "
            "of its own (sglang==0.5.22 and later)"
        )
    raise StandInUsed(
        f"the allocator used {path}, which the hermetic import leaves out: "
        "add its module to those that are imported for real in targets/sglang/finder.py"
    )


class _StandInType(ABCMeta):
    """Metaclass: the stand-in classes themselves are inert, classes derived from them are not."""

    def _path(cls) -> str | None:
        """The dotted name it stands for, None for a class that SGLang derived from a stand-in."""
        path = cls.__dict__.get("_stand_in_path")
        return path if isinstance(path, str) else None

    def __getattr__(cls, name: str) -> Any:
        path = cls._path()
        if name == "__version__" and path is not None:
            return "0.0.0"
        if path is None or (name.startswith("__") and name.endswith("__")):
            raise AttributeError(f"{cls.__name__} has no attribute {name}")
        attribute = stand_in(f"{path}.{name}")
        setattr(cls, name, attribute)
        return attribute

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        path = cls._path()
        if path is None:
            return super().__call__(*args, **kwargs)
        if not _executing:
            _refuse(path)
        decorated = args[0] if len(args) == 1 and not kwargs else None
        if _is_real_definition(decorated) and not path.startswith("triton"):
            return decorated
        return stand_in(f"{path}()")

    def __getitem__(cls, key: object) -> Any:
        path = cls._path()
        if path is not None and not _executing:
            _refuse(path)
        return cls

    def __iter__(cls) -> Iterator[Any]:
        path = cls._path()
        if path is not None and not _executing:
            _refuse(path)
        return iter(())

    def _compare(cls, _other: object) -> bool:
        path = cls._path()
        if path is not None and not _executing:
            _refuse(path)
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _compare

    def __bool__(cls) -> bool:
        path = cls._path()
        if path is None:
            return True
        if not _executing:
            _refuse(path)
        return False


def _is_real_definition(value: object) -> bool:
    """A function or class that a decorator got, so that an inert decorator can hand it back."""
    return (inspect.isfunction(value) or inspect.isclass(value)) and not (
        isinstance(value, _StandInType) and value._path() is not None
    )


def stand_in(path: str) -> Any:
    """A stand-in for the thing with that dotted name; usable as class, function or decorator."""
    return _StandInType(path.rpartition(".")[2] or path, (), {"_stand_in_path": path})


class StandInModule(ModuleType):
    """A module in which every public name exists and is a stand-in."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "Inert stand-in: left out by the hermetic import.")
        self.__path__: list[str] = []
        self.__all__: list[str] = []
        self.__version__ = "0.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"{self.__name__} has no attribute {name}")
        attribute = stand_in(f"{self.__name__}.{name}")
        setattr(self, name, attribute)
        return attribute
