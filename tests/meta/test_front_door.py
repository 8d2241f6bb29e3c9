"""``pytest tests/fuzz`` as a person calls it: what it says, what fails it, and what a file of known findings changes."""

import subprocess
import sys
from pathlib import Path

import pytest

from campaigns.options import LARGEST_SEED
from campaigns.output_folder import folder_name

ROOT = Path(__file__).parents[2]
MUTANT = "mutant:capacity-off-by-one"
KNOWN = """
[[known]]
id = "off-by-one"
targets = ["mutant:capacity-off-by-one"]
reason = "planted"
link = "none"
expires = 2999-01-01
trace = '{"version": 1, "geometry": {"family": "paged", "size": 4, "page_size": 4}, "callers": "legal", "operations": [{"kind": "alloc", "unit": "left"}]}'
looks = [{ family = ["paged"], kind = ["divergence", "law"], quantity = ["returned", "full.free"] }]
"""

pytest.importorskip("torch", reason="the target is a mutant of eager")


def _fuzz(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "tests/fuzz", "-q", "-p", "no:xdist"),
            *("-o", f"cache_dir={folder}", "--fuzz-callers", "legal", "--fuzz-family", "paged"),
            *("--fuzz-profile", "pr", "--target", *words),
        ],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
def test_a_fault_fails_with_its_trace_and_a_known_one_does_not(tmp_path: Path) -> None:
    failed = _fuzz(tmp_path, MUTANT)
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert f"on {MUTANT}: expected" in failed.stdout
    assert f"kvoracle replay {tmp_path}" in failed.stdout
    assert f"/{folder_name(MUTANT)}/" in failed.stdout, "another target has the same signatures"
    known = tmp_path / "known.toml"
    known.write_text(KNOWN)
    passed = _fuzz(tmp_path, MUTANT, "--fuzz-known", str(known))
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert "1 passed" in passed.stdout


def test_a_file_of_known_findings_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    known = tmp_path / "known.toml"
    known.write_text("[[known]]\nid = 3\n")
    for file in (known, tmp_path / "absent.toml"):
        run = _fuzz(tmp_path, MUTANT, "--fuzz-known", str(file))
        said = run.stdout + run.stderr
        assert run.returncode == 4, said
        assert str(file) in said
        assert "Traceback" not in said


@pytest.mark.parametrize("seed", ["-1", str(LARGEST_SEED + 1), "one"])
def test_a_seed_that_the_command_refuses_is_refused(
    seed: str, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = pytestconfig._parser
    with pytest.raises(pytest.UsageError, match=f"--fuzz-seed: a seed is .* not '{seed}'"):
        parser.parse([f"--fuzz-seed={seed}"])
    good = parser.parse([f"--fuzz-seed={LARGEST_SEED}"])
    assert good.fuzz_seed == LARGEST_SEED
