"""The folder into which a campaign saves its findings: each a trace and a script, whole or not at all.

Guarantees that a file never has half its content, also when two campaigns save into one folder. With one target the files lie in
the folder itself, with several in a folder for each: no two targets share one, and no name is too long for a file system.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from pathlib import Path

from oracle.errors import UsageError, reason_of

PLAIN_NAME = re.compile(r"[A-Za-z0-9_=][A-Za-z0-9._=-]*")
LONGEST_NAME = 100
"""Characters of a folder's name that come from the target's; file systems take 143 bytes or more."""


class OutputFolder:
    """The folder ``path`` of a campaign on ``targets``. Raises ``UsageError`` at once when it cannot be written."""

    def __init__(self, path: Path, targets: list[str]) -> None:
        self.path = path
        self._targets = targets
        try:
            self._made = not path.exists()
            path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
        except OSError as error:
            raise UsageError(
                f"the output directory {path} cannot be written ({reason_of(error)}): "
                "name another with --out"
            ) from error

    def file(self, target: str, name: str) -> Path:
        """Where the file ``name`` of ``target`` lies."""
        folder = self.path if len(self._targets) == 1 else self.path / folder_name(target)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def leave(self) -> None:
        """Take the folder away again if it was made for this campaign and nothing was saved."""
        if self._made:
            with contextlib.suppress(OSError):
                self.path.rmdir()


def write_whole(path: Path, data: bytes) -> None:
    """Write the file so that a reader sees all of it or what was there before. Raises ``OSError``.

    A symbolic link is followed. Into what is no regular file (a device, a pipe) the data is written: another file must not take
    its place.
    """
    path = _followed(path)
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=path.suffix)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(draft).chmod(0o644)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def folder_name(target: str) -> str:
    """A folder's name for ``target`` that no other target has: its own where that is plain, else its plain letters and a digest."""
    if PLAIN_NAME.fullmatch(target) and len(target) <= LONGEST_NAME:
        return target
    plain = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-._=") else "-"
        for letter in target[:LONGEST_NAME].lstrip(".-")
    )
    # What no plain name has stands before the digest; the digest also tells apart what differs in case alone. A name
    # from the command line may hold bytes that are no text.
    digest = hashlib.sha256(target.encode(errors="surrogatepass")).hexdigest()[:12]
    return f"{plain}+{digest}"


def _followed(path: Path) -> Path:
    """Where links lead, whether or not there is anything. Raises ``OSError`` for a loop of links."""
    with contextlib.suppress(FileNotFoundError):
        return Path(os.path.realpath(path, strict=True))
    return Path(os.path.realpath(path))
