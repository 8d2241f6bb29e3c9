"""Which way the kernels of ``fused`` run, and how the target is named and refused."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from eager_calls import Bench, hybrid, paged
from fused_bench import interpreted

from oracle.errors import TargetUnavailable
from targets.fused import launcher
from targets.fused.launcher import INTERPRET, Kernel, prepare
from targets.fused.target import WITHOUT_INTERPRETER, FusedTarget
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
    assert target.versions["kernels"] == WITHOUT_INTERPRETER
    assert Bench(paged(), target=target).fresh(5) == (4, 5, 6, 7, 8)


def test_the_reference_is_a_target_of_its_own_name() -> None:
    target = make_target("fused:reference")
    assert target.name == "fused:reference"
    assert target.versions == {"torch": torch.__version__, "kernels": "torch"}
    assert Bench(paged(), target=target).fresh(5) == (4, 5, 6, 7, 8)


def kept_everywhere(monkeypatch: pytest.MonkeyPatch, run: Callable[..., None]) -> None:
    """Let every kernel look as if it were compiled and kept on the device of CPU tensors, whose index is None."""
    monkeypatch.setattr(launcher, "_current_device", lambda: None)
    monkeypatch.setattr(launcher, "_current_stream", lambda _: 7)
    monkeypatch.setattr(Kernel, "_launch_and_keep", pytest.fail)
    for module in list(sys.modules.values()):
        if module.__name__.startswith("targets.fused.kernels"):
            for kernel in vars(module).values():
                if isinstance(kernel, Kernel):
                    monkeypatch.setattr(kernel, "_kept", Kept(run))
                    monkeypatch.setattr(kernel, "_keeps", True)


class Kept(dict[Any, Any]):
    """One compiled form for every key."""

    def __init__(self, run: Callable[..., None]) -> None:
        super().__init__()
        self.form = (run, 11, 12)

    def get(self, key: Any, default: Any = None) -> Any:
        return self.form


def test_a_kept_kernel_is_handed_numbers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = Bench(hybrid(), target=interpreted())
    row = torch.tensor(subject.fresh(8), dtype=torch.int32)
    handed: list[tuple[Any, ...]] = []
    kept_everywhere(monkeypatch, lambda *arguments: handed.append(arguments))
    allocator = subject.target.allocator  # type: ignore[attr-defined]
    allocator.free_segment(row, start_pos=0)
    (arguments,) = handed
    assert arguments[:9] == (1, 1, 1, 7, 11, 12, None, None, None)
    assert arguments[9] == row.data_ptr()
    assert all(isinstance(argument, int) for argument in arguments[9:])
    assert allocator.full_to_swa_index_mapping.data_ptr() in arguments


def test_a_launcher_that_packs_differently_is_left_for_the_ordinary_way() -> None:
    def refuse(*_: Any) -> None:
        raise TypeError("function takes exactly 40 arguments")

    target = interpreted()
    subject = Bench(hybrid(), target=target)
    with pytest.MonkeyPatch.context() as patch:
        launch_and_keep = Kernel._launch_and_keep
        kept_everywhere(patch, refuse)
        patch.setattr(Kernel, "_launch_and_keep", launch_and_keep)
        assert subject.fresh(6) == (4, 5, 6, 7, 8, 9)
