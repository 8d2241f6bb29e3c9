"""The vocabulary: one frozen struct for each thing a caller does, and the table of all of them.

Operations name requests and positions in their rows by wide integers taken modulo what is live, newest first (0 is the
newest request), so that a trace keeps its meaning on any target and after any earlier operation is deleted.
``oracle.caller`` turns an operation into calls. Raw slots appear only where the fault under test is about them.

Common fields: ``request`` (which live request), ``page``/``pages`` (which pages of its row: a start, and how many beyond
the first), ``first``/``count`` (the same in slots), ``wide`` (int64 index tensors rather than int32 rows),
``overwrite`` (the caller overwrites the tensor it has just passed).
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from oracle.family_operations import AllocCyclic as AllocCyclic
from oracle.family_operations import AllocGroupBegin as AllocGroupBegin
from oracle.family_operations import AllocGroupEnd as AllocGroupEnd
from oracle.family_operations import DeviceBuffer as DeviceBuffer
from oracle.family_operations import FreeDevice as FreeDevice
from oracle.family_operations import FreeDeviceBuffer as FreeDeviceBuffer
from oracle.family_operations import LogicalExtend as LogicalExtend
from oracle.family_operations import RotatedExtend as RotatedExtend
from oracle.family_operations import RotatedPart as RotatedPart
from oracle.family_operations import SlotReserve as SlotReserve
from oracle.family_operations import SpecScratch as SpecScratch
from oracle.free_operations import Arrangement as Arrangement
from oracle.free_operations import EmptyFree as EmptyFree
from oracle.free_operations import Evict as Evict
from oracle.free_operations import Free as Free
from oracle.free_operations import FreeMethod as FreeMethod
from oracle.free_operations import FreePages as FreePages
from oracle.free_operations import FreeSegment as FreeSegment
from oracle.free_operations import FreeSegments as FreeSegments
from oracle.free_operations import PluralMethod as PluralMethod
from oracle.free_operations import RawFree as RawFree
from oracle.free_operations import Release as Release
from oracle.free_operations import SegmentArrangement as SegmentArrangement
from oracle.free_operations import SegmentMethod as SegmentMethod
from oracle.free_operations import SetMethod as SetMethod
from oracle.free_operations import StaleFree as StaleFree
from oracle.operation_base import Base as Base
from oracle.operation_base import Unit as Unit
from oracle.row_operations import EvictNode as EvictNode
from oracle.row_operations import EvictNodePeers as EvictNodePeers
from oracle.row_operations import EvictWindow as EvictWindow
from oracle.row_operations import FreeRowSegments as FreeRowSegments
from oracle.row_operations import HitPrefix as HitPrefix
from oracle.row_operations import Insert as Insert
from oracle.row_operations import InsertAgain as InsertAgain
from oracle.row_operations import LoadNode as LoadNode
from oracle.row_operations import OverAllocate as OverAllocate
from oracle.row_operations import RecoverNode as RecoverNode
from oracle.row_operations import ReleaseRow as ReleaseRow
from oracle.row_operations import RollBack as RollBack
from oracle.unified_operations import BandTranslate as BandTranslate
from oracle.unified_operations import BeginForward as BeginForward
from oracle.unified_operations import BindReserved as BindReserved
from oracle.unified_operations import CancelReserved as CancelReserved
from oracle.unified_operations import Capacity as Capacity
from oracle.unified_operations import EvictForAlloc as EvictForAlloc
from oracle.unified_operations import FinishLoad as FinishLoad
from oracle.unified_operations import FireEvent as FireEvent
from oracle.unified_operations import Flush as Flush
from oracle.unified_operations import FlushDeferred as FlushDeferred
from oracle.unified_operations import Gate as Gate
from oracle.unified_operations import MakeRoom as MakeRoom
from oracle.unified_operations import Reserve as Reserve
from oracle.unified_operations import StateAlloc as StateAlloc
from oracle.unified_operations import StateFree as StateFree
from oracle.unified_operations import StateRoom as StateRoom


class Alloc(Base, frozen=True, tag="alloc"):
    """A new request gets ``amount`` from ``alloc`` (where a page size above 1 has no ``alloc``: from ``alloc_extend``)."""

    amount: int = 0
    unit: Unit = "tokens"


class Part(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One request of a batch: 0 is a new request, k the k-th newest live one; it grows by ``amount``."""

    request: int = 0
    amount: int = 0
    unit: Unit = "tokens"


class Extend(Base, frozen=True, tag="extend"):
    """Several requests grow in one ``alloc_extend`` (at page size 1 in one ``alloc``). ``count_pages`` passes the page count too."""

    parts: tuple[Part, ...] = (Part(),)
    count_pages: bool = False


class ExtendTail(Base, frozen=True, tag="extend-tail"):
    """Tail preallocation: FULL slots for ``amount``, peers for the last ``tail`` of them only; aligned ones start on a page."""

    request: int = 0
    amount: int = 0
    unit: Unit = "tokens"
    tail: int = 0
    aligned: bool = True


class Decode(Base, frozen=True, tag="decode"):
    """``count`` + 1 live requests from ``request`` on get one token each."""

    request: int = 0
    count: int = 0


class Fork(Base, frozen=True, tag="fork"):
    """A new request shares the first ``pages`` + 1 whole pages of another one's row. No call on the allocator."""

    request: int = 0
    pages: int = 0


class Load(Base, frozen=True, tag="load"):
    """A row is loaded from outside: FULL slots straight from the FULL pool, with no peers."""

    amount: int = 0
    unit: Unit = "pages"


class Recover(Base, frozen=True, tag="recover"):
    """New peers for a range of a row: slots straight from the SWA pool, then mapped. ``freed``: a row freed in this group."""

    request: int = 0
    page: int = 0
    pages: int = 0
    freed: bool = False


class TransferPeers(Base, frozen=True, tag="transfer-peers"):
    """Recovery of a locked row: the peers of ``donor``'s range are taken from it and given to ``request``'s range."""

    request: int = 0
    donor: int = 1
    page: int = 0
    donor_page: int = 0
    pages: int = 0


class ReturnPeers(Base, frozen=True, tag="return-peers"):
    """A range's peers go back by hand: translated, unmapped, and freed straight on the SWA pool."""

    request: int = 0
    page: int = 0
    pages: int = 0


class ClearMapping(Base, frozen=True, tag="clear-mapping"):
    """The caller clears mapping entries, slot by slot."""

    request: int = 0
    first: int = 0
    count: int = 0


class Translate(Base, frozen=True, tag="translate"):
    """The caller looks peers up; ``sentinel`` appends slot -1."""

    request: int = 0
    first: int = 0
    count: int = 0
    sentinel: bool = False


class GroupBegin(Base, frozen=True, tag="group-begin"):
    """``free_group_begin``."""


class GroupEnd(Base, frozen=True, tag="group-end"):
    """``free_group_end``."""


class Merge(Base, frozen=True, tag="merge"):
    """``merge_and_sort_free`` of the pool, of a hybrid allocator's SWA pool if ``swa``."""

    swa: bool = False


class Clear(Base, frozen=True, tag="clear"):
    """``clear``: every request is forgotten."""


class Resize(Base, frozen=True, tag="resize"):
    """``resize`` to between one page and the geometry's pages (0 keeps all of them), and ``clear``."""

    full: int = 0
    swa: int = 0


class Backup(Base, frozen=True, tag="backup"):
    """``backup_state``, where a target has it."""


class Restore(Base, frozen=True, tag="restore"):
    """``restore_state`` of the last backup: rows allocated since then are forgotten."""


class Misuse(Base, frozen=True, tag="misuse"):
    """A call that the contract refuses for this family, page size or batch, with its arguments otherwise in order."""

    what: Literal[
        "alloc-on-pages",
        "extend-on-slots",
        "decode-on-slots",
        "tail-batch",
        "tail-too-long",
        "uneven-mapping",
        "resize-refused",
    ] = "extend-on-slots"


class Drain(Base, frozen=True, tag="drain"):
    """The end of a trace: an open group is closed and every request releases everything."""


Operation = (
    Alloc | Extend | ExtendTail | Decode | Fork | Load | Recover | TransferPeers | ReturnPeers
    | ClearMapping | Translate | Evict | Free | FreeSegment | FreeSegments | FreePages | Release
    | StaleFree | RawFree | EmptyFree | GroupBegin | GroupEnd | Merge | Clear | Resize
    | Backup | Restore | Misuse | Drain
    | Flush | FlushDeferred | Capacity | EvictForAlloc | StateAlloc | StateFree | StateRoom
    | BandTranslate | Gate | BeginForward | FireEvent | Reserve | BindReserved | CancelReserved
    | FinishLoad | MakeRoom
    | LogicalExtend | DeviceBuffer | FreeDeviceBuffer | FreeDevice | SpecScratch | SlotReserve
    | RotatedExtend | AllocCyclic | AllocGroupBegin | AllocGroupEnd
    | EvictWindow | ReleaseRow | FreeRowSegments | OverAllocate | RollBack | Insert | InsertAgain
    | HitPrefix | EvictNodePeers | EvictNode | RecoverNode | LoadNode
)  # fmt: skip

STATIC = frozenset({"token", "paged", "hybrid-swa"})
UNIFIED = frozenset({"unified-swa", "unified-mamba-swa", "unified-mamba"})
TIERED = frozenset({"hisparse", "hisparse-dsv4"})
INTERLEAVED = frozenset({"page-interleave"})
STATES_ONLY = frozenset({"mamba-slots"})
ROWS = frozenset({"hybrid-rows"})
FURTHER = frozenset({"pure-swa", "swa-ring", "hybrid-rows"}) | TIERED | INTERLEAVED | STATES_ONLY
EVERYWHERE = STATIC | UNIFIED | FURTHER
WITH_ROWS = EVERYWHERE - STATES_ONLY
HYBRID = frozenset({"hybrid-swa"})
PEERED = frozenset({"hybrid-swa", "unified-swa", "unified-mamba-swa"})
TWO_SIDED = PEERED | {"pure-swa", "swa-ring", "hisparse-dsv4", "hybrid-rows"}
"""The families whose calls know an SWA side, whether or not its slots are peers."""
TAILED = PEERED | {"swa-ring", "hisparse-dsv4", "hybrid-rows"}
UNIFIED_PEERED = UNIFIED & PEERED
STATEFUL = frozenset({"unified-mamba-swa", "unified-mamba"})
FLOATING = frozenset({"unified-mamba-swa"})
GROWING = WITH_ROWS - INTERLEAVED
WITHOUT_CURSORS = WITH_ROWS - ROWS
"""The families whose callers may give back any pages of a row: with cursors a row is given back from its end on only."""


class Kind(Struct, frozen=True):
    """One row of the operation table: which families have it, whether only a hostile caller does it, and how often it is drawn:
    in the families ``seldom`` as rarely as with a weight of 1."""

    operation: type[Base]
    families: frozenset[str] = EVERYWHERE
    hostile: bool = False
    weight: int = 4
    seldom: frozenset[str] = frozenset()


OPERATION_TABLE: tuple[Kind, ...] = (
    Kind(Alloc, EVERYWHERE, weight=1),
    Kind(Extend, GROWING, weight=8),
    Kind(ExtendTail, TAILED, weight=5),
    Kind(Decode, GROWING, weight=5),
    Kind(Fork, WITHOUT_CURSORS, weight=2),
    Kind(Load, HYBRID, weight=3),
    Kind(Recover, HYBRID, weight=4),
    Kind(TransferPeers, HYBRID, weight=6),
    Kind(ReturnPeers, HYBRID, weight=2),
    Kind(ClearMapping, HYBRID, weight=4),
    Kind(Translate, HYBRID | ROWS | {"pure-swa", "swa-ring", "hisparse-dsv4"}, weight=2),
    Kind(Evict, TWO_SIDED - ROWS, weight=6),
    Kind(Free, EVERYWHERE - ROWS, weight=7),
    Kind(FreeSegment, WITHOUT_CURSORS, weight=8),
    Kind(FreeSegments, WITHOUT_CURSORS, weight=6),
    Kind(FreePages, frozenset({"token", "paged"}), weight=3),
    Kind(Release, EVERYWHERE, weight=5),
    Kind(StaleFree, EVERYWHERE, hostile=True, weight=4),
    Kind(RawFree, EVERYWHERE, hostile=True, weight=2),
    Kind(EmptyFree, EVERYWHERE, weight=2),
    Kind(GroupBegin, WITH_ROWS, weight=4),
    Kind(GroupEnd, WITH_ROWS, weight=4),
    Kind(Merge, STATIC | INTERLEAVED | ROWS | {"swa-ring"}, weight=2),
    Kind(Clear, EVERYWHERE, weight=1),
    Kind(Resize, STATIC | {"pure-swa"}, weight=1),
    Kind(Backup, STATIC, weight=1),
    Kind(Restore, STATIC, weight=1),
    Kind(
        Misuse, frozenset({"token", "hybrid-swa"}) | FURTHER - STATES_ONLY, hostile=True, weight=1
    ),
    Kind(Flush, UNIFIED, weight=6),
    Kind(FlushDeferred, STATEFUL, weight=1),
    Kind(Capacity, UNIFIED_PEERED, weight=5),
    Kind(EvictForAlloc, UNIFIED, weight=6),
    Kind(StateAlloc, STATEFUL, weight=5),
    Kind(StateFree, STATEFUL, weight=5),
    Kind(StateRoom, STATEFUL, weight=2),
    Kind(BandTranslate, UNIFIED, weight=2),
    Kind(Gate, UNIFIED, weight=1),
    Kind(BeginForward, UNIFIED, weight=4),
    Kind(FireEvent, UNIFIED, weight=4),
    Kind(Reserve, UNIFIED_PEERED, weight=4),
    Kind(BindReserved, UNIFIED_PEERED, weight=4),
    Kind(CancelReserved, UNIFIED_PEERED, weight=2),
    Kind(FinishLoad, UNIFIED_PEERED, weight=2),
    Kind(MakeRoom, FLOATING, weight=1),
    Kind(LogicalExtend, TIERED, weight=4),
    Kind(DeviceBuffer, TIERED, weight=6),
    Kind(FreeDeviceBuffer, TIERED, weight=6),
    Kind(FreeDevice, TIERED, weight=3),
    Kind(SpecScratch, frozenset({"hisparse"}), weight=1),
    Kind(SlotReserve, frozenset({"hisparse"}), weight=1),
    Kind(RotatedExtend, INTERLEAVED, weight=8),
    Kind(AllocCyclic, INTERLEAVED, weight=4),
    Kind(AllocGroupBegin, STATES_ONLY | STATEFUL, weight=5, seldom=STATEFUL),
    Kind(AllocGroupEnd, STATES_ONLY | STATEFUL, weight=4, seldom=STATEFUL),
    Kind(EvictWindow, ROWS, weight=8),
    Kind(ReleaseRow, ROWS, weight=5),
    Kind(FreeRowSegments, ROWS, weight=4),
    Kind(OverAllocate, ROWS, weight=4),
    Kind(RollBack, ROWS, weight=4),
    Kind(Insert, ROWS, weight=6),
    Kind(InsertAgain, ROWS, weight=6),
    Kind(HitPrefix, ROWS, weight=5),
    Kind(EvictNodePeers, ROWS, weight=5),
    Kind(EvictNode, ROWS, weight=4),
    Kind(RecoverNode, ROWS, weight=5),
    Kind(LoadNode, ROWS, weight=3),
)
"""Every operation that a generator may draw (``Drain`` ends a trace and is not drawn)."""


def kind_of(operation: Base) -> str:
    """The name of an operation's kind as it stands in trace files (``free-segment``); ``reset`` for the bare base."""
    return str(operation.__struct_config__.tag or "reset")
