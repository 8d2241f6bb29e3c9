"""What SGLang's modules get when they import from outside SGLang."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from targets.sglang.finder import OutsideImports
from targets.sglang.stand_in import StandInModule


def test_pynvml_is_the_real_one_so_that_its_exceptions_can_be_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = ModuleType("pynvml")
    monkeypatch.setitem(sys.modules, "pynvml", real)
    assert OutsideImports()("pynvml") is real


def test_pynvml_is_missing_as_ever_where_it_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(ImportError):
        OutsideImports()("pynvml")


def test_any_other_package_is_a_stand_in() -> None:
    assert isinstance(OutsideImports()("requests"), StandInModule)
