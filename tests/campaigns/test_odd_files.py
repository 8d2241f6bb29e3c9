"""What is written over or read from is not always a plain file: links, pipes, and what cannot be a file's name."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaigns.command_line import main
from campaigns.output_folder import OutputFolder, folder_name, write_whole
from oracle.errors import UsageError
from oracle.finding import Finding, signature
from oracle.geometry import Geometry
from oracle.operations import Alloc
from oracle.trace import LARGEST_FILE, Trace, decode_trace, encode_trace, read_trace


def test_a_pipe_is_written_into_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_whole(pipe, b"the text")
    reader.join(30)
    assert pipe.is_fifo(), "a device must not be replaced by a file either"
    assert heard == [b"the text"]
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"], "nothing is left beside it"


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    link, file = tmp_path / "link", tmp_path / "below" / "file"
    link.symlink_to(file)
    write_whole(link, b"first")
    write_whole(link, b"second")
    assert link.is_symlink()
    assert file.read_bytes() == b"second"


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(OSError, match="symbolic links"):
        write_whole(loop, b"text")
    assert loop.is_symlink()


def test_a_trace_without_an_end_is_read_to_the_limit_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oracle.trace.LARGEST_FILE", 1 << 20)
    assert LARGEST_FILE > 1 << 20
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def pour() -> None:
        with pipe.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b" " * 65536)
            except BrokenPipeError:
                pass

    threading.Thread(target=pour, daemon=True).start()
    with pytest.raises(UsageError, match="larger than 1 MiB"):
        read_trace(pipe)


def test_a_trace_may_come_through_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    trace = Trace(geometry=Geometry(family="token", size=8))
    threading.Thread(target=lambda: pipe.write_bytes(encode_trace(trace)), daemon=True).start()
    assert read_trace(pipe) == trace


def test_a_folder_whose_name_is_too_long_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        OutputFolder(Path("a" * 300), ["eager"])


@pytest.mark.parametrize(
    "targets",
    [
        ("sglang@/tmp/a/b", "sglang@/tmp/a-b"),
        ("sglang@/tmp/A b", "sglang@/tmp/a b"),
        ("sglang@/tmp/é", "sglang@/tmp/è"),
        ("sglang@/" + "long/" * 60 + "a", "sglang@/" + "long/" * 60 + "b"),
        ("sglang@/" + "ü" * 300, "sglang@/\udcff"),
        ("mutant:one", folder_name("mutant:one")),
        ("..", "."),
        ("p" * 300, "p" * 301),
    ],
)
def test_each_target_has_a_folder_of_its_own(targets: tuple[str, str], tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "out", list(targets))
    files = [folder.file(target, "finding.json") for target in targets]
    for file, target in zip(files, targets, strict=True):
        write_whole(file, target.encode(errors="surrogatepass"))
    assert [file.read_bytes() for file in files] == [
        target.encode(errors="surrogatepass") for target in targets
    ]
    assert {file.parent.parent for file in files} == {tmp_path / "out"}
    assert len({file.parent.name.lower() for file in files}) == 2, "some systems know no case"


@pytest.mark.parametrize("target", ["eager", "sglang", "sglang==0.5.23", "sglang==0.5.10.post1"])
def test_a_plain_target_names_its_folder(target: str) -> None:
    assert folder_name(target) == target


TEXT = b'{"geometry": {"family": "token", "size": 8}, "note": "%s"}'


@pytest.mark.parametrize(
    ("escaped", "half"),
    [
        (rb"\ud800", r"\ud800"),
        (rb"\ud800x", r"\ud800"),
        (rb"\udc00", r"\udc00"),
        (rb"\ud800\ud800", r"\ud800"),
        (rb"\ud83d\ude00\n\udc01", r"\udc01"),
        (rb"\ud83d \ude00", r"\ud83d"),
        (rb"\\\ud800", r"\ud800"),
    ],
)
def test_half_a_character_in_a_note_is_named(escaped: bytes, half: str) -> None:
    with pytest.raises(UsageError) as refused:
        decode_trace(TEXT % escaped)
    sentence = f"the trace is not a trace: a text in it has {half}, which is half of a character"
    assert str(refused.value) == sentence


@pytest.mark.parametrize("escaped", [rb"\u12", rb"\\ud800\u12", rb"\ud83d\ude00\u12"])
def test_what_is_wrong_in_another_way_is_said_as_it_is(escaped: bytes) -> None:
    with pytest.raises(UsageError, match="unicode escape"):
        decode_trace(TEXT % escaped)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device here is always full")
@pytest.mark.parametrize(
    ("arguments", "streams", "said"),
    [
        ("targets", ">/dev/full", "kvoracle: standard output cannot be written: No space"),
        ("nonsense", "2>/dev/full", ""),
        ("targets", ">/dev/full 2>&1", ""),
    ],
)
def test_a_full_disk_behind_the_output_is_no_finding(
    arguments: str, streams: str, said: str, environment: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m campaigns {arguments} {streams}', sys.executable],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, "1 would mean findings"
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == bool(said)


def _finding(quantity: str, target: str = "eager") -> Finding:
    return Finding(
        family="token",
        kind="crash",
        quantity=quantity,
        index=0,
        operation="alloc",
        method="alloc",
        expected="no such exception",
        got="",
        target=target,
    )


@pytest.mark.parametrize("letter", ["x", "é", "日", "𝕏"])
def test_a_signature_fits_whatever_a_target_says(letter: str, tmp_path: Path) -> None:
    names = {signature(_finding("crash:" + letter * count), (Alloc(),)) for count in (300, 301)}
    assert len(names) == 2
    for name in names:
        (tmp_path / f"{name}.json").touch()
        assert len(name.encode()) <= 100
        assert name.startswith(f"token.crash.crash-{letter}")


@pytest.mark.parametrize("place", ["loop", "a" * 300, "~nobody-of-that-name/x"])
def test_a_checkout_that_cannot_be_reached_is_refused_in_one_sentence(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    trace = Trace(geometry=Geometry(family="token", size=8))
    Path("trace.json").write_bytes(encode_trace(trace))
    result = CliRunner().invoke(main, ["replay", "trace.json", f"sglang@{place}"])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"kvoracle: sglang@{place} cannot be read: ")
    assert result.stderr.count("\n") == 1


def test_a_reader_that_goes_away_is_no_finding(environment: dict[str, str], tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "campaigns", "targets"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 2, "1 would mean findings"


@pytest.mark.parametrize("closed", [(1,), (2,), (1, 2)])
def test_a_campaign_needs_no_open_output(
    closed: tuple[int, ...], environment: dict[str, str], tmp_path: Path
) -> None:
    arguments = ["fuzz", "eager", "--examples", "1", "--family", "token", "--callers", "legal"]
    closing = " ".join(f"{number}>&-" for number in closed)
    command = f'exec "$0" -m campaigns "$@" {closing}'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, *arguments],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_what_goes_wrong_in_the_command_itself_is_one_sentence_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(_path: Path) -> Trace:
        raise LookupError("a table\nhas a hole")

    monkeypatch.setattr("campaigns.bisect_command.read_trace", fail)
    result = CliRunner().invoke(main, ["bisect", "trace.json"])
    assert result.exit_code == 2
    assert result.stderr.startswith("kvoracle: kvoracle itself failed: LookupError: a table has a ")
    assert result.stderr.count("\n") == 1
    details = Path(result.stderr.rsplit(" in ", 1)[1].strip().rstrip(")"))
    assert "Traceback" in details.read_text()
    details.unlink()
