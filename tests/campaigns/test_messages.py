"""Whatever a target says survives the way through the pipe."""

from __future__ import annotations

import msgspec
import pytest

from campaigns.messages import (
    Broken,
    Discovered,
    Event,
    Exported,
    Reduced,
    Refused,
    Replayed,
    Started,
    decode_event,
    encode_line,
)
from oracle.finding import Finding
from oracle.geometry import Geometry
from oracle.operations import Alloc, Release
from oracle.trace import Trace

STRANGE = "a \ud800 b"
SPELT = "a \\ud800 b"
TRACE = Trace(geometry=Geometry(family="token", size=16), operations=(Alloc(), Release()))


class Version(str):
    """A string of a kind of its own, as torch's version is."""

    __slots__ = ()


def _finding(got: str) -> Finding:
    return Finding(
        family="token", kind="crash", quantity=got, index=0, operation="alloc", method="alloc",
        expected="no such exception", got=got, target="a", versions={got: Version("1.0")},
    )  # fmt: skip


def _events(text: str) -> list[Event]:
    return [
        Started({text: Version(text)}, ("token",), (text,)),
        Discovered(_finding(text), TRACE),
        Reduced(finding=_finding(text), trace=TRACE, signature=text, calls=(text,), script=text),
        Replayed(0, "alloc", text, (text, "plain")),
        Exported(text),
        Refused(text),
        Broken(text, text, ours=False),
    ]


@pytest.mark.parametrize("number", range(len(_events(""))))
def test_text_without_an_encoding_arrives_spelt_out(number: int) -> None:
    line = encode_line(_events(STRANGE)[number])
    assert line.count(b"\n") == 1
    heard = decode_event(line)
    assert msgspec.to_builtins(heard) == msgspec.to_builtins(_events(SPELT)[number], enc_hook=str)


@pytest.mark.parametrize("number", range(len(_events(""))))
def test_any_other_text_arrives_as_it_was(number: int) -> None:
    said = _events("ä 😀 \x00 \n '\"")[number]
    heard = decode_event(encode_line(said))
    assert msgspec.to_builtins(heard) == msgspec.to_builtins(said, enc_hook=str)
