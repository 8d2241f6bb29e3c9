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
]
Pool = Literal["composite", "full", "swa"]


class Segment(Struct, frozen=True):
    """A contiguous part of a row: its slots in token order and the position of the first one in the row."""

    slots: tuple[int, ...]
    start_pos: int


class Call(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A method, the allocator it is called on, and its arguments. Fields that the method does not take keep their default.

    ``pool`` is ``composite`` for the allocator itself (also for token and paged ones), ``full`` or ``swa`` for a direct
    call on a sub-allocator of a hybrid one (contract_paged_swa §6.4).

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
    wide: bool = True
    overwrite: bool = False
