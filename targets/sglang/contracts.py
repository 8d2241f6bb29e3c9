"""Which contract a release follows for each family (contract_paged_swa §13)."""

from __future__ import annotations

from oracle.contract import Contract, current_contract
from targets.sglang.release import Release


def contract_of(release: Release, family: str) -> Contract | None:
    """The contract of ``release`` for ``family``."""
    return current_contract(family, power_of_two_pages=release.kernels in ("interpreter", "gpu"))
