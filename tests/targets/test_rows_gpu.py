"""Our row layer with its tables on a GPU: the same sentences, and the same programs as on the CPU."""

from __future__ import annotations

import os

import pytest
import torch
from row_checks import CHECKS, Check, the_cursor_is_stored_before_the_allocator_refuses
from row_programs import run_alike

from targets.eager.target import EagerTarget
from targets.fused.launcher import INTERPRET
from targets.fused.target import FusedTarget

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
    pytest.mark.skipif(bool(os.environ.get(INTERPRET)), reason="this process interprets kernels"),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_the_contract_says_holds_on_a_gpu(check: Check) -> None:
    check(EagerTarget("cuda"))
    check(FusedTarget("cuda"))


def test_random_programs_run_alike_on_a_gpu_and_on_the_cpu() -> None:
    run_alike(range(40), [EagerTarget(), EagerTarget("cuda"), FusedTarget("cuda")])


def test_a_refusal_leaves_the_gpu_usable() -> None:
    target = FusedTarget("cuda")
    for _ in range(2):
        the_cursor_is_stored_before_the_allocator_refuses(target)
