"""What every operation is built on: a tagged struct of plain data, and how its amounts are read."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Unit = Literal["tokens", "pages", "edge", "left"]
"""How an ``amount`` is read: slots; whole pages; whole pages and one slot more or less; what is left, exactly or nearly."""


class Base(Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", omit_defaults=True):
    """The base of every operation: plain data, one JSON object with a ``kind``."""
