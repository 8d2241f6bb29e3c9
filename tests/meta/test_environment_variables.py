"""A misspelt variable of ours is an error, and every variable that code or documents name is a known one."""

import os
import re
import subprocess
import sys
from pathlib import Path

from campaigns.variables import KNOWN_VARIABLES

ROOT = Path(__file__).parents[2]
ROOMS = ("oracle", "strategies", "targets", "campaigns")
OURS = re.compile(r"\bKVORACLE_[A-Z0-9]+(?:_[A-Z0-9]+)*\b")


def _collect(**variables: str) -> subprocess.CompletedProcess[str]:
    """Let pytest start and collect one small file, with no variables of ours but the given ones."""
    inherited = {name: value for name, value in os.environ.items() if not OURS.fullmatch(name)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/meta/test_house.py"],
        cwd=ROOT,
        env={**inherited, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_misspelt_variable_stops_pytest_with_one_sentence_that_names_the_right_one() -> None:
    run = _collect(KVORACLE_CACHEE="somewhere")
    said = run.stdout + run.stderr
    assert run.returncode == 4, said
    assert "KVORACLE_CACHEE means nothing: did you mean KVORACLE_CACHE?" in said
    assert "Traceback" not in said


def test_a_misspelt_variable_stops_every_command_with_one_sentence() -> None:
    for arguments in (["targets"], ["fuzz", "eager", "--examples", "1"], ["fetch"]):
        run = subprocess.run(
            [sys.executable, "-m", "campaigns", *arguments],
            cwd=ROOT,
            env={**os.environ, "KVORACLE_CASH": "somewhere"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 2, run.stdout + run.stderr
        assert run.stdout == ""
        assert run.stderr.startswith("kvoracle: the environment variable KVORACLE_CASH means ")
        assert run.stderr.count("\n") == 1


def test_a_known_variable_stops_nothing() -> None:
    run = _collect(KVORACLE_CACHE="somewhere")
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_variable_that_the_code_or_a_document_names_is_known() -> None:
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    code = [
        path for room in ROOMS for path in (ROOT / room).rglob("*") if path.suffix in {".py", ".j2"}
    ]
    named = {
        (name, str(path.relative_to(ROOT)))
        for path in (*documents, *code)
        for name in OURS.findall(path.read_text())
    }
    assert named, "no variable was found anywhere, so nothing was checked"
    unknown = sorted(f"{path}: {name}" for name, path in named if name not in KNOWN_VARIABLES)
    assert not unknown, "campaigns/variables.py does not know these:\n" + "\n".join(unknown)
