"""Calls and what came back, in the allocator's own terms, for people.

Guarantees that a line says everything that the allocator was told, slots shortened to runs. It is no program: ``campaigns.export``
writes those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oracle.call import Call
from oracle.observation import Outcome
from oracle.quoting import quote

MOST_RUNS = 6
_ANSWERING = frozenset(
    {
        "alloc",
        "alloc_extend",
        "alloc_extend_swa_tail",
        "alloc_decode",
        "translate_loc_from_full_to_swa",
        "alloc_logical_only",
        "alloc_device_buffer",
        "alloc_cyclic",
        "request_slot_reserve",
    }
)
_ALONE = frozenset({"alloc", "take_request_slots", "return_request_slots", "alloc_group_begin"})
"""The calls whose only argument is how many."""
_LENGTHS = ("prefix_lens", "seq_lens", "last_loc")


def one_line(error: Exception) -> str:
    """What an exception says, with its kind, as one line."""
    return f"{type(error).__name__}: {quote(' '.join(str(error).split()))}"


def shorten(slots: Sequence[int]) -> str:
    """``[4..7, 12]``: consecutive slots as runs, at most six runs, and how many slots there are when some are left out."""
    runs: list[list[int]] = []
    for slot in slots:
        if runs and slot == runs[-1][1] + 1:
            runs[-1][1] = slot
        else:
            runs.append([slot, slot])
    shown = [str(first) if first == last else f"{first}..{last}" for first, last in runs]
    if len(shown) > MOST_RUNS:
        return f"[{', '.join(shown[:MOST_RUNS])}, … {len(slots)} in all]"
    return f"[{', '.join(shown)}]"


def describe_call(call: Call) -> str:
    """The call with its arguments: ``free_swa_segment([4..7], start_pos=0)``."""
    arguments = _arguments(call)
    where = "" if call.pool == "composite" else f"{call.pool} pool: "
    after = ", then the caller overwrites what it passed" if call.overwrite else ""
    return f"{where}{call.method}({', '.join(arguments)}){after}"


def describe_outcome(call: Call, outcome: Outcome) -> str:
    """What came back: the slots, a refusal, what was raised, and which invariants were hit."""
    if outcome.error:
        text = f"raised {outcome.error}"
        if outcome.message:
            text += f": {outcome.message.splitlines()[0]}"
    elif outcome.value is not None:
        text = shorten(outcome.value)
    else:
        text = "None (refused)" if call.method in _ANSWERING else "done"
    if call.method == "evict_out_of_window" and outcome.resolved:
        text += f", evicted={outcome.resolved[0]}"
    hits = ", ".join(f"{hit.name} x{hit.count}" for hit in outcome.hits)
    return f"{text}; hit {hits}" if hits else text


def _arguments(call: Call) -> list[str]:
    if call.method in _ALONE:
        return [str(call.need)]
    if call.method.startswith(("alloc_extend", "alloc_decode", "alloc_logical")):
        return _lengths(call)
    if call.method in _FURTHER:
        return _FURTHER[call.method](call)
    if call.method == "resize":
        sizes = [f"size={call.size}"]
        return [*sizes, f"size_swa={call.size_swa}"] if call.size_swa else sizes
    if call.method == "set_full_to_swa_mapping":
        return [shorten(call.slots), shorten(call.peers)]
    if call.method in ("free_segments", "free_full_segments"):
        return [f"{shorten(part.slots)} at {part.start_pos}" for part in call.segments]
    if call.method in ("evict_out_of_window", "free_row_segments", "free_row"):
        return _of_row(call)
    if call.method.endswith("_segment"):
        return [_indices(call), f"start_pos={call.start_pos}"]
    if call.method.startswith(("free", "clear_full", "translate")) and "group" not in call.method:
        return [_indices(call)]
    return []


def _of_row(call: Call) -> list[str]:
    if call.method == "free_row_segments":
        parts = [f"{shorten(part.slots)} at {part.start_pos}" for part in call.segments]
        return [*parts, f"evicted={call.evicted}", f"dead_lo={call.dead_lo}"]
    names = ("protected", "floor", "evicted")
    cursors = [f"{name}={getattr(call.cursors, name)}" for name in names]
    if call.method == "free_row":
        ranges = [f"[{start}, {stop})" for start, stop in call.ranges]
        return [_indices(call), *cursors, *ranges]
    window = [f"pre_len={call.pre_len}", f"window={call.window}", f"sharing={call.sharing}"]
    if call.retain_floor is not None:
        window.append(f"retain_floor={call.retain_floor}")
    return [_indices(call), *cursors, *window, f"interval={call.interval}"]


def _indices(call: Call) -> str:
    name = "pages " if call.method == "free_page_ids" else ""
    return f"{name}{shorten(call.slots)}{'' if call.wide else ' int32'}"


def _lengths(call: Call) -> list[str]:
    names = [name for name in _LENGTHS if name != "prefix_lens" or call.method != "alloc_decode"]
    texts = [f"{name}={list(getattr(call, name))}" for name in names]
    if call.method == "alloc_decode":
        return texts
    texts.append(f"extend_num_tokens={call.extend_num_tokens}")
    if call.method == "alloc_extend_swa_tail":
        texts.append(f"swa_tail_len={call.swa_tail_len}")
    if call.num_new_pages is not None:
        texts.append(f"num_new_pages={call.num_new_pages}")
    if call.rotation_bases:
        texts.append(f"rotation_bases={list(call.rotation_bases)}")
    return texts


_FURTHER: dict[str, Callable[[Call], list[str]]] = {
    "alloc_device_buffer": lambda call: [_indices(call), f"need={call.need}"],
    "configure_spec_scratch": lambda call: [
        str(call.need),
        f"device_buffer_size={call.device_buffer}",
    ],
    "request_slot_reserve": lambda call: [
        f"has_req_pool_slot={call.slot_held}",
        f"prefill_tokens={call.need}",
    ],
    "alloc_cyclic": lambda call: [f"start_class={call.start_class}", str(call.need)],
}
"""The arguments of calls that only some families have (``oracle.family_methods``)."""
