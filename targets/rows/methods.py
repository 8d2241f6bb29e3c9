"""The names of the family with rows and of its calls that are none of an allocator."""

from __future__ import annotations

from oracle.geometry import Family

ROWS_FAMILY: Family = "hybrid-rows"
"""A hybrid allocator with a row layer on top."""

ROW_METHODS = frozenset({"evict_out_of_window", "free_row_segments", "free_row"})
"""The methods of ``Call`` that go to the layer."""
