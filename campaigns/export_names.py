"""Variables of an exported program: which of them holds the slots that a later call names.

Guarantees expressions that have the given values where the program was recorded, and that follow what the allocator
returns elsewhere: a slice of a row where there is one, a literal only where nothing returned the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from campaigns.export_layout import Code, group, numbers

if TYPE_CHECKING:
    from oracle.call import Call


@dataclass
class Variable:
    """What one call returned, under its name; ``used`` once something refers to it."""

    name: str
    values: tuple[int, ...]
    used: bool = False
    places: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.places = {value: place for place, value in reversed([*enumerate(self.values)])}


@dataclass(frozen=True)
class Piece:
    """A slice of a variable, or (without one) values that stand for themselves."""

    variable: Variable | None
    start: int
    values: tuple[int, ...]

    def code(self) -> str:
        """The slice as an expression; a whole variable is its name."""
        assert self.variable is not None
        stop = self.start + len(self.values)
        if not self.start and stop == len(self.variable.values):
            return self.variable.name
        return f"{self.variable.name}[{self.start}:{stop}]"


class Names:
    """The variables so far, newest last. ``page_size`` is that of the rows they hold."""

    def __init__(self, page_size: int) -> None:
        self.page_size = page_size
        self.variables: list[Variable] = []

    def add(self, prefix: str, values: Sequence[int]) -> Variable:
        """A new variable (``row1``, ``row2``, ``peers3``, ...)."""
        variable = Variable(f"{prefix}{len(self.variables) + 1}", tuple(values))
        self.variables.append(variable)
        return variable

    def pieces(self, values: Sequence[int]) -> list[Piece]:
        """``values`` cut into slices of variables, the newest that fits best, and literal rests."""
        found: list[Piece] = []
        start = 0
        while start < len(values):
            piece = self._longest(values, start)
            last = found[-1] if found else None
            if piece.variable is None and last is not None and last.variable is None:
                found[-1] = Piece(None, 0, last.values + piece.values)
            else:
                found.append(piece)
            start += len(piece.values)
        for piece in found:
            if piece.variable is not None:
                piece.variable.used = True
        return found

    def tensor(self, values: Sequence[int], *, wide: bool, copied: bool = False) -> Code:
        """A 1-D tensor of ``values``, int64 or int32; ``copied``: one that shares no memory with a variable."""
        pieces = self.pieces(values)
        dtype = "torch.int64" if wide else "torch.int32"
        if all(piece.variable is None for piece in pieces):
            return group("torch.tensor(", [numbers(values), f"dtype={dtype}"], ")")
        narrow = "" if wide else ".int()"
        if len(pieces) == 1:
            return pieces[0].code() + (narrow or (".clone()" if copied else ""))
        parts = [
            piece.code()
            if piece.variable is not None
            else group("torch.tensor(", [numbers(piece.values)], ")")
            for piece in pieces
        ]
        return group("torch.cat(", [group("[", parts, "]")], ")" + narrow)

    def elements(self, values: Sequence[int]) -> Code:
        """The same as a list of Python ints: the slots that live rows hold."""
        codes: list[Code] = []
        for piece in self.pieces(values):
            if piece.variable is None:
                codes += [item.code for item in numbers(piece.values).items]
            else:
                codes.append(f"*{piece.code()}.tolist()")
        return group("[", codes, "]")

    def one(self, value: int) -> str:
        """One slot: an element of a variable, or itself (-1 is always itself)."""
        piece = self.pieces([value])[0]
        if value < 0 or piece.variable is None:
            return str(value)
        return f"{piece.variable.name}[{piece.start}]"

    def pages(self, pages: Sequence[int]) -> Code:
        """Page ids, int64: the pages of a slice, or themselves."""
        page_size = self.page_size
        slots = [slot for page in pages for slot in range(page * page_size, (page + 1) * page_size)]
        pieces = self.pieces(slots)
        if page_size > 1 and len(pieces) == 1 and pieces[0].variable is not None:
            return f"{pieces[0].code()}[::{page_size}] // {page_size}"
        return group("torch.tensor(", [numbers(pages)], ")")

    def _longest(self, values: Sequence[int], start: int) -> Piece:
        best = Piece(None, 0, (values[start],))
        for variable in reversed(self.variables):
            place = variable.places.get(values[start])
            if place is None:
                continue
            count = 1
            while (
                start + count < len(values)
                and place + count < len(variable.values)
                and variable.values[place + count] == values[start + count]
            ):
                count += 1
            if best.variable is None or count > len(best.values):
                best = Piece(variable, place, tuple(values[start : start + count]))
        return best


class FixedNames:
    """The variables of a program for an allocator of fixed pools: slots of the pool that callers know, and of the device below.

    ``slots``: what the former are called in variables.
    """

    def __init__(self, page_size: int, device_page: int, slots: str = "row") -> None:
        self.tokens = Names(page_size)
        self.device = Names(device_page)
        self._slots = slots

    def of(self, call: Call) -> Names:
        """The variables that a call's slots come from."""
        return self.device if call.method == "free_hisparse_indices" else self.tokens

    def add(self, call: Call, values: Sequence[int], number: int) -> Variable:
        """A variable for what ``call``, the program's ``number``-th, returned."""
        if call.method == "alloc_device_buffer":
            return self.device.add("buffer", values)
        if call.method == "request_slot_reserve":
            return Variable(f"answer{number}", ())
        peers = call.method == "translate_loc_from_full_to_swa" or call.pool == "swa"
        return self.tokens.add("peers" if peers else self._slots, values)
