"""Invariants by name, so that no two of them can share one (contract_unified §9, §11 B5).

Guarantees that declaring the same invariant again (its module is imported once more) is accepted, and a conflicting declaration
refused. This module is imported once; the declarations may be reloaded.
"""

from __future__ import annotations

from targets.eager.signals import Bucket, Invariant

_DECLARED: dict[str, Invariant] = {}


def declare(name: str, bucket: Bucket, promise: str) -> Invariant:
    """The invariant of that name. Raises ValueError when it was declared otherwise before."""
    invariant = Invariant(name, bucket, promise)
    declared = _DECLARED.setdefault(name, invariant)
    # Buckets are compared by name: a reload of their module makes other, equal ones.
    if (declared.bucket.name, declared.promise) != (bucket.name, promise):
        raise ValueError(
            f"the invariant {name!r} is declared already, as {declared.bucket.name}: "
            f"{declared.promise!r}; choose another name for {promise!r}"
        )
    return declared
