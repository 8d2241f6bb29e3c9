"""Two campaigns that save into one folder at the same time leave whole files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from oracle.trace import read_trace

KVORACLE = (sys.executable, "-m", "campaigns")
PAGED = (
    "--family", "paged", "--callers", "legal", "--format", "json", "--examples", "40",
)  # fmt: skip


@pytest.mark.long
def test_two_runs_at_once_share_a_folder(environment: dict[str, str], tmp_path: Path) -> None:
    running = [
        subprocess.Popen(
            [*KVORACLE, "fuzz", "mutant:capacity-off-by-one", *PAGED, "--seed", seed],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in ("5", "5")
    ]
    documents = [json.loads(process.communicate(timeout=300)[0]) for process in running]
    assert [process.returncode for process in running] == [1, 1]
    assert documents[0] == documents[1]
    folder = tmp_path / "kvoracle-findings"
    for finding in documents[0]["targets"][0]["families"][0]["findings"]:
        assert finding["reproduced"]
        assert read_trace(tmp_path / finding["trace"]).operations
    assert not [path for path in folder.iterdir() if path.name.startswith(".")], (
        "no drafts are left"
    )
