"""One call on a unified allocator as statements (``campaigns.export_calls`` for the families of fixed pools).

Guarantees the same as there. Virtual slots, states and physical slots are different things that may be the same numbers, so each
of the three has variables of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from campaigns.export_calls import CallCode, assigned
from campaigns.export_layout import Code, Group, Item, group
from campaigns.export_names import Names, Variable
from targets.sglang.unified_calls import STATES_METHODS

if TYPE_CHECKING:
    from oracle.call import Call

TOKENS = frozenset({"alloc", "alloc_extend", "alloc_extend_swa_tail", "alloc_decode"})
PHYSICAL = frozenset({"alloc_physical", "cancel_physical_reservation"})
ANSWERING = frozenset(
    {
        "flush", "ensure_capacity", "reclaim_plan", "can_reserve", "evict_to_free_tokens",
        "check_decode_capacity", "full_tokens_before_mamba_recheck", "translate", "make_room",
    }
)  # fmt: skip
GATES = {"closed": "False", "open": "True", "absent": "None"}
TOLD = {
    "flush": "a band is compacted",
    "flush_deferred": "what waits is freed, and the group stays open",
    "ensure_capacity": "asks whether so many slots of each side fit; pages may move",
    "reclaim_plan": "asks how much of each side has to go",
    "can_reserve": "asks whether so many slots of each side fit",
    "evict_to_free_tokens": "evicts from a prefix tree until so many slots fit",
    "check_decode_capacity": "evicts from a prefix tree and asks whether so many slots fit",
    "prepare_mamba_allocation": "makes room for states",
    "full_tokens_before_mamba_recheck": "asks how many slots have to go for so many states",
    "translate": "looks physical slots up",
    "set_move_gate": "a move gate of a band",
    "begin_forward": "a forward pass is launched",
    "fire_event": "a forward pass is over",
    "alloc_physical": "reserves physical SWA slots for a load from the host",
    "cancel_physical_reservation": "a reservation goes back unused",
    "finish_load": "the copies from the host are complete",
    "make_room": "the middle band is asked to move aside",
    "compact_holes": "the middle band closes its holes",
    "alloc_group_begin": "takes states out in advance",
    "alloc_group_end": "what is left of them goes back",
    "set_full_to_swa_mapping": "reserved SWA pages become the peers of these slots",
}
"""Of calls that hand out no slots: what they are about."""


class UnifiedNames:
    """The variables of a program, by what their numbers mean."""

    def __init__(self, page_size: int) -> None:
        self.tokens = Names(page_size)
        self.states = Names(1)
        self.physical = Names(page_size)

    def of(self, call: Call) -> Names:
        """The variables that a call's slots come from."""
        if call.pool == "state":
            return self.states
        return self.physical if call.method in PHYSICAL else self.tokens

    def add(self, call: Call, values: tuple[int, ...], number: int) -> Variable:
        """A variable for what ``call``, the program's ``number``-th, returned."""
        if call.pool == "state" and call.method == "alloc":
            return self.states.add("states", values)
        if call.method == "alloc_physical":
            return self.physical.add("reserved", values)
        if call.method in TOKENS:
            return self.tokens.add("row", values)
        return Variable(f"answer{number}", ())


class UnifiedCallCode(CallCode):
    """As ``CallCode``. What is no method of the composite by the same name in every allocator is a function of the script."""

    def __init__(self, call: Call, names: UnifiedNames, number: int) -> None:
        self._every = names
        super().__init__(call, names.of(call), number)

    def _expression(self) -> Group:
        call = self._call
        special = _SPECIAL.get(call.method)
        if special is not None:
            return special(self)
        if call.pool == "composite":
            return super()._expression()
        if call.pool == "state" and call.method in STATES_METHODS:
            opening = f"state_slots(allocator).{call.method}("
        else:
            opening = f'band(allocator, "{call.pool}").{call.method}('
        return Group(opening, tuple(self._arguments()), ")")

    def _arguments(self) -> list[Item]:
        if self._call.method == "set_full_to_swa_mapping":
            peers = self._every.physical.tensor(
                self._call.peers, wide=self._call.wide, copied=self._call.overwrite
            )
            return [*self._slots(), Item(self._kept(peers, 1))]
        return super()._arguments()

    def _function(self, name: str, *codes: Code) -> Group:
        return group(f"{name}(", ["allocator", *codes], ")")

    def _swa(self) -> str:
        call = self._call
        return str(call.need if call.need_swa is None else call.need_swa)

    def _clear(self) -> Group:
        return self._function("clear")

    def _flush(self) -> Group:
        return self._function("flush", f'"{self._call.pool}"', f"urgent={self._call.urgent}")

    def _method(self) -> Group:
        return group(f"allocator.{self._call.method}(", [str(self._call.need)], ")")

    def _ensure(self) -> Group:
        return group("allocator.ensure_capacity(", [str(self._call.need), self._swa()], ")")

    def _question(self, *more: str) -> Group:
        call = self._call
        evictable = [f"evictable_full={call.evictable_full}", f"evictable_swa={call.evictable_swa}"]
        empty = f"empty_pool={call.empty_pool}"
        return self._function(call.method, str(call.need), self._swa(), *evictable, empty, *more)

    def _plan(self) -> Group:
        return self._question(f"prefer_swa={self._call.prefer_swa}")

    def _reserve(self) -> Group:
        return self._question(f"require_token_slack={self._call.token_slack}")

    def _evict(self) -> Group:
        call = self._call
        name = "None"
        if call.tree is not None:
            name = f"tree{self._number}"
            rows = [
                group(
                    "(",
                    [
                        self._every.tokens.tensor(row.slots, wide=True),
                        str(row.start_pos),
                        str(row.bound),
                    ],
                    ")",
                )
                for row in call.tree.rows
            ]
            codes: list[Code] = ["allocator"]
            if rows:
                codes.append(group("rows=[", rows, "]"))
            if call.tree.states:
                states = self._every.states.elements(call.tree.states)
                codes.append(assigned("states", states, equals="="))
            if not call.tree.direct:
                codes.append("direct=False")
            self.before.append(assigned(name, group("Tree(", codes, ")")))
        function = "evict" if call.method == "evict_to_free_tokens" else "check_decode"
        prefer = f"prefer_swa={call.prefer_swa}"
        return self._function(function, name, str(call.need), str(call.need_swa), prefer)

    def _translate(self) -> Group:
        slots = self._names.tensor(self._call.slots, wide=self._call.wide)
        return self._function("translate", f'"{self._call.pool}"', slots)

    def _gate(self) -> Group:
        call = self._call
        answer = GATES[call.gate_state]
        return self._function("set_gate", f'"{call.pool}"', str(call.gate), answer)

    def _forward(self) -> Group:
        slots = self._names.tensor(self._call.slots, wide=self._call.wide)
        return self._function("begin_forward", str(self._call.event), slots)

    def _fire(self) -> Group:
        return self._function("fire_event", str(self._call.event))

    def _plainly(self) -> Group:
        return self._function(self._call.method)

    def _reserve_physical(self) -> Group:
        return self._function("alloc_physical", str(self._call.need))

    def _cancel(self) -> Group:
        return self._function("cancel_reservation", self._passed(self._call.slots, 0))

    def _room(self) -> Group:
        return self._function("make_room", f'"{self._call.side}"', str(self._call.need))

    def _compact(self) -> Group:
        return self._function("compact_holes", f'"{self._call.side}"')


_SPECIAL: dict[str, Callable[[UnifiedCallCode], Group]] = {
    "clear": UnifiedCallCode._clear,
    "flush": UnifiedCallCode._flush,
    "flush_deferred": UnifiedCallCode._plainly,
    "ensure_capacity": UnifiedCallCode._ensure,
    "reclaim_plan": UnifiedCallCode._plan,
    "can_reserve": UnifiedCallCode._reserve,
    "evict_to_free_tokens": UnifiedCallCode._evict,
    "check_decode_capacity": UnifiedCallCode._evict,
    "prepare_mamba_allocation": UnifiedCallCode._method,
    "full_tokens_before_mamba_recheck": UnifiedCallCode._method,
    "translate": UnifiedCallCode._translate,
    "set_move_gate": UnifiedCallCode._gate,
    "begin_forward": UnifiedCallCode._forward,
    "fire_event": UnifiedCallCode._fire,
    "finish_load": UnifiedCallCode._plainly,
    "alloc_physical": UnifiedCallCode._reserve_physical,
    "cancel_physical_reservation": UnifiedCallCode._cancel,
    "make_room": UnifiedCallCode._room,
    "compact_holes": UnifiedCallCode._compact,
}
