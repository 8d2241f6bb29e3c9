"""The CPU stand-ins for a release's kernels: the same slots as Triton's interpreter, at every page size."""

from __future__ import annotations

import pytest
import torch
from release_process import run_on_release

from oracle.errors import UsageError
from targets.sglang.kernel_choice import chosen_kernels
from targets.sglang.kernel_stand_in import KernelStandIn, decode, extend

# The first release with each text of the kernels, and the last that needs them.
GENERATIONS = ("0.5.9", "0.5.12", "0.5.15", "0.5.19", "0.5.21")

COMPARE = """
import inspect
import random
import torch
from targets.sglang.kernel_stand_in import decode, extend

target = make_sglang_target("sglang==" + sys.argv[1])
assert target.versions["kernels"] == "interpreter", target.versions
module = sys.modules[type(target._release.make_paged(8, 4)).__module__]
extend_kernel, decode_kernel = module.alloc_extend_kernel, module.alloc_decode_kernel
wants_bound = "max_num_extend_tokens" in inspect.signature(extend_kernel.fn).parameters
assert wants_bound == (sys.argv[1] == "0.5.9")
choose = random.Random(7)

def free_list(need):
    # Behind the list lie zeros, which is what a stand-in reads there. An empty list has no address to read from.
    length = max(1, need + choose.choice((-3, -1, 0, 0, 0, 1, 5)))
    start = choose.randrange(3)
    memory = torch.zeros(start + length + need + 8, dtype=torch.int64)
    pages = torch.tensor(choose.sample(range(1, 9 + 4 * length), length), dtype=torch.int64)
    memory[start : start + length] = pages
    return memory[start : start + length], length < need

def both(kernel, compute, tensors, pages, count, *constants):
    outs = [torch.full((count,), -7, dtype=torch.int64) for _ in range(2)]
    kernel[(len(tensors[0]),)](*tensors, pages, outs[0], *constants)
    compute(*tensors, pages, outs[1], *constants)
    assert outs[0].tolist() == outs[1].tolist(), (kernel, tensors, pages, constants, outs)

short, partial = 0, 0
for _ in range(200):
    size = choose.choice((1, 2, 4, 16, 64))
    batch = choose.randint(1, 6)
    bound = 1 << (batch - 1).bit_length()
    dtype = choose.choice((torch.int32, torch.int64))
    prefixes = [choose.choice((0, size, choose.randint(0, 3 * size))) for _ in range(batch)]
    lengths = [
        prefix + choose.choice((0, 1, size, choose.randint(0, 4 * size))) for prefix in prefixes
    ]
    last = torch.tensor([choose.randint(-1, 999) for _ in range(batch)], dtype=dtype)
    total = sum(lengths) - sum(prefixes)
    pages, is_short = free_list(sum(-(-b // size) - -(-a // size) for a, b in zip(prefixes, lengths)))
    short += is_short
    partial += any(prefix % size for prefix in prefixes)
    constants = [bound, size]
    if wants_bound:
        constants.append(1 << max(0, total - 1).bit_length())
    both(
        extend_kernel, extend, (torch.tensor(prefixes), torch.tensor(lengths), last),
        pages, total, *constants,
    )
    after = [length + 1 for length in lengths]
    pages, _ = free_list(sum((length - 1) % size == 0 for length in after))
    both(decode_kernel, decode, (torch.tensor(after), last), pages, batch, bound, size)
assert short > 20 and partial > 20, (short, partial)
"""


@pytest.mark.long
@pytest.mark.release
@pytest.mark.parametrize("version", GENERATIONS)
def test_the_stand_ins_compute_what_the_kernels_compute_in_the_interpreter(version: str) -> None:
    pytest.importorskip("triton")
    run_on_release(COMPARE, version, KVORACLE_KERNELS="interpreter")


def test_an_extend_fills_the_open_page_and_takes_pages_in_the_order_of_the_list() -> None:
    out = torch.full((8,), -7, dtype=torch.int64)
    lengths = torch.tensor([2, 0]), torch.tensor([7, 3])
    extend(*lengths, torch.tensor([10, -1]), torch.tensor([9, 2, 5]), out, 2, 3)
    assert out.tolist() == [11, 27, 28, 29, 6, 15, 16, 17]


def test_a_decode_takes_a_page_only_where_one_begins() -> None:
    out = torch.full((3,), -7, dtype=torch.int64)
    decode(torch.tensor([4, 5, 1]), torch.tensor([20, 9, -1]), torch.tensor([8, 3]), out, 4, 3)
    assert out.tolist() == [24, 10, 9]


def test_a_list_that_is_too_short_reads_as_the_padding_page() -> None:
    out = torch.full((6,), -7, dtype=torch.int64)
    none = torch.tensor([0])
    extend(none, torch.tensor([6]), torch.tensor([-1]), torch.tensor([7]), out, 1, 4)
    assert out.tolist() == [28, 29, 30, 31, 0, 1]
    decode(torch.tensor([1]), torch.tensor([-1]), torch.tensor([], dtype=torch.int64), out, 1, 4)
    assert out[0] == 0


def test_a_stand_in_is_launched_once_whatever_the_grid() -> None:
    launched: list[tuple[int, ...]] = []
    kernel = KernelStandIn(lambda *arguments: launched.append(arguments))
    kernel[(5,)](1, 2)
    assert launched == [(1, 2)]


def test_the_kernels_of_a_cpu_are_chosen_by_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KVORACLE_KERNELS", raising=False)
    assert chosen_kernels("cpu") == "stand-in"
    assert chosen_kernels("cuda:1") == "gpu"
    monkeypatch.setenv("KVORACLE_KERNELS", "interpreter")
    assert chosen_kernels("cpu") == "interpreter"
    assert chosen_kernels("cuda") == "gpu"
    monkeypatch.setenv("KVORACLE_KERNELS", "fast")
    with pytest.raises(UsageError, match="KVORACLE_KERNELS=fast is no choice"):
        chosen_kernels("cpu")
