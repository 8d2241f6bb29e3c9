"""The pytest front door: ``pytest tests/fuzz --target sglang==0.5.23 --fuzz-profile pr``.

Guarantees that what was asked for and cannot be had ends the run with one sentence and no traceback, that the header says
what a run depends on, and that all xdist workers use the same seed. The fuzzing itself is in ``tests/fuzz``.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from campaigns.known_findings import KnownFindings, read_known
from campaigns.options import LARGEST_SEED
from campaigns.rediscovery import Baseline
from campaigns.variables import check_variables, is_ours
from oracle.errors import KvoracleError
from oracle.geometry import FAMILIES, LEVELS
from oracle.target import Target
from oracle.trace import CALLERS
from strategies.geometries import DRAWN_FAMILIES
from strategies.profiles import PROFILES, register_profiles
from targets.registry import make_target

if shutil.which("nvidia-smi") is None:
    # Triton reads this once, when it is first imported, and any test may be the first to do that.
    os.environ.setdefault("TRITON_INTERPRET", "1")

DEFAULT_TARGET = "eager"

TARGETS: pytest.StashKey[dict[str, Target]] = pytest.StashKey()
SEED: pytest.StashKey[int] = pytest.StashKey()
KNOWN: pytest.StashKey[Baseline] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the front door."""
    group = parser.getgroup("kvoracle", "fuzzing allocators")
    group.addoption(
        "--target",
        action="append",
        metavar="TARGET",
        help="what to fuzz, as in 'kvoracle targets'; may be repeated (default: eager)",
    )
    group.addoption("--fuzz-profile", choices=PROFILES, default="dev", help="how much to fuzz")
    group.addoption("--fuzz-callers", choices=CALLERS, default="mixed", help="who calls")
    group.addoption("--fuzz-level", choices=LEVELS, default="off", help="the invariant level")
    group.addoption(
        "--fuzz-family",
        action="append",
        choices=DRAWN_FAMILIES,
        help="this family; may be repeated (default: token, paged and hybrid-swa)",
    )
    group.addoption("--fuzz-seed", type=_seed_number, metavar="N", help="the seed (profile pr: 0)")
    group.addoption(
        "--fuzz-known",
        type=Path,
        metavar="FILE",
        help="findings that are accepted, as for 'kvoracle fuzz --known'",
    )
    group.addoption("--fuzz-device", default="cpu", metavar="DEVICE", help="cpu, cuda, cuda:1")


def pytest_configure(config: pytest.Config) -> None:
    """Check the environment and make the targets that were asked for. Raises ``pytest.UsageError`` with one sentence."""
    try:
        check_variables(os.environ)
    except KvoracleError as error:
        raise pytest.UsageError(str(error)) from None
    register_profiles()
    config.stash[SEED] = _seed(config)
    config.stash[TARGETS] = {}
    file = config.getoption("--fuzz-known")
    try:
        config.stash[KNOWN] = Baseline() if file is None else KnownFindings(read_known(file))
    except KvoracleError as error:
        raise pytest.UsageError(str(error)) from None
    for specification in config.getoption("--target") or ():
        try:
            target_named(config, specification)
        except KvoracleError as error:
            raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give each xdist worker the seed of the run."""
    node.workerinput["kvoracle_seed"] = node.config.stash[SEED]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """What the run depends on."""
    made = config.stash[TARGETS]
    names = [_with_versions(name, target.versions) for name, target in made.items()]
    variables = [f"{name}={os.environ[name]}" for name in sorted(os.environ) if is_ours(name)]
    option = config.getoption
    return [
        f"kvoracle targets: {', '.join(names) or _default_with_versions()}, "
        f"device {option('--fuzz-device')}",
        f"kvoracle fuzzing: profile {option('--fuzz-profile')}, seed {config.stash[SEED]}, "
        f"{option('--fuzz-callers')} callers, level {option('--fuzz-level')}",
        f"kvoracle variables: {', '.join(variables) or 'none'}",
    ]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each target, family and shard (one shard for each xdist worker)."""
    if "fuzz_case" not in metafunc.fixturenames:
        return
    config = metafunc.config
    shards = getattr(config, "workerinput", {}).get("workercount", 1)
    cases = []
    for name in dict.fromkeys(config.getoption("--target") or (DEFAULT_TARGET,)):
        try:
            target = target_named(config, name)
        except KvoracleError as error:
            cases.append(pytest.param(None, id=name, marks=pytest.mark.skip(reason=str(error))))
            continue
        for family in config.getoption("--fuzz-family") or FAMILIES:
            if target.contract(family) is not None:
                cases += [
                    pytest.param((target, family, shard, shards), id=f"{name}-{family}-{shard}")
                    for shard in range(shards)
                ]
    metafunc.parametrize("fuzz_case", cases)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a GPU where there is none."""
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    reason = _why_no_gpu() if on_gpu else ""
    for item in on_gpu:
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def fuzz_seed(request: pytest.FixtureRequest) -> int:
    """The seed of the run, the same in every worker."""
    return request.config.stash[SEED]


@pytest.fixture(scope="session")
def known(request: pytest.FixtureRequest) -> Baseline:
    """The findings that are accepted."""
    return request.config.stash[KNOWN]


@pytest.fixture(scope="session")
def trace_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the traces of failures are kept after the run."""
    cache = getattr(request.config, "cache", None)
    if cache is None:
        return tmp_path_factory.mktemp("kvoracle")
    folder: Path = cache.mkdir("kvoracle")
    return folder


def target_named(config: pytest.Config, specification: str) -> Target:
    """The target, made once a process. Raises ``KvoracleError``."""
    made = config.stash[TARGETS]
    if specification not in made:
        made[specification] = make_target(specification, device=config.getoption("--fuzz-device"))
    return made[specification]


def _seed(config: pytest.Config) -> int:
    given = getattr(config, "workerinput", {}).get("kvoracle_seed")
    asked = config.getoption("--fuzz-seed")
    if given is not None or asked is not None:
        return int(given if given is not None else asked)
    return 0 if config.getoption("--fuzz-profile") == "pr" else secrets.randbelow(1 << 32)


def _seed_number(text: str) -> int:
    """A seed as ``kvoracle fuzz`` takes it, so that what one finds the other can find again."""
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed <= LARGEST_SEED:
        raise argparse.ArgumentTypeError(
            f"a seed is a number from 0 to {LARGEST_SEED}, not {text!r}"
        )
    return seed


def _with_versions(name: str, versions: dict[str, str]) -> str:
    known = ", ".join(f"{what} {which}" for what, which in versions.items())
    return f"{name} ({known})" if known else name


def _default_with_versions() -> str:
    # Not made before a test asks for it: importing torch takes longer than most test files.
    try:
        return _with_versions(DEFAULT_TARGET, {"torch": version("torch")})
    except PackageNotFoundError:
        return f"{DEFAULT_TARGET} (torch is not installed)"


def _why_no_gpu() -> str:
    try:
        import torch
    except ImportError:
        return "torch is not installed"
    return "" if torch.cuda.is_available() else "there is no CUDA device here"
