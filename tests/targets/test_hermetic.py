"""Importing a release hermetically: what is executed, what is left out, and how that is told.

Each import happens in a process of its own, as it does in a campaign.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from release_process import run_on_releases

from targets.sglang.fetch import fetch_release, write_minimal
from targets.sglang.needed_files import needed_files
from targets.sglang.releases import RELEASES

ROOT = Path(__file__).parents[2]
PRELUDE = """
import sys
from pathlib import Path
from oracle.errors import KvoracleError, TargetUnavailable
from targets.sglang.hermetic import import_release
root = Path(sys.argv[1])
"""


def _run(script: str, *arguments: Path) -> str:
    """What the script printed, in a process of its own; fails the test if it raised."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_allocators_are_imported_and_the_engine_is_not_started(made_up_tree: Path) -> None:
    _run(
        """
release = import_release(root)
assert release.version == "0.5.23"
assert release.kernels == "native"
assert release.pure_swa_allocator_class is None
assert release.invariants_module is None
token = release.make_token(8, need_sort=True)
assert token.need_sort == "has none", "an argument was passed that the class does not take"
paged = release.make_paged(32, 4, need_sort=True)
assert (paged.size, paged.page_size, paged.need_sort) == (32, 4, True)
swa = release.make_swa(32, 16, 4)
assert swa.sizes == (32, 16)
assert swa.pool.full_to_swa_index_mapping is swa, "the mapping was not kept as it is"
assert type(token.budget()).__name__ == "Budget", "an import inside a method failed"
""",
        made_up_tree,
    )


def test_absent_packages_are_answered_inside_sglang_and_nowhere_else(made_up_tree: Path) -> None:
    _run(
        """
import_release(root)
from sglang.srt.utils import common
assert common.Derived().answer == 42
assert common.plain(1) == 2, "an inert decorator swallowed its function"
assert common.parametrised(1) == 3
assert common.lazily().__name__ == "another_absent_thing"
for name in ("nothing_like_this", "another_absent_thing"):
    assert name not in sys.modules, name
    try:
        __import__(name)
    except ModuleNotFoundError:
        continue
    raise AssertionError(f"{name} can be imported from outside")
""",
        made_up_tree,
    )


def test_a_stand_in_that_is_used_says_its_name(made_up_tree: Path) -> None:
    _run(
        """
from targets.sglang.stand_in import StandInUsed
import_release(root)
from sglang.srt.utils import common
for use in (common.needs_it, common.asks_it, lambda: common.Base[0], lambda: common.Base < 1):
    try:
        use()
    except StandInUsed as error:
        assert "nothing_like_this.Base" in str(error), error
    else:
        raise AssertionError("a stand-in computed something")
""",
        made_up_tree,
    )


def test_a_second_release_in_one_process_is_refused(made_up_tree: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    made_up_tree_copy = _copy(made_up_tree, other)
    _run(
        """
first = import_release(root)
assert import_release(root / "sglang") is first
try:
    import_release(Path(sys.argv[2]))
except KvoracleError as error:
    assert "a process of its own" in str(error), error
else:
    raise AssertionError("two releases in one process")
""",
        made_up_tree,
        made_up_tree_copy,
    )


def _copy(tree: Path, into: Path) -> Path:
    for file in tree.rglob("*.py"):
        place = into / file.relative_to(tree)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.read_bytes())
    return into


def test_an_import_that_fails_is_one_sentence_and_leaves_nothing(made_up_tree: Path) -> None:
    (made_up_tree / "sglang/srt/environ.py").write_text("raise ValueError('bad level')\n")
    _run(
        """
try:
    import_release(root)
except TargetUnavailable as error:
    assert "cannot be imported: ValueError: bad level" in str(error), error
else:
    raise AssertionError("it was imported")
assert not [name for name in sys.modules if name.startswith("sglang")]
(root / "sglang/srt/environ.py").write_text("LEVEL = 0\\n")
assert import_release(root).version == "0.5.23"
""",
        made_up_tree,
    )


def test_a_tree_without_a_family_says_where_it_looked(made_up_tree: Path) -> None:
    (made_up_tree / "sglang/srt/mem_cache/allocator/swa.py").unlink()
    _run(
        """
try:
    import_release(root)
except TargetUnavailable as error:
    assert "no hybrid-swa allocator" in str(error), error
    assert "mem_cache.swa_memory_pool" in str(error), error
else:
    raise AssertionError("it was imported")
""",
        made_up_tree,
    )


def test_an_import_leaves_no_bytecode_in_a_checkout(made_up_tree: Path) -> None:
    _run("import_release(root)", made_up_tree)
    assert not list(made_up_tree.rglob("*.pyc"))
    _run("import_release(root, keep_bytecode=True)", made_up_tree)
    assert list(made_up_tree.rglob("*.pyc")) or sys.dont_write_bytecode


def test_a_kernel_without_triton_says_what_to_install(made_up_tree: Path) -> None:
    (made_up_tree / "sglang/srt/environ.py").write_text(
        "import triton\n@triton.jit\ndef kernel(x): ...\nLEVEL = 0\n"
    )
    _run(
        """
sys.modules["triton"] = None
release = import_release(root)
assert not release.has_triton
from sglang.srt.environ import kernel
try:
    kernel[(1,)](1)
except TargetUnavailable as error:
    assert "install triton" in str(error), error
else:
    raise AssertionError("a kernel ran")
""",
        made_up_tree,
    )


def test_a_missing_torch_is_one_sentence(made_up_tree: Path) -> None:
    _run(
        """
sys.modules["torch"] = None
try:
    import_release(root)
except TargetUnavailable as error:
    assert "install torch" in str(error), error
else:
    raise AssertionError("it was imported")
""",
        made_up_tree,
    )


def test_triton_imported_in_the_wrong_mode_is_told(made_up_tree: Path) -> None:
    pytest.importorskip("triton")
    _run(
        """
import os
os.environ.pop("TRITON_INTERPRET", None)
os.environ["KVORACLE_KERNELS"] = "interpreter"
import triton
try:
    import_release(root)
except KvoracleError as error:
    assert "TRITON_INTERPRET=1" in str(error), error
else:
    raise AssertionError("it was imported")
""",
        made_up_tree,
    )


EXERCISE = """
import torch
from pathlib import Path
from targets.sglang.hermetic import import_release

def extend(allocator, before, after, last):
    prefix, total = torch.tensor([before]), torch.tensor([after])
    return allocator.alloc_extend(
        prefix, prefix, total, total, torch.tensor([last]), after - before
    )

def decode(allocator, total, last):
    lengths = torch.tensor([total])
    return allocator.alloc_decode(lengths, lengths, torch.tensor([last]))

def body(version):
    sys.modules["triton"] = None
    root = Path(sys.argv[2]) / f"sglang-{version}"
    release = import_release(root, keep_bytecode=True)
    assert not release.has_triton
    token = release.make_token(8)
    held = token.alloc(4)
    assert held.tolist() == [1, 2, 3, 4]
    token.free(held)
    assert token.available_size() == 8
    for need_sort in (False, True):
        paged = release.make_paged(32, 4, need_sort=need_sort)
        first = paged.alloc(8)
        row = extend(paged, 0, 6, -1)
        assert row.tolist() == [12, 13, 14, 15, 16, 17], row
        row = torch.cat([row, decode(paged, 7, int(row[-1]))])
        assert row.tolist()[-1] == 18, row
        paged.free(torch.cat([first, row]))
        assert paged.available_size() == 32
        hybrid = release.make_swa(64, 32, 4, need_sort=need_sort)
        row = extend(hybrid, 0, 6, -1)
        row = torch.cat([row, decode(hybrid, 7, int(row[-1]))])
        assert hybrid.translate_loc_from_full_to_swa(row).tolist() == [4, 5, 6, 7, 8, 9, 10]
        hybrid.free(row)
        assert (hybrid.full_available_size(), hybrid.swa_available_size()) == (64, 32)
        for size in (3, 16):
            hybrid = release.make_swa(8 * size, 6 * size, size, need_sort=need_sort)
            row = extend(hybrid, 0, 2 * size, -1)
            row = torch.cat([row, decode(hybrid, 2 * size + 1, int(row[-1]))])
            row = torch.cat([row, extend(hybrid, 2 * size + 1, 4 * size, int(row[-1]))])
            assert row.tolist() == list(range(size, 5 * size)), row
            assert hybrid.translate_loc_from_full_to_swa(row).tolist() == row.tolist()
            hybrid.free_swa(row[:size])
            assert hybrid.swa_available_size() == 3 * size
            hybrid.free_group_begin()
            if hasattr(hybrid, "free_full"):
                hybrid.free_full(row[:size])
                hybrid.free(row[size:])
            else:
                hybrid.free(row)
            hybrid.free_group_end()
            assert hybrid.available_size() == 6 * size
            if hasattr(hybrid, "alloc_extend_swa_tail"):
                none, total = torch.tensor([0]), torch.tensor([3 * size])
                arguments = none, none, total, total, torch.tensor([-1]), 3 * size, size
                row = hybrid.alloc_extend_swa_tail(*arguments)
                assert (hybrid.full_available_size(), hybrid.swa_available_size()) == (5 * size, 5 * size)
        single = release.make_swa(8, 4, 1, need_sort=need_sort)
        row = single.alloc(3)
        single.free_swa(row[:1])
        assert (single.full_available_size(), single.swa_available_size()) == (5, 2)
    if release.pure_swa_allocator_class is not None:
        pure = release.make_pure_swa(8)
        pure.free(pure.alloc(3))
        assert pure.swa_available_size() == 8
    minor = int(release.version.split(".")[2])
    assert (release.pure_swa_allocator_class is not None) == (minor >= 15)
    assert (release.invariants_module is not None) == (minor >= 20)
    assert release.kernels == ("native" if minor >= 22 else "stand-in"), release.kernels
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("sglang.") and getattr(module, "__file__", None):
            print(version, Path(module.__file__).relative_to(release.package.parent))
"""


@pytest.mark.release
def test_every_family_of_every_release_allocates_extends_and_frees_on_a_cpu_without_triton(
    tmp_path: Path,
) -> None:
    for version in RELEASES:
        write_minimal(version, tmp_path)
    printed, _ = run_on_releases(EXERCISE, RELEASES, str(tmp_path))
    executed: dict[str, set[Path]] = {}
    for line in printed.splitlines():
        version, file = line.split()
        executed.setdefault(version, set()).add(Path(file))
    for version in RELEASES:
        assert executed.get(version), f"{version}: its modules were not executed"
        missed = executed[version] - set(needed_files(fetch_release(version) / "sglang"))
        assert not missed, f"{version}: executed and not carried: {missed}"
