"""Ranges of supported releases: ``0.5.9..0.5.13``, both ends included, post-releases with the release that they patch.

Guarantees that a range names at least one supported release and that what it names is in the order of publication.
"""

from __future__ import annotations

from oracle.errors import UsageError
from targets.sglang.releases import NEWEST, RELEASES


def releases_in(text: str) -> tuple[str, ...]:
    """The releases of ``A..B``, ``A..``, ``..B``, ``A`` or several of these with commas between.

    A release without ``.postN`` at the upper end includes its post-releases. Raises ``UsageError``.
    """
    chosen: set[str] = set()
    for part in text.split(","):
        if not part.strip():
            raise UsageError(
                f"{text!r} names no release {'beside a comma' if ',' in text else 'at all'}: "
                "write one, or a range such as 0.5.14..0.5.20, on each side of a comma"
            )
        chosen.update(_range(part.strip()))
    return tuple(release for release in RELEASES if release in chosen)


def _range(part: str) -> tuple[str, ...]:
    first, dots, last = part.partition("..")
    if not dots:
        return (RELEASES[_place(first)],)
    start = _place(first) if first else 0
    end = _place(last) if last else len(RELEASES) - 1
    while end + 1 < len(RELEASES) and RELEASES[end + 1].startswith(f"{RELEASES[end]}.post"):
        end += 1
    if start > end:
        raise UsageError(f"the range {part!r} runs backwards: write the older release first")
    return RELEASES[start : end + 1]


def _place(release: str) -> int:
    if release not in RELEASES:
        raise UsageError(
            f"{release!r} is not among the supported releases ({RELEASES[0]} to {NEWEST})"
        )
    return RELEASES.index(release)


def spell(releases: tuple[str, ...]) -> str:
    """The releases as ranges, as short as possible: ``0.5.9..0.5.13, 0.5.17``; ``none`` for no release."""
    runs: list[list[int]] = []
    for place in sorted(RELEASES.index(release) for release in releases):
        if runs and runs[-1][1] + 1 == place:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    parts = [
        RELEASES[first] if first == last else f"{RELEASES[first]}..{RELEASES[last]}"
        for first, last in runs
    ]
    return ", ".join(parts) or "none"
