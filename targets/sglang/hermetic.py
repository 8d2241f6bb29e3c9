"""Import one SGLang tree's allocators into this process, without SGLang's dependencies.

Guarantees: only the modules that `finder.is_real` names are executed; nothing is installed,
downloaded or written outside a cache of ours; imports that others make are not touched; what the
release logs does not reach the terminal. Needs torch and the real msgspec. Triton is imported where
its kernels run: on a GPU, and on a CPU if `KVORACLE_KERNELS=interpreter` asks for its interpreter.

One process holds one release. Importing a second, different one is an error, because the first
one's modules stay in `sys.modules` and in every object made from them.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from oracle.errors import KvoracleError, TargetUnavailable
from oracle.quoting import quote
from targets.sglang.checkout import find_package, version_of
from targets.sglang.finder import GENUINE, OutsideImports, SglangFinder
from targets.sglang.kernel_choice import STAND_IN, chosen_kernels

if TYPE_CHECKING:
    from targets.sglang.release import Release

_imported: Release | None = None


def import_release(root: Path, *, device: str = "cpu", keep_bytecode: bool = False) -> Release:
    """The allocators of the SGLang tree at `root`, imported hermetically in this process.

    Args:
        root: an unpacked wheel, a checkout, or the `sglang` folder itself.
        device: "cpu" or "cuda"; on "cpu" Triton kernels run as `kernel_choice` says.
        keep_bytecode: keep compiled modules beside the sources (for a cache that is ours).

    Raises:
        TargetUnavailable: no SGLang there, torch or msgspec is missing, or its import failed.
        UsageError: `KVORACLE_KERNELS` holds no known choice.
        KvoracleError: this process already holds another release, or another SGLang.
    """
    global _imported
    package = find_package(root)
    if _imported is not None:
        if _imported.package == package and _imported.device == device:
            return _imported
        raise KvoracleError(
            f"this process already holds SGLang {_imported.version} from {_imported.package} on "
            f"{_imported.device}: one process can test one release on one device; run "
            f"{package} in a process of its own"
        )
    if "sglang" in sys.modules:
        raise KvoracleError(
            "sglang was already imported in this process by something else: "
            "run kvoracle in a process of its own"
        )
    _require("torch")
    _require("msgspec")
    # Needs torch at its first line; imported here so that its absence is told in a sentence.
    from targets.sglang.release import Release

    kernels = chosen_kernels(device)
    has_triton = kernels != STAND_IN and _prepare_triton(device)
    _silence()
    genuine = GENUINE if has_triton else GENUINE - {"triton"}
    finder = SglangFinder(package, OutsideImports(genuine), keep_bytecode)
    sys.meta_path.insert(0, finder)
    try:
        release = Release(package, version_of(package), device, has_triton, kernels)
    except Exception as error:
        sys.meta_path.remove(finder)
        _forget()
        if isinstance(error, KvoracleError):
            raise
        raise TargetUnavailable(
            f"the allocators of {package} cannot be imported: {type(error).__name__}: {quote(str(error))}"
        ) from error
    _imported = release
    return release


def _require(name: str) -> None:
    try:
        importlib.import_module(name)
    except ImportError as error:
        raise TargetUnavailable(
            f"real SGLang releases need {name}, which cannot be imported here ({error}): "
            f"install {name}"
        ) from error


def _prepare_triton(device: str) -> bool:
    """Import Triton in the mode that the device needs; False where there is no Triton."""
    if "triton" not in sys.modules:
        # A parent that tested on the CPU hands its setting down to a child that tests on a GPU.
        os.environ.pop("TRITON_INTERPRET", None)
        if device == "cpu":
            os.environ["TRITON_INTERPRET"] = "1"
    try:
        triton = importlib.import_module("triton")
        language = importlib.import_module("triton.language")
    except ImportError:
        return False
    # A function of Triton's own library shows in which mode Triton was imported; setting the
    # variable later changes the kernels decorated after it and not those.
    interpreted = not isinstance(language.cdiv, triton.JITFunction)
    if interpreted != (device == "cpu"):
        wanted = "with TRITON_INTERPRET=1" if device == "cpu" else "without TRITON_INTERPRET"
        raise KvoracleError(
            f"Triton was imported earlier in the wrong mode for device {device}: "
            f"start the process {wanted}"
        )
    return True


def _silence() -> None:
    """Keep the release's log lines to itself: a hit that is provoked on purpose is no news to a person."""
    logger = logging.getLogger("sglang")
    logger.propagate = False
    logger.setLevel(logging.CRITICAL + 1)
    logger.addHandler(logging.NullHandler())


def _forget() -> None:
    """Take the modules of a failed import out again, so that the next tree starts clean."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "sglang"]:
        del sys.modules[name]
