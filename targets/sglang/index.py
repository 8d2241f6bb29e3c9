"""Ask the package index for one wheel, through pip, and check it against the index's hash.

pip is run as a program, so that a person's own index, proxy and certificates are the ones used.
A wheel for another Python version or platform does as well as the running one's, because only its
`.py` files are ever read: the running version is asked for first, then others.

Guarantees: the file returned has the sha256 that the index stated for it, compared here and not
only by pip. Where an index states none, pip's report holds the hash of what pip itself got when it
was first asked, so only a change between the two downloads is noticed. Does not guarantee anything
about what the index serves.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import msgspec

from oracle.errors import TargetUnavailable

_LINUX = ("manylinux_2_34_x86_64", "manylinux_2_28_x86_64", "manylinux2014_x86_64")


class Wheel(NamedTuple):
    """A wheel on this disk and its verified hash."""

    file: Path
    sha256: str


def _other_python(version: str) -> tuple[str, ...]:
    tag = "cp" + version.replace(".", "")
    platforms = [option for name in _LINUX for option in ("--platform", name)]
    wheel = ("--python-version", version, "--implementation", "cp", "--abi", tag)
    return (*wheel, *platforms)


# What to ask pip for, in turn: the running Python, then wheels that need not run here.
ATTEMPTS: tuple[tuple[str, ...], ...] = (
    (),
    *(_other_python(version) for version in ("3.12", "3.11", "3.13", "3.10")),
)


_NOTHING = "(from versions: none)"


class _Archive(msgspec.Struct):
    hashes: dict[str, str] = {}


class _Download(msgspec.Struct):
    url: str
    archive_info: _Archive | None = None


class _Item(msgspec.Struct):
    download_info: _Download


class _Report(msgspec.Struct):
    install: list[_Item]


def download(version: str, into: Path) -> Wheel:
    """The wheel of that SGLang release, downloaded into the folder and verified.

    Raises:
        TargetUnavailable: no such release, no index, no hash, a wrong hash, or no pip.
    """
    complaints: list[str] = []
    for options in ATTEMPTS:
        found, output = _report(version, options, into)
        if found is not None:
            return _verified(version, options, found, into)
        complaints.append(output)
        if _hopeless(output):
            break
    # An index that has no wheel for the running Python at all looks like no index; one that
    # listed other versions to any attempt was there.
    answered = [output for output in complaints if _NOTHING not in output]
    raise _refusal(version, (answered or complaints)[0])


def _pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", *arguments]
    limits = ["--disable-pip-version-check", "--no-input", "--retries", "1"]
    return subprocess.run([*command, *limits], capture_output=True, text=True, check=False)


def _wanted(version: str, options: tuple[str, ...]) -> list[str]:
    return ["--no-deps", "--only-binary=:all:", *options, f"sglang=={version}"]


def _report(version: str, options: tuple[str, ...], into: Path) -> tuple[_Download | None, str]:
    """What the index offers and its hash, or None and what pip said instead."""
    file = into / "report.json"
    nothing = ["--target", str(into / "nothing"), "--ignore-installed"]
    done = _pip(
        "install", "--dry-run", "--quiet", "--report", str(file), *nothing,
        *_wanted(version, options),
    )  # fmt: skip
    if done.returncode != 0:
        return None, done.stderr
    report = msgspec.json.decode(file.read_bytes(), type=_Report)
    return report.install[0].download_info, ""


def _verified(version: str, options: tuple[str, ...], found: _Download, into: Path) -> Wheel:
    stated = found.archive_info.hashes.get("sha256") if found.archive_info is not None else None
    if stated is None:
        raise TargetUnavailable(
            f"there is no sha256 to check sglang=={version} against: "
            "use another index, or unpack the wheel yourself and use sglang@PATH"
        )
    folder = into / "wheels"
    done = _pip("download", "--quiet", "--dest", str(folder), *_wanted(version, options))
    if done.returncode != 0:
        raise _refusal(version, done.stderr)
    file = next(folder.glob("*.whl"))
    actual = hashlib.sha256(file.read_bytes()).hexdigest()
    if actual != stated:
        raise TargetUnavailable(
            f"{file.name} has sha256 {actual} and the package index states {stated}: "
            "it was damaged or replaced on the way, so it is not used; try again"
        )
    return Wheel(file, actual)


def _hopeless(output: str) -> bool:
    """Whether asking for another Python's wheel would only wait once more."""
    return "Retrying (" in output or "No module named pip" in output


def _refusal(version: str, output: str) -> TargetUnavailable:
    """One sentence for what pip printed on its standard error."""
    if "No module named pip" in output:
        return TargetUnavailable(
            f"sglang=={version} cannot be fetched, because this Python has no pip: "
            f"run {sys.executable} -m ensurepip, or use --cache DIR with a fetched release in it"
        )
    if "DO NOT MATCH THE HASHES" in output:
        return TargetUnavailable(
            f"the wheel of sglang=={version} does not have the hash that the package index "
            "states: it was damaged or replaced on the way, so it is not used; try again"
        )
    if _NOTHING in output:
        return TargetUnavailable(
            f"sglang=={version} cannot be fetched, because no package index that has sglang "
            "answered: check the network, or copy a fetched release here "
            "(kvoracle fetch --into DIR where there is one) and use --cache DIR"
        )
    if "No matching distribution" in output:
        return TargetUnavailable(
            f"the package index has no wheel of sglang=={version}: "
            "check the version, or use sglang@PATH"
        )
    errors = re.findall(r"^ERROR: (.+)$", output, re.MULTILINE)
    reason = errors[-1] if errors else (output.strip().splitlines() or ["no message"])[-1]
    return TargetUnavailable(f"pip cannot fetch sglang=={version}: {reason}")
