"""The reference allocators of the unified families, written from their contract (contract_unified)."""

from oracle.unified.prediction import UnifiedReference

__all__ = ["UnifiedReference"]
