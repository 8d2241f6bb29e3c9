"""Groups, merging, clearing, resizing, backup and restore, misuse, and the drain at the end of a trace."""

from __future__ import annotations

import copy

from oracle import legality
from oracle import operations as op
from oracle.call import Call, Pool
from oracle.caller import Caller, Plan, Planned
from oracle.planning.device import free_buffers
from oracle.planning.moves import give_back_states_and_loads
from oracle.planning.segments import release
from oracle.planning.state_groups import plan_alloc_group_end


def plan_group_begin(caller: Caller, _operation: op.GroupBegin) -> Plan:
    """Open a free group; one that is open already refuses (§3)."""
    if caller.geometry.family == "hisparse":
        yield Planned(Call(method="free_group_begin"))  # No group at all (§7.1).
        return
    nested = caller.books.group_open
    outcome = yield Planned(
        Call(method="free_group_begin"), (legality.NESTED_GROUP,) if nested else ()
    )
    if not outcome.error:
        caller.books.group_open = True


def plan_group_end(caller: Caller, _operation: op.GroupEnd) -> Plan:
    """Close the group; with none open nothing is freed (§3)."""
    unbalanced = not caller.books.group_open and caller.geometry.family != "hisparse"
    if unbalanced and caller.unified:
        return  # What that does is nobody's promise (contract_unified §9).
    breaches = (legality.UNBALANCED_GROUP_END,) if unbalanced else ()
    outcome = yield Planned(Call(method="free_group_end"), breaches)
    if not outcome.error:
        caller.books.close_group()


def plan_flush_deferred(_caller: Caller, _operation: op.FlushDeferred) -> Plan:
    """Free what waits in the open group and leave it open (contract_unified §9)."""
    yield Planned(Call(method="flush_deferred"))


def plan_merge(caller: Caller, operation: op.Merge) -> Plan:
    """Merge and sort one pool; a composite has no lists of its own to merge (§1)."""
    pool: Pool = "composite"
    if caller.hybrid or caller.ringed:
        pool = "swa" if operation.swa else "full"
    yield Planned(Call(method="merge_and_sort_free", pool=pool))


def plan_clear(caller: Caller, _operation: op.Clear) -> Plan:
    """Back to the state after construction, in a group too (§6.7)."""
    outcome = yield Planned(Call(method="clear"))
    if not outcome.error:
        caller.books.clear()


def plan_resize(caller: Caller, operation: op.Resize) -> Plan:
    """Shrink each pool, or grow it back to at most what it was built with (§1)."""
    size = caller.page_size

    def shrunk(full_size: int, pages: int) -> int:
        return size * (1 + (pages - 1) % (full_size // size)) if pages else full_size

    size_swa = shrunk(caller.geometry.size_swa, operation.swa) if caller.hybrid else 0
    if caller.geometry.family == "pure-swa":
        # One pool that is resized twice: the second size stays (§6.8).
        size_swa = shrunk(caller.geometry.size, operation.swa)
    outcome = yield Planned(
        Call(
            method="resize",
            size=shrunk(caller.geometry.size, operation.full),
            size_swa=size_swa,
        )
    )
    if not outcome.error:
        caller.books.clear()


def plan_backup(caller: Caller, _operation: op.Backup) -> Plan:
    """Remember the allocator's state; the caller remembers its books (§13.1)."""
    outcome = yield Planned(Call(method="backup_state"))
    if not outcome.error:
        caller.saved, caller.saved_is_valid = copy.deepcopy(caller.books), True


def plan_restore(caller: Caller, _operation: op.Restore) -> Plan:
    """Return to the backup. Legal when only allocations came in between: the rows they made are forgotten."""
    if caller.saved is None:
        return
    breaches = () if caller.saved_is_valid else (legality.RESTORE_AFTER_FREES,)
    outcome = yield Planned(Call(method="restore_state"), breaches)
    if not outcome.error:
        # A group that was opened since stays open: only the free lists return.
        caller.saved.group_open = caller.books.group_open
        caller.books, caller.saved = caller.saved, None


def plan_misuse(caller: Caller, operation: op.Misuse) -> Plan:
    """Calls that are refused: the error is expected, and nothing may change (§4, §6.2, §12)."""
    call = _misused(caller, operation.what)
    if call is not None:
        yield Planned(call, (legality.MISUSE,))


def plan_drain(caller: Caller, _operation: op.Drain) -> Plan:
    """Close the group and release every row, so that everything must be back."""
    if caller.books.group_open:
        outcome = yield Planned(Call(method="free_group_end"))
        if outcome.error:
            return
        caller.books.close_group()
    if caller.unified:
        yield from give_back_states_and_loads(caller)
    if caller.books.preparing:
        yield from plan_alloc_group_end(caller, op.AllocGroupEnd())
    while caller.books.requests:
        request = caller.books.requests[-1]
        yield from release(caller, request)
        if request in caller.books.requests:
            return
    yield from free_buffers(caller, None)


def _misused(caller: Caller, what: str) -> Call | None:
    size, family = caller.page_size, caller.geometry.family
    one = {"prefix_lens": (0,), "seq_lens": (1,), "last_loc": (-1,), "extend_num_tokens": 1}
    decode = Call(method="alloc_decode", seq_lens=(1,), last_loc=(-1,))
    if size == 1 and family not in ("paged", "hisparse", "page-interleave"):
        if what == "extend-on-slots":
            return Call(method="alloc_extend", **one)  # type: ignore[arg-type]
        if what == "decode-on-slots":
            return decode
    if family == "page-interleave":
        return {
            "alloc-on-pages": Call(method="alloc", need=size),
            "decode-on-slots": decode,
            "resize-refused": Call(method="resize", size=caller.geometry.size),
        }.get(what)
    if (caller.hybrid or family == "pure-swa") and what == "uneven-mapping":
        return Call(method="set_full_to_swa_mapping", slots=(size, size + 1), peers=(size,))
    if what == "alloc-on-pages" and size > 1 and (caller.two_sided or caller.tiered):
        return Call(method="alloc", need=size)
    if (caller.hybrid or caller.ringed) and size > 1:
        if what == "tail-batch":
            return Call(
                method="alloc_extend_swa_tail",
                prefix_lens=(0, 0),
                seq_lens=(1, 1),
                last_loc=(-1, -1),
                extend_num_tokens=2,
                swa_tail_len=1,
            )
        if what == "tail-too-long":
            return Call(method="alloc_extend_swa_tail", swa_tail_len=2, **one)  # type: ignore[arg-type]
    if family == "pure-swa" and what in ("tail-batch", "tail-too-long"):
        return Call(method="alloc_extend_swa_tail", swa_tail_len=1, **one)  # type: ignore[arg-type]
    return None
