"""The oracle needs the standard library and msgspec, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

IMPORT_EVERYTHING = """
import importlib, pkgutil, sys

class Absent:
    names = {"torch", "triton", "numpy", "hypothesis"}
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Absent())
import oracle
modules = [module.name for module in pkgutil.walk_packages(oracle.__path__, "oracle.")]
for module in modules:
    importlib.import_module(module)
try:
    import torch
except ModuleNotFoundError:
    print(len(modules), *modules)
"""


def test_all_of_the_oracle_imports_without_torch_triton_numpy_and_hypothesis():
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_EVERYTHING],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    imported = done.stdout.split()
    assert "oracle.reference.hybrid_swa" in imported, done.stdout
    assert "oracle.invariants" in imported, done.stdout


def test_the_check_itself_would_notice_an_import_of_torch():
    program = IMPORT_EVERYTHING.replace("import oracle\n", "import oracle, torch\n")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "No module named 'torch'" in done.stderr
