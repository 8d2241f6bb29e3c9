"""What is exported runs on its own, says what it saw in its exit code, and is laid out as ruff would lay it out."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from campaigns.export import render, run_script, write_script
from campaigns.export_run import ScriptRunner
from campaigns.messages import EXPORT_FORMATS
from oracle.errors import UsageError
from oracle.geometry import Geometry
from oracle.lockstep import run_trace
from oracle.operations import Alloc, Free, RawFree, Release, StaleFree
from oracle.trace import Trace
from targets.registry import make_target
from tests.campaigns.export_cases import (
    KNOWN_BUGS,
    PAGED,
    ROOT,
    SEGMENTED,
    UNMAPPED_REPRESENTATIVE,
    assert_formatted,
    finding_at,
    ran,
    trace,
)

TOKEN = Geometry(family="token", size=8)
PUSHED_TWICE = trace(PAGED, Alloc(amount=3, unit="pages"), Release())
MUTANT = "mutant:page-pushed-twice"
RELEASES = ("0.5.20", "0.5.21", "0.5.22", "0.5.23")
SNAPSHOT = Path(__file__).parent / "snapshots" / "report.md"


@pytest.fixture
def release(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """A release and its folder; skips where it cannot be had."""
    from oracle.errors import TargetUnavailable
    from targets.sglang.fetch import fetch_release

    version = str(getattr(request, "param", "0.5.23"))
    try:
        return version, fetch_release(version)
    except TargetUnavailable as reason:
        pytest.skip(str(reason))


def test_a_program_makes_no_call_that_the_caller_of_the_trace_may_not_make() -> None:
    operations = (Alloc(amount=4), RawFree(), Free(), StaleFree())
    loose = Trace(geometry=TOKEN, operations=operations)
    bound = Trace(geometry=TOKEN, operations=operations, may_break=("stale",))
    for told in (loose, bound):
        session = run_trace(told, [make_target("eager")], keep_records=True)
        text = render(told, "eager", finding=session.findings[0], session=session)
        assert ("torch.tensor([0]" in text) == (told is loose), "the raw free breaks 'raw-slots'"


def test_a_fault_shows_on_the_mutant_and_not_on_the_allocator_it_was_put_into(
    tmp_path: Path,
) -> None:
    finding = run_trace(PUSHED_TWICE, [make_target(MUTANT)]).findings[0]
    for target, shown in ((MUTANT, True), ("eager", False)):
        path = tmp_path / f"{target.replace(':', '-')}.py"
        write_script(PUSHED_TWICE, target, path, finding)
        assert run_script(path) is shown, f"{target}: {path.read_text()}"


def test_the_script_says_in_words_and_exit_code_what_it_saw(tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    write_script(PUSHED_TWICE, MUTANT, path)
    done = ran(path, PYTHONPATH=str(ROOT))
    assert done.returncode == 1
    words = [line.split(":")[0] for line in done.stdout.splitlines()]
    assert words == ["checked", "expected", "got", "The fault is there."]
    assert_formatted(path.read_text(), path)


def test_a_script_of_our_own_target_says_that_it_needs_the_package(tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    write_script(PUSHED_TWICE, MUTANT, path)
    _stub(tmp_path, oracle="raise ImportError('no kvoracle here')\n")
    done = ran(path, PYTHONPATH="")
    assert done.returncode == 2
    assert done.stdout == (
        "cannot run: the target is kvoracle's own: install it (no kvoracle here)\n"
    ), done.stdout + done.stderr


def test_a_recorded_session_gives_the_same_script_as_a_run(tmp_path: Path) -> None:
    session = run_trace(PUSHED_TWICE, [make_target(MUTANT)], keep_records=True)
    finding = session.findings[0]
    recorded = render(PUSHED_TWICE, MUTANT, finding=finding, session=session, file_name="x.py")
    assert recorded == render(PUSHED_TWICE, MUTANT, finding=finding, file_name="x.py")


def test_rows_are_variables_and_the_caller_overwrites_what_it_passed() -> None:
    subject = trace(
        PAGED,
        Alloc(amount=2, unit="pages"),
        Alloc(amount=0, unit="pages"),
        Free(method="free", request=1, first=4, count=3, overwrite=True),
    )
    text = render(subject, "eager")
    assert "row1 = allocator.alloc(12)" in text
    assert (
        "    passed3 = row1[4:8].int()\n    allocator.free(passed3)\n    passed3.zero_()\n" in text
    )
    assert "row2 =" not in text, "a variable that nothing reads was assigned"
    assert "positions 4..7 of request 1, on page 2" in text


def test_every_literal_of_an_extend_is_explained() -> None:
    text = render(UNMAPPED_REPRESENTATIVE, "eager")
    start = text.index("allocator.alloc_extend(")
    arguments = text[start : text.index("\n    )\n", start)].splitlines()[1:]
    assert len(arguments) == 6
    assert all("  # " in line for line in arguments), arguments


def test_the_pytest_file_fails_passes_and_skips(tmp_path: Path) -> None:
    finding = run_trace(PUSHED_TWICE, [make_target(MUTANT)]).findings[0]
    outcomes = []
    for name, target in (("fault", MUTANT), ("right", "eager"), ("none", "mutant:unheard-of")):
        source = render(PUSHED_TWICE, "eager", format="pytest", finding=finding)
        path = tmp_path / f"test_{name}.py"
        path.write_text(source.replace('make_target("eager")', f'make_target("{target}")'))
        outcomes.append(path)
    done = ran_pytest(tmp_path)
    assert "1 failed, 1 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    assert_formatted(render(SEGMENTED, "eager", format="pytest"), tmp_path / "formatted.py")


def ran_pytest(folder: Path) -> Any:
    import subprocess

    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_the_bug_report_is_as_it_was() -> None:
    finding = finding_at(PUSHED_TWICE, "divergence", "full.free", method="free_segments", breach="")
    report = render(PUSHED_TWICE, "eager", format="markdown", finding=finding, file_name="twice.py")
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(report)
    assert report == SNAPSHOT.read_text(), "set UPDATE_SNAPSHOTS=1 to accept the new report"


@pytest.mark.parametrize("format_", EXPORT_FORMATS)
def test_an_export_is_the_same_each_time(format_: Any) -> None:
    first = render(SEGMENTED, "eager", format=format_)
    assert first == render(SEGMENTED, "eager", format=format_)


def test_what_cannot_be_exported_or_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no export format 'html'"):
        render(SEGMENTED, "eager", format="html")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no target 'eagre'"):
        render(SEGMENTED, "eagre")
    with pytest.raises(UsageError, match="cannot write the script"):
        write_script(SEGMENTED, "eager", tmp_path / "absent" / "x.py")
    elsewhere = finding_at(SEGMENTED, "law", "full.one-owner", method="alloc_decode")
    with pytest.raises(UsageError, match="makes no alloc_decode call in its operation 3"):
        render(SEGMENTED, "eager", finding=elsewhere)


def test_a_script_that_does_not_end_could_not_run(tmp_path: Path) -> None:
    path = tmp_path / "slow.py"
    path.write_text("import time\ntime.sleep(60)\n")
    assert run_script(path, timeout=0.5) is None
    path.write_text("raise SystemExit(1)\n")
    assert run_script(path) is None, "an exit code 1 without a verdict is no reproduction"
    path.write_text("raise SystemExit(2)\n")
    assert run_script(path) is None


def test_scripts_that_share_a_process_end_as_each_would_alone(tmp_path: Path) -> None:
    shown = {
        "print('The fault is there.')\nraise SystemExit(1)\n": True,
        "print('no fault')\n": False,
        "raise SystemExit(1)\n": None,
        "raise SystemExit('cannot run')\n": None,
        "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n": None,
        "import sys\nraise SystemExit(int(sys.argv[1] != 'tree' or 'campaigns' in sys.modules))\n": False,
        "import sibling\n": False,
    }
    (tmp_path / "sibling.py").touch()
    path = tmp_path / "script.py"
    runner = ScriptRunner()
    for source, verdict in [*shown.items(), *shown.items()]:
        path.write_text(source)
        assert runner.run(path, argument="tree") is verdict, source
        assert run_script(path, argument="tree") is verdict, source
    runner.close()
    assert runner.run(path) is None


# Releases


@pytest.mark.release
@pytest.mark.parametrize("name", KNOWN_BUGS)
def test_the_known_bugs_of_the_newest_release_are_shown_by_their_scripts(
    name: str, release: tuple[str, Path], tmp_path: Path
) -> None:
    version, folder = release
    path = tmp_path / f"{name}.py"
    script = _for_release(KNOWN_BUGS[name], version)
    path.write_text(script)
    done = ran(path, str(folder))
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"using SGLang {version} at {folder}" in done.stdout
    assert "page 0 is among the SWA pages that can be handed out" in done.stdout
    assert "The caller breaks the contract" in script
    assert_formatted(script, path)


@pytest.mark.release
@pytest.mark.parametrize("release", RELEASES, indirect=True)
def test_a_script_imports_each_release_without_its_dependencies(
    release: tuple[str, Path], tmp_path: Path
) -> None:
    version, folder = release
    path = tmp_path / "script.py"
    path.write_text(_for_release(KNOWN_BUGS["unaligned-tail"], version))
    # Found by its version in the cache, not by an argument.
    done = ran(path, KVORACLE_CACHE=str(folder.parent), PYTHONPATH="")
    assert (done.returncode, done.stderr) == (1, ""), done.stdout + done.stderr
    assert not list(tmp_path.rglob("*.pyc"))


@pytest.mark.release
@pytest.mark.parametrize("family", ["token", "paged"])
def test_a_release_that_does_as_the_contract_says_ends_with_zero(
    family: Any, release: tuple[str, Path], tmp_path: Path
) -> None:
    geometry = PAGED
    if family == "token":
        from oracle.geometry import Geometry

        geometry = Geometry(family="token", size=16, need_sort=True)
    subject = trace(geometry, *SEGMENTED.operations)
    path = tmp_path / "script.py"
    path.write_text(_for_release(subject, release[0], finding=False))
    done = ran(path, str(release[1]))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_script_without_its_release_says_where_it_looked(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(_for_release(KNOWN_BUGS["unaligned-tail"], "0.5.23"))
    _stub(tmp_path)
    assert_cannot_run(
        ran(path, KVORACLE_CACHE=str(tmp_path), PYTHONPATH=""),
        "SGLang 0.5.23 is neither installed here nor in",
    )
    assert_cannot_run(ran(path, str(tmp_path)), "is no unpacked SGLang wheel and no checkout")
    (tmp_path / "sglang" / "srt" / "mem_cache").mkdir(parents=True)
    assert_cannot_run(ran(path, str(tmp_path)), "this tree has no BaseSWAKVPool")


def test_an_installed_release_of_another_version_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(_for_release(KNOWN_BUGS["unaligned-tail"], "0.5.23"))
    _stub(tmp_path)
    package = tmp_path / "site" / "sglang"
    (package / "srt" / "mem_cache").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('the engine was started')\n")
    (package / "version.py").write_text("__version__ = '0.5.22'\n")
    variables = {"KVORACLE_CACHE": str(tmp_path), "PYTHONPATH": str(tmp_path / "site")}
    assert_cannot_run(ran(path, **variables), "SGLang 0.5.23 is neither installed")
    (package / "version.py").write_text("__version__ = '0.5.23'\n")
    done = ran(path, **variables)
    assert "using SGLang 0.5.23" in done.stdout, done.stdout + done.stderr


def test_a_script_without_torch_says_so(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(_for_release(KNOWN_BUGS["unaligned-tail"], "0.5.23"))
    _stub(tmp_path, torch="raise ImportError('no torch')\n")
    assert_cannot_run(ran(path), "torch cannot be imported here (no torch)")


def test_a_script_without_msgspec_says_so(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(_for_release(KNOWN_BUGS["unaligned-tail"], "0.5.23"))
    _stub(tmp_path, msgspec="raise ImportError('no msgspec')\n")
    (tmp_path / "sglang" / "srt" / "mem_cache").mkdir(parents=True)
    assert_cannot_run(ran(path, str(tmp_path)), "SGLang needs msgspec: install it (no msgspec)")


def _stub(folder: Path, **modules: str) -> None:
    """Modules that the scripts in the folder import instead of the real ones: an empty torch, and those named."""
    for name, source in {"torch": "float16 = None\n", **modules}.items():
        (folder / f"{name}.py").write_text(source)


def assert_cannot_run(done: Any, reason: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr == ""
    last = done.stdout.splitlines()[-1]
    assert last.startswith("cannot run: "), done.stdout
    assert reason in last


def _hazard(subject: Trace) -> Any:
    """What the judge says of a known bug; our own allocators have it too, because the contract says so."""
    return run_trace(subject, [make_target("eager")]).findings[0]


def _for_release(subject: Trace, version: str, *, finding: bool = True) -> str:
    """The script for a release, without running the release in this process (the contract is the same)."""
    found = _hazard(subject) if finding else None
    session = run_trace(subject, [make_target("eager")], keep_records=True)
    return render(subject, f"sglang=={version}", finding=found, session=session)
