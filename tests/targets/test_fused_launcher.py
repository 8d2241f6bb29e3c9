"""Which way the kernels of ``fused`` run, and how the target is named and refused."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest
import torch
from eager_calls import Bench, paged

from oracle.errors import TargetUnavailable
from targets.fused.launcher import INTERPRET, prepare
from targets.fused.target import FusedTarget
from targets.registry import known_targets, make_target


def test_without_triton_the_refusal_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "triton" else find(name)
    )
    with pytest.raises(TargetUnavailable, match="needs triton") as refused:
        FusedTarget()
    assert "\n" not in str(refused.value)
    known = {target.specification: target for target in known_targets()}
    assert known["fused"].reason == "triton is not installed"
    assert known["fused:reference"].available


def test_a_gpu_is_refused_in_a_process_that_interprets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INTERPRET, "1")
    with pytest.raises(TargetUnavailable, match=f"{INTERPRET} is set"):
        prepare("cuda")


def test_a_cpu_on_which_triton_compiles_takes_the_torch_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    language = ModuleType("triton.language")
    language.cdiv = len  # type: ignore[attr-defined]
    monkeypatch.setenv(INTERPRET, "1")
    monkeypatch.setitem(sys.modules, "triton.language", language)
    target = FusedTarget()
    assert target.name == "fused"
    assert target.versions["kernels"] == "torch"
    assert Bench(paged(), target=target).fresh(5) == (4, 5, 6, 7, 8)


def test_the_reference_is_a_target_of_its_own_name() -> None:
    target = make_target("fused:reference")
    assert target.name == "fused:reference"
    assert target.versions == {"torch": torch.__version__, "kernels": "torch"}
    assert Bench(paged(), target=target).fresh(5) == (4, 5, 6, 7, 8)
