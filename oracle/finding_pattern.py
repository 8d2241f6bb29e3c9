"""Patterns of findings: what a known bug or an accepted finding looks like, where its operations may differ.

Guarantees that a pattern looks at a finding's cause and method only, never at slots, targets or texts, so that a trace that was
reduced differently still matches.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from oracle.errors import UsageError
from oracle.finding import FINDING_KINDS, Finding
from oracle.geometry import ALL_FAMILIES
from oracle.legality import BREACHES


class FindingPattern(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One look that a finding may have. Each field lists alternatives; an empty one accepts everything.

    ``family``, ``kind``, ``quantity``, ``breach`` and ``method`` are as in ``Finding``; a breach of "" is a caller who kept the
    contract. A quantity or method that ends in ``*`` stands for whatever begins like that.
    """

    family: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    quantity: tuple[str, ...] = ()
    breach: tuple[str, ...] = ()
    method: tuple[str, ...] = ()

    def matches(self, finding: Finding) -> bool:
        """Whether the finding looks like this."""
        return (
            _among(finding.family, self.family)
            and _among(finding.kind, self.kind)
            and _among(finding.quantity, self.quantity)
            and _among(finding.breach, self.breach)
            and _among(finding.method, self.method)
        )

    def check(self, where: str) -> None:
        """Raise ``UsageError`` that begins with ``where`` when the pattern can match nothing, or would match everything."""
        for name, listed, known in (
            ("family", self.family, ALL_FAMILIES),
            ("kind", self.kind, FINDING_KINDS),
            ("breach", self.breach, ("", *BREACHES)),
        ):
            strange = [one for one in listed if one not in known]
            if strange:
                raise UsageError(f"{where}: there is no {name} {strange[0]!r}")
        if not self.kind or not self.quantity:
            raise UsageError(
                f"{where}: a pattern without kind and quantity matches nearly everything"
            )


def matches_any(finding: Finding, patterns: Iterable[FindingPattern]) -> bool:
    """Whether the finding looks like one of ``patterns``."""
    return any(pattern.matches(finding) for pattern in patterns)


def _among(value: str, alternatives: tuple[str, ...]) -> bool:
    if not alternatives:
        return True
    return any(
        value.startswith(one[:-1]) if one.endswith("*") else value == one for one in alternatives
    )
