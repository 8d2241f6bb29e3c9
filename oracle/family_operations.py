"""The operations that only some families of fixed pools know (contract_paged_swa §6 to §9); the groups of states at the end
are known to the unified families with states too (contract_unified §10).

What ``oracle.operations`` says of fields holds here too.
"""

from __future__ import annotations

from msgspec import Struct

from oracle.operation_base import Base, Unit


class LogicalExtend(Base, frozen=True, tag="logical-extend"):
    """A request grows by slots that have no place on the device: ``alloc_logical_only`` (§7)."""

    request: int = 0
    amount: int = 0
    unit: Unit = "tokens"


class DeviceBuffer(Base, frozen=True, tag="device-buffer"):
    """The places on the device of ``pages`` + 1 pages of a row from ``page`` on become a buffer of ``need`` + 1 device pages,
    which the request holds from then on. ``odd`` slots are added to what is asked for, which the contract refuses."""

    request: int = 0
    page: int = 0
    pages: int = 0
    need: int = 0
    odd: int = 0


class FreeDeviceBuffer(Base, frozen=True, tag="free-device-buffer"):
    """A device buffer goes back: the ``buffer``-th newest one. ``again`` gives back the one that went back last; with
    ``padding`` slots of the padding page are named too."""

    buffer: int = 0
    again: bool = False
    wide: bool = False
    overwrite: bool = False
    padding: bool = False


class FreeDevice(Base, frozen=True, tag="free-device"):
    """The places on the device of ``count`` + 1 slots of a row go back, and the row lives on: ``free_hisparse`` (§7)."""

    request: int = 0
    first: int = 0
    count: int = 0
    wide: bool = False
    overwrite: bool = False


class SpecScratch(Base, frozen=True, tag="spec-scratch"):
    """The scratch pages of speculative decoding are set up: ``cap`` and ``buffer`` pages, each less ``odd`` slots (§7.1)."""

    cap: int = 0
    buffer: int = 0
    odd: int = 0


class SlotReserve(Base, frozen=True, tag="slot-reserve"):
    """The question how much a request slot reserves on the device, for a prefill of ``amount`` slots (§7.1)."""

    amount: int = 0
    held: bool = False


class RotatedPart(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One request of a batch: 0 is a new request, k the k-th newest live one; it grows by ``amount``. ``base``: 0 leaves the
    class of its first page open, k starts a new request with class k - 1; one that has pages keeps to its own, unless ``moved``."""

    request: int = 0
    amount: int = 0
    unit: Unit = "pages"
    base: int = 0
    moved: bool = False


class RotatedExtend(Base, frozen=True, tag="rotated-extend"):
    """Several requests grow in one ``alloc_extend``, their pages taken from the classes in turn (§9)."""

    parts: tuple[RotatedPart, ...] = (RotatedPart(),)


class AllocCyclic(Base, frozen=True, tag="alloc-cyclic"):
    """A new request gets ``amount`` from ``alloc_cyclic``, from class ``start`` on (§9)."""

    start: int = 0
    amount: int = 0
    unit: Unit = "pages"


class AllocGroupBegin(Base, frozen=True, tag="alloc-group-begin"):
    """``amount`` states are taken out in advance (§8; contract_unified §10). ``nested``: without giving back what an earlier one
    has left."""

    amount: int = 0
    unit: Unit = "tokens"
    nested: bool = False


class AllocGroupEnd(Base, frozen=True, tag="alloc-group-end"):
    """What is left of the states that were taken out goes back (§8; contract_unified §10)."""
