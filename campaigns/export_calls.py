"""One call of a trace as statements: the call with its arguments, the comments that explain them, what the caller does after.

Guarantees that the call gets the tensors that ``targets.driver`` would give it: the same dtypes, each its own.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import structs

from campaigns.export_layout import Code, Group, Item, group, literal
from campaigns.export_names import Names
from oracle.call import Call

REQUEST_CALLS = {"take_request_slots": "take", "return_request_slots": "give_back"}
"""The calls on the caller's own pool of request slots."""


ROW_CALLS = frozenset({"evict_out_of_window", "free_row_segments", "free_row"})
"""The calls on rows, which a layer above the allocator takes (contract_paged_swa §11)."""


class CallCode:
    """The code of one call, made on ``place``. ``before``: statements that make what it passes; ``after``: what the caller overwrites."""

    def __init__(self, call: Call, names: Names, number: int, place: str = "allocator") -> None:
        self.before: list[Code] = []
        self.after: list[str] = []
        self._call, self._names, self._number, self._place = call, names, number, place
        self.expression = self._expression()

    def _expression(self) -> Group:
        method = self._call.method
        if method in REQUEST_CALLS:
            return group(f"request_slots.{REQUEST_CALLS[method]}(", [str(self._call.need)], ")")
        place = "rows" if method in ROW_CALLS else self._place
        return Group(f"{place}.{method}(", tuple(self._arguments()), ")")

    def _arguments(self) -> list[Item]:
        fill = _ARGUMENTS.get(self._call.method)
        return fill(self) if fill is not None else []

    def _need(self) -> list[Item]:
        return [Item(str(self._call.need))]

    def _extend(self) -> list[Item]:
        call = self._call
        items = [
            *_lengths(call.prefix_lens, "prefix_lens: how long each row is"),
            *_lengths(call.seq_lens, "seq_lens: how long each row gets"),
            self._last_loc(),
            Item(str(call.extend_num_tokens), "extend_num_tokens: the new slots of all rows"),
        ]
        if call.method == "alloc_extend_swa_tail":
            note = "swa_tail_len: only so many slots at the end get peers"
            items.append(Item(str(call.swa_tail_len), note))
        elif call.num_new_pages is not None:
            items.append(Item(f"num_new_pages={call.num_new_pages}", "the pages that it takes"))
        if call.rotation_bases:
            name = bases_name(self._number)
            self.before.append(assigned(name, literal(call.rotation_bases)))
            note = "the class of each row's first page, None: open"
            items.append(Item(f"rotation_bases={name}", note))
        return items

    def _decode(self) -> list[Item]:
        note = "seq_lens: how long each row is with its new token"
        return [*_lengths(self._call.seq_lens, note), self._last_loc()]

    def _last_loc(self) -> Item:
        last = self._call.last_loc
        note = "last_loc: the last slot of each row" + (", -1 for a new row" if -1 in last else "")
        if len(last) == 1 and last[0] >= 0:
            return Item(self._names.tensor(last, wide=self._call.wide), note)
        elements: list[Code] = [self._names.one(slot) for slot in last]
        dtype = [] if self._call.wide else ["dtype=torch.int32"]
        return Item(group("torch.tensor(", [group("[", elements, "]"), *dtype], ")"), note)

    def _device_buffer(self) -> list[Item]:
        return [*self._slots(), Item(str(self._call.need))]

    def _spec_scratch(self) -> list[Item]:
        call = self._call
        return [Item(str(call.need)), Item(f"device_buffer_size={call.device_buffer}")]

    def _slot_reserve(self) -> list[Item]:
        call = self._call
        return [
            Item(f"has_req_pool_slot={call.slot_held}"),
            Item(f"prefill_tokens={call.need}"),
        ]

    def _cyclic(self) -> list[Item]:
        return [Item(str(self._call.start_class)), Item(str(self._call.need))]

    def _request(self) -> Item:
        """The name of a new request with the row and the cursors of the call."""
        call, name = self._call, request_name(self._number)
        cursors = structs.asdict(call.cursors)
        row = self._names.tensor(call.slots, wide=False)
        given = [f"{cursor}={value}" for cursor, value in cursors.items() if value]
        self.before.append(assigned(name, group("row_request(", [row, *given], ")")))
        if call.overwrite:
            self.after.append(f"{name}.table.zero_()")
        return Item(name)

    def _window(self) -> list[Item]:
        call = self._call
        given = [f"window={call.window}", f"sharing={call.sharing}"]
        given += [f"retain_floor={call.retain_floor}", f"interval={call.interval}"]
        return [self._request(), *(Item(text) for text in (str(call.pre_len), *given))]

    def _row(self) -> list[Item]:
        ranges = group("[", [f"({start}, {stop})" for start, stop in self._call.ranges], "]")
        return [self._request(), Item(ranges)]

    def _row_segments(self) -> list[Item]:
        call = self._call
        bounds = [Item(f"evicted={call.evicted}"), Item(f"dead_lo={call.dead_lo}")]
        return [*self._segments(), *bounds]

    def _slots(self) -> list[Item]:
        return [Item(self._passed(self._call.slots, 0))]

    def _segment(self) -> list[Item]:
        return [*self._slots(), Item(f"start_pos={self._call.start_pos}")]

    def _segments(self) -> list[Item]:
        pairs = [
            group("(", [self._passed(segment.slots, number), str(segment.start_pos)], ")")
            for number, segment in enumerate(self._call.segments)
        ]
        return [Item(group("[", pairs, "]"))]

    def _pages(self) -> list[Item]:
        call = self._call
        pages = self._names.pages(call.slots)
        if not call.wide:
            pages = _as_int32(pages)
        return [Item(self._kept(pages, 0))]

    def _mapping(self) -> list[Item]:
        return [*self._slots(), Item(self._passed(self._call.peers, 1))]

    def _config(self) -> list[Item]:
        call = self._call
        sizes = [f"max_total_num_tokens={call.size}"]
        if call.size_swa:
            sizes = [
                f"full_max_total_num_tokens={call.size}",
                f"swa_max_total_num_tokens={call.size_swa}",
            ]
        return [Item(group("SimpleNamespace(", sizes, ")"))]

    def _restore(self) -> list[Item]:
        return [Item("backups.pop()")]

    def _passed(self, slots: tuple[int, ...], number: int) -> Code:
        code = self._names.tensor(slots, wide=self._call.wide, copied=self._call.overwrite)
        return self._kept(code, number)

    def _kept(self, code: Code, number: int) -> Code:
        """The tensor itself, or the name of one that the caller overwrites after the call."""
        if not self._call.overwrite:
            return code
        name = f"passed{self._number}" + (f"_{number + 1}" if number else "")
        self.before.append(assigned(name, code))
        self.after.append(f"{name}.zero_()")
        return name


def request_name(number: int) -> str:
    """The variable of the request that the ``number``-th call, a call on a row, is about."""
    return f"request{number}"


def bases_name(number: int) -> str:
    """The variable of the rotation bases that the ``number``-th call gets."""
    return f"bases{number}"


def assigned(name: str, code: Code, *, equals: str = " = ") -> Code:
    """``name = code``; ``equals``: what stands between them."""
    if isinstance(code, str):
        return f"{name}{equals}{code}"
    return Group(f"{name}{equals}{code.opening}", code.items, code.closing)


def _lengths(values: tuple[int, ...], note: str) -> list[Item]:
    tensor = group("torch.tensor(", [literal(values)], ")")
    return [Item(tensor, note), Item(tensor, "the same on the CPU")]


def _as_int32(pages: Code) -> Code:
    if isinstance(pages, str):
        return f"({pages}).int()"
    return Group(pages.opening, (*pages.items, Item("dtype=torch.int32")), pages.closing)


_ARGUMENTS: dict[str, Callable[[CallCode], list[Item]]] = {
    "alloc": CallCode._need,
    "alloc_extend": CallCode._extend,
    "alloc_extend_swa_tail": CallCode._extend,
    "alloc_decode": CallCode._decode,
    "free": CallCode._slots,
    "free_swa": CallCode._slots,
    "free_full": CallCode._slots,
    "free_segment": CallCode._segment,
    "free_swa_segment": CallCode._segment,
    "free_full_segment": CallCode._segment,
    "free_segments": CallCode._segments,
    "free_full_segments": CallCode._segments,
    "free_page_ids": CallCode._pages,
    "set_full_to_swa_mapping": CallCode._mapping,
    "clear_full_to_swa_mapping": CallCode._slots,
    "translate_loc_from_full_to_swa": CallCode._slots,
    "resize": CallCode._config,
    "restore_state": CallCode._restore,
    "alloc_logical_only": CallCode._extend,
    "alloc_device_buffer": CallCode._device_buffer,
    "free_hisparse": CallCode._slots,
    "free_hisparse_indices": CallCode._slots,
    "configure_spec_scratch": CallCode._spec_scratch,
    "request_slot_reserve": CallCode._slot_reserve,
    "alloc_cyclic": CallCode._cyclic,
    "alloc_group_begin": CallCode._need,
    "evict_out_of_window": CallCode._window,
    "free_row": CallCode._row,
    "free_row_segments": CallCode._row_segments,
}
