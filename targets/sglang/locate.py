"""From what a person wrote to the `sglang` folder that it means."""

from __future__ import annotations

from pathlib import Path

from targets.sglang.checkout import find_installed, find_package
from targets.sglang.fetch import fetch_release
from targets.sglang.releases import Specification


def locate(specification: Specification, cache: Path | None = None) -> Path:
    """The `sglang` folder of the release (fetched if need be), checkout or installation.

    Raises:
        TargetUnavailable: it cannot be had.
    """
    if specification.release is not None:
        return find_package(fetch_release(specification.release, cache))
    if specification.path is not None:
        return find_package(specification.path)
    return find_installed()
