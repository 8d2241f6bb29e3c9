"""What a broken law looks like. Guarantees that ``law`` is a stable kebab-case name: it is part of
a finding's signature.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

PoolName = Literal["full", "swa", "state", "device", ""]

LEGAL_CALL_RAISED = "legal-call-raised"
FAILED_CALL_CHANGES_NOTHING = "failed-call-changes-nothing"
RETURNED_SLOTS = "returned-slots"
PADDING_PAGE = "padding-page"
ONE_OWNER = "one-owner"
CONSERVATION = "conservation"
CAPACITY_WITHIN_SIZE = "capacity-within-size"
EVERYTHING_RETURNED = "everything-returned"
MAPPING_SUPPORT = "mapping-support"
MAPPING_INJECTIVE = "mapping-injective"
PAGE_OFFSET = "page-offset"
MAPPED_EQUALS_HELD = "mapped-equals-held"
CONTENT_FULL = "content-full"
CONTENT_SWA = "content-swa"

LAW_NAMES = (
    LEGAL_CALL_RAISED,
    FAILED_CALL_CHANGES_NOTHING,
    RETURNED_SLOTS,
    PADDING_PAGE,
    ONE_OWNER,
    CONSERVATION,
    CAPACITY_WITHIN_SIZE,
    EVERYTHING_RETURNED,
    MAPPING_SUPPORT,
    MAPPING_INJECTIVE,
    PAGE_OFFSET,
    MAPPED_EQUALS_HELD,
    CONTENT_FULL,
    CONTENT_SWA,
)
"""Every law, in no order of rank."""

IDENTITY_MAPPING = "identity-mapping"
RING_ACCOUNTING = "ring-accounting"
PAGE_CLASS = "page-class"
ROTATION = "rotation"

FAMILY_LAW_NAMES = (IDENTITY_MAPPING, RING_ACCOUNTING, PAGE_CLASS, ROTATION)
"""The laws that only some of the further families of fixed pools have, beside those of ``LAW_NAMES``
that apply to them."""


class Violation(Struct, frozen=True):
    """A law that does not hold: its name, the pool ("" where it is no single pool's), and what
    should and does stand there.

    ``got`` names the first offending slot or page, with its neighbours where it stands in a list.
    """

    law: str
    pool: PoolName
    expected: str
    got: str
