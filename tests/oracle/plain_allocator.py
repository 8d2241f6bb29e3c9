"""A plain allocator with sorted page sets and no optimisation, and a house in which the laws watch
it being used.

Written for the tests of the laws, so that they rest on no other allocator of this repository.
``deferral`` says where frees wait in a group: not at all, resolved at the call, or plain frees
resolved only at its end.
"""

from __future__ import annotations

import copy
from typing import Any, Literal

from oracle.call import Call
from oracle.caller import Caller
from oracle.contract import current_contract
from oracle.geometry import Geometry
from oracle.laws import Laws, Violation
from oracle.laws.made_call import MadeCall
from oracle.observation import Outcome, PoolState, Snapshot
from oracle.operations import Base

Deferral = Literal["at-once", "at-call", "at-end"]


class PlainAllocator:
    """Token, paged or hybrid."""

    def __init__(self, geometry: Geometry, deferral: Deferral = "at-call") -> None:
        self.page_size = geometry.page_size
        self.hybrid = geometry.family == "hybrid-swa"
        self.need_sort = geometry.need_sort
        self.deferral = deferral
        self.sizes = {"full": geometry.size, "swa": geometry.size_swa}
        self.mapping = [0] * (geometry.size + geometry.page_size) + [-1]
        self.saved: Any = None
        self.clear()

    def clear(self) -> None:
        size = self.page_size
        self.free = {pool: list(range(1, n // size + 1)) for pool, n in self.sizes.items()}
        self.staged: dict[str, list[list[int]]] = {"full": [], "swa": []}
        self.mapping[:-1] = [0] * (len(self.mapping) - 1)
        self.open = False
        self.waiting: dict[str, list[int]] = {"full": [], "swa": []}
        self.unresolved: list[int] = []

    def apply(self, call: Call) -> Outcome:
        if call.method.startswith("alloc"):
            value = self._alloc(call)
            return Outcome(value=None if value is None else tuple(value), dtype="int64")
        if call.method == "translate_loc_from_full_to_swa":
            return Outcome(value=tuple(self.mapping[slot] for slot in call.slots), dtype="int64")
        if call.method == "set_full_to_swa_mapping":
            for slot, peer in zip(call.slots, call.peers, strict=True):
                self.mapping[slot] = peer
        elif call.method == "clear_full_to_swa_mapping":
            for slot in call.slots:
                self.mapping[slot] = 0
        elif call.method.startswith("free_group"):
            self.open = call.method == "free_group_begin"
            if not self.open:
                self._flush()
        elif call.method.startswith("free"):
            self._free(call)
        else:
            self._manage(call)
        return Outcome()

    def snapshot(self) -> Snapshot:
        states = {pool: self._state(pool) for pool in ("full", "swa")}
        queries = {f"{pool}_available_size": state.available for pool, state in states.items()}
        queries["available_size"] = min(queries.values())
        if not self.hybrid:
            queries = {"available_size": states["full"].available}
        return Snapshot(
            full=states["full"],
            swa=states["swa"] if self.hybrid else None,
            mapping=list(self.mapping) if self.hybrid else None,
            group=[] if self.open and self.hybrid else None,
            swa_set_pile=[],
            swa_page_pile=[],
            queries=queries,
            new_pages=[],
        )

    def _state(self, pool: str) -> PoolState:
        staged = copy.deepcopy(self.staged[pool])
        count = sum(map(len, staged))
        return PoolState(
            size=self.sizes[pool],
            available=(len(self.free[pool]) + count) * self.page_size,
            free=list(self.free[pool]),
            staged=staged,
            staged_count=count,
            group=[list(self.waiting[pool])] if self.open else None,
            page_pile=[],
        )

    def _take(self, pool: str, pages: int) -> list[int] | None:
        if pages > len(self.free[pool]) and self.staged[pool]:
            self._merge(pool)
        if pages > len(self.free[pool]):
            return None
        taken, self.free[pool] = self.free[pool][:pages], self.free[pool][pages:]
        return taken

    def _alloc(self, call: Call) -> list[int] | None:
        size = self.page_size
        if call.method == "alloc":
            pool = "swa" if call.pool == "swa" else "full"
            grown = [(0, call.need // size * size, -1)]
            both = self.hybrid and call.pool == "composite"
        elif call.method == "alloc_decode":
            pool, both = "full", self.hybrid
            lengths = zip(call.seq_lens, call.last_loc, strict=True)
            grown = [(length - 1, length, last) for length, last in lengths]
        else:
            pool, both = "full", self.hybrid
            grown = list(zip(call.prefix_lens, call.seq_lens, call.last_loc, strict=True))
        pages = sum(-(-stop // size) - -(-start // size) for start, stop, _ in grown)
        tail = call.method == "alloc_extend_swa_tail"
        swa_pages = -(-call.swa_tail_len // size) if tail else pages * both
        room = {name: len(self.free[name]) + sum(map(len, self.staged[name])) for name in self.free}
        if pages > room[pool] or swa_pages > room["swa"]:
            if pages > len(self.free[pool]):
                self._merge(pool)
            return None
        slots = self._fill(pool, pages, grown)
        if tail:
            length = call.swa_tail_len
            peers = self._fill("swa", swa_pages, [(0, length, -1)])
            self._map(slots[len(slots) - length :], peers)
        elif both:
            mapped = [(start, stop, self.mapping[last]) for start, stop, last in grown]
            self._map(slots, self._fill("swa", swa_pages, mapped))
        return slots

    def _fill(self, pool: str, pages: int, grown: list[tuple[int, int, int]]) -> list[int]:
        taken = self._take(pool, pages) or []
        slots: list[int] = []
        for start, stop, last in grown:
            for position in range(start, stop):
                new = position % self.page_size == 0
                last = taken.pop(0) * self.page_size if new else last + 1
                slots.append(last)
        return slots

    def _map(self, slots: list[int], peers: list[int]) -> None:
        for slot, peer in zip(slots, peers, strict=True):
            self.mapping[slot] = peer

    def _free(self, call: Call) -> None:
        slots = [*call.slots, *(slot for part in call.segments for slot in part.slots)]
        size = self.page_size if call.method != "free_page_ids" else 1
        pages = sorted({slot // size for slot in slots})
        if call.pool == "swa":
            self._release("swa", pages)
            return
        at_end = self.open and self.deferral == "at-end"
        whole = call.method in ("free", "free_segment", "free_segments") and call.pool != "full"
        if self.hybrid and at_end and whole:
            self.unresolved += pages
        elif self.hybrid and (whole or "swa" in call.method):
            self._defer("swa", self._resolve(pages))
        if "swa" not in call.method:
            self._defer("full", pages)

    def _resolve(self, pages: list[int]) -> list[int]:
        peers: set[int] = set()
        for page in pages:
            for slot in range(page * self.page_size, (page + 1) * self.page_size):
                if self.mapping[slot] > 0:
                    peers.add(self.mapping[slot] // self.page_size)
                self.mapping[slot] = 0
        return sorted(peers)

    def _defer(self, pool: str, pages: list[int]) -> None:
        if self.open and self.deferral != "at-once":
            self.waiting[pool] += pages
        else:
            self._release(pool, pages)

    def _release(self, pool: str, pages: list[int]) -> None:
        if not pages:
            return
        if self.need_sort:
            self.staged[pool].append(list(pages))
        else:
            self.free[pool] = list(pages) + self.free[pool]

    def _flush(self) -> None:
        self._release("swa", self.waiting["swa"] + self._resolve(self.unresolved))
        self._release("full", self.waiting["full"])
        self.waiting, self.unresolved = {"full": [], "swa": []}, []

    def _merge(self, pool: str) -> None:
        if self.staged[pool]:
            self.free[pool] = sorted(sum(self.staged[pool], self.free[pool]))
            self.staged[pool] = []

    def _manage(self, call: Call) -> None:
        if call.method == "merge_and_sort_free":
            self._merge("swa" if call.pool == "swa" else "full")
        elif call.method == "resize":
            self.sizes = {"full": call.size, "swa": call.size_swa}
            self.clear()
        elif call.method == "clear":
            self.clear()
        elif call.method == "backup_state":
            self.saved = copy.deepcopy((self.free, self.staged, self.mapping, self.waiting))
        elif call.method == "restore_state":
            self.free, self.staged, self.mapping, self.waiting = copy.deepcopy(self.saved)


class House:
    """A plain allocator, its caller, and the laws that watch both."""

    def __init__(
        self,
        family: Any = "hybrid-swa",
        size: int = 64,
        page_size: int = 4,
        *,
        size_swa: int | None = None,
        need_sort: bool = False,
        deferral: Deferral = "at-call",
    ) -> None:
        swa = (size if size_swa is None else size_swa) if family == "hybrid-swa" else 0
        geometry = Geometry(
            family=family, size=size, page_size=page_size, size_swa=swa, need_sort=need_sort
        )
        self.allocator = PlainAllocator(geometry, deferral)
        self.caller = Caller(geometry, current_contract(family), may_break=frozenset())
        self.laws = Laws(geometry)
        self.outcomes: list[Outcome] = []

    @property
    def books(self) -> Any:
        return self.caller.books

    def row(self, newest: int = 0) -> list[int]:
        """The slots of the ``newest``-th newest request."""
        request = self.books.newest(newest)
        assert request is not None
        return request.slots

    def does(self, operation: Base, *, illegal: bool = False) -> Violation | None:
        """Perform an operation, with all laws; what breaks the contract is skipped unless it is
        wanted.
        """
        state = self.allocator.snapshot()
        self.caller.available_full = state.full.available
        self.caller.available_swa = state.swa.available if state.swa else state.full.available
        self.outcomes.clear()
        self.caller.may_break = None if illegal else frozenset()
        plan = self.caller.plan(operation)
        outcome: Outcome | None = None
        while True:
            try:
                planned = next(plan) if outcome is None else plan.send(outcome)
            except StopIteration:
                break
            if planned.breaches and not illegal:
                plan.close()
                break
            before = self.allocator.snapshot()
            outcome = self.allocator.apply(planned.call)
            self.outcomes.append(outcome)
            after = self.allocator.snapshot()
            made = MadeCall(planned.call, planned.breaches, outcome, before, after)
            found = self.laws.judge_call(made, self.books)
            if found is not None:
                return found
        return self.judge()

    def judge(self) -> Violation | None:
        """Judge the state as it is now."""
        return self.laws.judge_state(self.allocator.snapshot(), self.books)

    def prepare(self, *operations: Base) -> House:
        """Perform operations with which no law has any trouble."""
        for operation in operations:
            found = self.does(operation)
            assert found is None, (operation, found)
        return self
