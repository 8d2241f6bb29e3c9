"""What ran: the versions and switches that the first line of a run states, so that it can be run again.

Guarantees to import neither torch nor a release: versions come from the installed distributions' metadata.
"""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import campaigns
from campaigns.campaign_options import CampaignOptions

UNINSTALLED = "0+checkout"


def own_version() -> str:
    """The version of kvoracle."""
    return _version_of("kvoracle") or UNINSTALLED


def identity_of_code() -> str:
    """The versions of kvoracle and Python, with the commit where this is a checkout."""
    parts = [f"kvoracle {own_version()}"]
    commit = _commit()
    if commit:
        parts.append(f"commit {commit}")
    parts.append(f"Python {platform.python_version()}")
    return ", ".join(parts)


def first_line(options: CampaignOptions) -> str:
    """Everything that a campaign depends on but its targets' own versions, which are known once they are made."""
    parts = [identity_of_code()]
    for package in ("hypothesis", "msgspec", "torch"):
        parts.append(f"{package} {_version_of(package) or 'not installed'}")
    return ", ".join([*parts, f"device {options.device}", *options.switches])


def versions_line(target: str, versions: dict[str, str]) -> str:
    """The versions of what a target runs."""
    listed = ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
    return f"{target}: {listed}" if listed else target


def note_lines(target: str, notes: Sequence[str]) -> list[str]:
    """What a target assumes, a line for each note."""
    return [f"note on {target}: {' '.join(note.split())}" for note in notes]


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _commit() -> str:
    root = Path(next(iter(campaigns.__path__))).parent
    if not (root / ".git").exists():
        return ""
    try:
        found = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()
