"""The names of the laws that rows with cursors have beside those of every hybrid allocator (contract_paged_swa §11)."""

from __future__ import annotations

CURSOR_RISES = "cursor-rises"
EVICTED_ABOVE_FLOOR = "evicted-above-floor"
WINDOW_KEPT = "window-kept"

ROW_LAW_NAMES = (CURSOR_RISES, EVICTED_ABOVE_FLOOR, WINDOW_KEPT)
"""All of them."""
