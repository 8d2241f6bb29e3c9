"""One concrete call on an allocator: what is left of an operation once its positions are resolved to slots.

The oracle, every target and every exported script see the same ``Call``. Slots, pages and lengths are plain ints.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Method = Literal[
    "alloc",
    "alloc_extend",
    "alloc_extend_swa_tail",
    "alloc_decode",
    "free",
    "free_swa",
    "free_full",
    "free_segment",
    "free_swa_segment",
    "free_full_segment",
    "free_segments",
    "free_full_segments",
    "free_page_ids",
    "free_group_begin",
    "free_group_end",
    "merge_and_sort_free",
    "set_full_to_swa_mapping",
    "clear_full_to_swa_mapping",
    "translate_loc_from_full_to_swa",
    "clear",
    "resize",
    "backup_state",
    "restore_state",
    "flush",
    "flush_deferred",
    "ensure_capacity",
    "reclaim_plan",
    "can_reserve",
    "check_decode_capacity",
    "evict_to_free_tokens",
    "prepare_mamba_allocation",
    "full_tokens_before_mamba_recheck",
    "translate",
    "set_move_gate",
    "begin_forward",
    "fire_event",
    "alloc_physical",
    "cancel_physical_reservation",
    "finish_load",
    "make_room",
    "compact_holes",
    "take_request_slots",
    "return_request_slots",
    "alloc_logical_only",
    "alloc_device_buffer",
    "free_hisparse",
    "free_hisparse_indices",
    "configure_spec_scratch",
    "request_slot_reserve",
    "alloc_cyclic",
    "alloc_group_begin",
    "alloc_group_end",
    "evict_out_of_window",
    "free_row_segments",
    "free_row",
]
Pool = Literal["composite", "full", "swa", "state"]
Gate = Literal["closed", "open", "absent"]
Side = Literal["low", "high"]


class Segment(Struct, frozen=True):
    """A contiguous part of a row: its slots in token order and the position of the first one in the row."""

    slots: tuple[int, ...]
    start_pos: int


class RowCursors(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cursors of one request's row, in slots (contract_paged_swa §11.1).

    ``protected``: the tree owns what lies below it; ``floor``: what lies below is never evicted by the window; ``evicted``: the peers
    from the dead lower bound up to here are gone; ``committed`` and ``allocated``: how much of the row counts, how long it is.
    """

    protected: int = 0
    floor: int = 0
    evicted: int = 0
    committed: int = 0
    allocated: int = 0


class TreeRow(Struct, frozen=True):
    """What the prefix tree of an eviction holds: whole pages of a row, the position of the first slot in the row, and
    whether they have peers.
    """

    slots: tuple[int, ...]
    start_pos: int
    bound: bool


class Tree(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The prefix tree that an eviction may take from (``oracle.fake_tree``): rows and states, oldest first.

    ``direct``: FULL pages are freed on the FULL band itself (and so at once, also in a group), after their peers by
    ``free_swa_segment``; otherwise by the composite's segment frees, which an open group defers.
    """

    rows: tuple[TreeRow, ...] = ()
    states: tuple[int, ...] = ()
    direct: bool = True


class Call(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A method, the allocator it is called on, and its arguments. Fields that the method does not take keep their default.

    ``pool`` is ``composite`` for the allocator itself (also for token and paged ones), ``full`` or ``swa`` for a direct
    call on a sub-allocator of a hybrid one (contract_paged_swa §6.4), or on a band of a unified one; ``state`` for its
    allocator of states, whose slots are virtual states.

    | method | fields |
    |---|---|
    | alloc | ``need`` (slots) |
    | alloc_extend | ``prefix_lens``, ``seq_lens``, ``last_loc``, ``extend_num_tokens``, ``num_new_pages`` (None: not passed) |
    | alloc_extend_swa_tail | the same (one request, no ``num_new_pages``) and ``swa_tail_len`` |
    | alloc_decode | ``seq_lens`` (after the new token), ``last_loc`` |
    | free, free_swa, free_full | ``slots`` |
    | free_segment, free_swa_segment, free_full_segment | ``slots``, ``start_pos`` |
    | free_segments, free_full_segments | ``segments`` |
    | free_page_ids | ``slots`` holds page ids |
    | set_full_to_swa_mapping | ``slots`` (FULL), ``peers`` (SWA) |
    | clear_full_to_swa_mapping, translate_loc_from_full_to_swa | ``slots`` |
    | resize | ``size``, ``size_swa`` |
    | flush (band) | ``urgent`` |
    | flush_deferred | |
    | ensure_capacity, can_reserve, reclaim_plan | ``need``, ``need_swa`` (slots; None: as ``need``); the last two also ``evictable_full``, ``evictable_swa`` (slots), ``empty_pool``, and ``prefer_swa`` (plan) or ``token_slack`` (reserve) |
    | check_decode_capacity, evict_to_free_tokens | ``need``, ``need_swa`` (None: not passed), ``tree`` (None: there is none), ``prefer_swa`` |
    | prepare_mamba_allocation, full_tokens_before_mamba_recheck | ``need`` (states) |
    | translate (band) | ``slots``: virtual slots of that band |
    | set_move_gate (band) | ``gate`` (0 or 1), ``gate_state`` |
    | begin_forward | ``event`` (a new number), ``slots``: FULL slots that it writes |
    | fire_event | ``event`` |
    | take_request_slots, return_request_slots | ``need``: how many; the caller's own pool of request slots, not a method of the allocator (§6, ring) |
    | alloc_logical_only | as alloc_extend without ``num_new_pages`` (§7) |
    | alloc_device_buffer | ``slots`` (logical slots; hisparse-dsv4: compressed ids), ``need`` (slots on the device) |
    | free_hisparse | ``slots`` (logical) |
    | free_hisparse_indices | ``slots`` (of the device) |
    | configure_spec_scratch | ``need`` (the cap, in slots), ``device_buffer`` |
    | request_slot_reserve | ``need`` (prefill length in slots), ``slot_held`` |
    | alloc_extend (page-interleave) | as above and ``rotation_bases``, one for each request |
    | alloc_cyclic | ``start_class``, ``need`` (slots) |
    | evict_out_of_window (callers, §11.2) | ``slots``: the whole row, ``cursors``, ``pre_len``, ``window``, ``sharing``, ``retain_floor``, ``interval`` |
    | free_row_segments (callers, §11.3) | ``segments``, ``evicted``, ``dead_lo`` |
    | free_row (callers, §11.3) | ``slots``: the whole row, ``cursors``, ``ranges`` of positions |
    | alloc_group_begin (on ``state`` in unified families) | ``need`` (states) |
    | alloc_group_end (the same) | |
    | alloc_physical (band) | ``need`` (slots) |
    | cancel_physical_reservation (band) | ``slots``: physical slots |
    | finish_load | |
    | make_room, compact_holes (band swa) | ``side``, ``need`` (bytes of the whole open space on that side) |

    For unified families ``peers`` of set_full_to_swa_mapping are physical SWA slots of a reservation (contract_unified §5).

    ``wide`` says that index tensors are int64 rather than int32 (rows of a request table are int32). ``overwrite`` says
    that the caller fills every tensor it passed with zeros right after the call returned (or raised).
    """

    method: Method
    pool: Pool = "composite"
    need: int = 0
    prefix_lens: tuple[int, ...] = ()
    seq_lens: tuple[int, ...] = ()
    last_loc: tuple[int, ...] = ()
    extend_num_tokens: int = 0
    num_new_pages: int | None = None
    swa_tail_len: int = 0
    slots: tuple[int, ...] = ()
    peers: tuple[int, ...] = ()
    start_pos: int = 0
    segments: tuple[Segment, ...] = ()
    size: int = 0
    size_swa: int = 0
    need_swa: int | None = None
    evictable_full: int = 0
    evictable_swa: int = 0
    empty_pool: bool = False
    prefer_swa: bool = False
    token_slack: bool = False
    urgent: bool = False
    tree: Tree | None = None
    gate: int = 0
    gate_state: Gate = "closed"
    event: int = 0
    side: Side = "low"
    device_buffer: int = 0
    slot_held: bool = False
    rotation_bases: tuple[int | None, ...] = ()
    start_class: int = 0
    cursors: RowCursors = RowCursors()
    pre_len: int = 0
    window: int = 0
    sharing: bool = True
    retain_floor: int | None = None
    interval: int = 1
    evicted: int = 0
    dead_lo: int = 0
    ranges: tuple[tuple[int, int], ...] = ()
    wide: bool = True
    overwrite: bool = False
