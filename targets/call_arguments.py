"""The tensors of one call: what a caller of an allocator would have in its hands.

Guarantees dtypes and devices as the contract describes them: index tensors (rows, last locations, page ids) are int32, or
int64 for a wide call; tables of requests are int32; lengths are int64, on the device and again on the CPU. Every tensor belongs to this call alone.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from oracle.call import Call


class Arguments:
    """Positional and named arguments of one call, and every tensor among them (for the caller's overwriting).

    ``twins`` are the tensors among them that lie on the CPU whatever the device is. With ``separate``, they are tensors of
    their own also where the device is the CPU.
    """

    def __init__(self, call: Call, device: str, *, separate: bool = False) -> None:
        self.positional: list[Any] = []
        self.named: dict[str, Any] = {}
        self.twins: list[torch.Tensor] = []
        self._separate = separate
        self._tensors: list[torch.Tensor] = []
        self._index_dtype = torch.int64 if call.wide else torch.int32
        self._device = device
        fill = _FILLERS.get(call.method)
        if fill is not None:
            fill(self, call)

    def resolved(self) -> tuple[int, ...]:
        """The rotation bases that were passed, as they are now, -1 for one that is open still (``Outcome.resolved``)."""
        bases = self.named.get("rotation_bases", ())
        return tuple(-1 if base is None else int(base) for base in bases)

    def overwrite(self) -> None:
        """Fill every tensor that was passed with zeros, as the owner of a row does when it reuses it."""
        for tensor in self._tensors:
            tensor.zero_()

    def index(self, values: Sequence[int]) -> torch.Tensor:
        """A tensor of slots or page ids on the device."""
        tensor = torch.tensor(values, dtype=self._index_dtype, device=self._device)
        self._tensors.append(tensor)
        return tensor

    def table(self, row: Sequence[int]) -> torch.Tensor:
        """A table of requests, int32 as every one is, that holds ``row`` behind a row of padding slots."""
        table = torch.tensor([[0] * len(row), row], dtype=torch.int32, device=self._device)
        self._tensors.append(table)
        return table

    def lengths(self, values: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Lengths as allocators take them: on the device, and their twin on the CPU (one tensor when that is the device)."""
        twin = torch.tensor(values, dtype=torch.int64)
        on_device = twin
        if self._separate or self._device != "cpu":
            on_device = torch.tensor(values, dtype=torch.int64, device=self._device)
        self.twins.append(twin)
        self._tensors += [on_device, twin]
        return on_device, twin


def _need(arguments: Arguments, call: Call) -> None:
    arguments.positional = [call.need]


def _extend(arguments: Arguments, call: Call) -> None:
    arguments.positional = [
        *arguments.lengths(call.prefix_lens),
        *arguments.lengths(call.seq_lens),
        arguments.index(call.last_loc),
        call.extend_num_tokens,
    ]
    if call.method == "alloc_extend_swa_tail":
        arguments.positional.append(call.swa_tail_len)
    elif call.num_new_pages is not None:
        arguments.named["num_new_pages"] = call.num_new_pages
    if call.rotation_bases:
        arguments.named["rotation_bases"] = list(call.rotation_bases)


def _decode(arguments: Arguments, call: Call) -> None:
    arguments.positional = [*arguments.lengths(call.seq_lens), arguments.index(call.last_loc)]


def _slots(arguments: Arguments, call: Call) -> None:
    arguments.positional = [arguments.index(call.slots)]


def _segment(arguments: Arguments, call: Call) -> None:
    arguments.positional = [arguments.index(call.slots)]
    arguments.named["start_pos"] = call.start_pos


def _segments(arguments: Arguments, call: Call) -> None:
    arguments.positional = [
        [(arguments.index(segment.slots), segment.start_pos) for segment in call.segments]
    ]


def _device_buffer(arguments: Arguments, call: Call) -> None:
    arguments.positional = [arguments.index(call.slots), call.need]


def _spec_scratch(arguments: Arguments, call: Call) -> None:
    arguments.positional = [call.need]
    arguments.named["device_buffer_size"] = call.device_buffer


def _slot_reserve(arguments: Arguments, call: Call) -> None:
    arguments.named.update(has_req_pool_slot=call.slot_held, prefill_tokens=call.need)


def _cyclic(arguments: Arguments, call: Call) -> None:
    arguments.positional = [call.start_class, call.need]


def _row(arguments: Arguments, call: Call) -> None:
    arguments.positional = [arguments.table(call.slots)]


def _mapping(arguments: Arguments, call: Call) -> None:
    arguments.positional = [arguments.index(call.slots), arguments.index(call.peers)]


def _config(arguments: Arguments, call: Call) -> None:
    arguments.positional = [
        SimpleNamespace(
            max_total_num_tokens=call.size,
            full_max_total_num_tokens=call.size,
            swa_max_total_num_tokens=call.size_swa,
        )
    ]


_FILLERS: dict[str, Callable[[Arguments, Call], None]] = {
    "alloc": _need,
    "alloc_extend": _extend,
    "alloc_extend_swa_tail": _extend,
    "alloc_decode": _decode,
    "free": _slots,
    "free_swa": _slots,
    "free_full": _slots,
    "free_segment": _segment,
    "free_swa_segment": _segment,
    "free_full_segment": _segment,
    "free_segments": _segments,
    "free_full_segments": _segments,
    "free_page_ids": _slots,
    "evict_out_of_window": _row,
    "free_row": _row,
    "free_row_segments": _segments,
    "set_full_to_swa_mapping": _mapping,
    "clear_full_to_swa_mapping": _slots,
    "translate_loc_from_full_to_swa": _slots,
    "translate": _slots,
    "resize": _config,
    "alloc_logical_only": _extend,
    "alloc_device_buffer": _device_buffer,
    "free_hisparse": _slots,
    "free_hisparse_indices": _slots,
    "configure_spec_scratch": _spec_scratch,
    "request_slot_reserve": _slot_reserve,
    "alloc_cyclic": _cyclic,
    "alloc_group_begin": _need,
}
