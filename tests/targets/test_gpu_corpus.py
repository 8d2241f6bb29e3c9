"""The program for a GPU runs on a CPU too, and says what it did."""

from __future__ import annotations

import gpu_corpus
import pytest
from fused_bench import interpreted

from targets.fused import memory


@pytest.mark.parametrize("more", [[], ["--sanitized"]])
def test_it_counts_what_it_judged(
    more: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreted()
    monkeypatch.setattr(memory, "_guarded", True)
    monkeypatch.delenv("PYTORCH_NO_CUDA_MEMORY_CACHING", raising=False)
    assert gpu_corpus.main(["--device", "cpu", "--traces", "3", *more]) == 0
    assert capsys.readouterr().out.startswith("3 traces, ")
