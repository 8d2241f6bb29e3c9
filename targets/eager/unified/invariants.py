"""What segment frees of unified allocators promise about the SWA side (contract_unified §9)."""

from __future__ import annotations

from oracle.contract import SEGMENT_BOUND, SEGMENT_RELEASED
from targets.eager.signals import Bucket
from targets.eager.unified.invariant_registry import declare

SEGMENT_BOUND_INVARIANT = declare(
    SEGMENT_BOUND,
    Bucket.FATAL_UNCONTAINABLE,
    "each page whose peer is given back has one",
)
SEGMENT_RELEASED_INVARIANT = declare(
    SEGMENT_RELEASED,
    Bucket.FATAL_UNCONTAINABLE,
    "pages freed on the FULL side alone have no peer left",
)
