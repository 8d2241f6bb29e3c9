"""A reference allocator of a further family with the laws that watch it, and the books that a test keeps by hand."""

from __future__ import annotations

import copy
from typing import Any

from oracle.call import Call
from oracle.contract import current_contract
from oracle.family_sizes import FamilySizes
from oracle.geometry import Geometry, Mode
from oracle.laws import Violation, make_laws
from oracle.laws.made_call import MadeCall
from oracle.observation import Outcome, Snapshot
from oracle.ownership import Ownership, Request
from oracle.reference import make_reference


class FamilyHouse:
    """The books hold what ``row`` put there, and what the test writes into them."""

    def __init__(self, geometry: Geometry, *, level: Any = "off", debug: bool = False) -> None:
        self.reference = make_reference(
            geometry, Mode(level=level, debug=debug), current_contract(geometry.family)
        )
        self.laws = make_laws(geometry)
        self.books = Ownership(geometry.page_size)

    def does(self, method: Any, *, breaches: tuple[str, ...] = (), **arguments: Any) -> Outcome:
        """Make a call that no law objects to."""
        outcome, found = self.tries(method, breaches=breaches, **arguments)
        assert found is None, (method, arguments, found)
        return outcome

    def tries(
        self, method: Any, *, breaches: tuple[str, ...] = (), **arguments: Any
    ) -> tuple[Outcome, Violation | None]:
        """Make a call, and say what the laws find."""
        arguments = {
            name: tuple(value) if isinstance(value, list | range) else value
            for name, value in arguments.items()
        }
        call = Call(method=method, **arguments)
        before = self.reference.snapshot()
        outcome = self.reference.apply(call)
        assert self.reference.undefined == "", self.reference.undefined
        self.books.written.clear()
        after = self.reference.snapshot()
        return outcome, self.laws.judge_call(
            MadeCall(call, breaches, outcome, before, after), self.books
        )

    def claims(self, outcome: Outcome, method: Any, **arguments: Any) -> Violation | None:
        """What the laws find when a target answers a call with ``outcome`` and changes nothing."""
        state = self.reference.snapshot()
        arguments = {
            name: tuple(value) if isinstance(value, list | range) else value
            for name, value in arguments.items()
        }
        call = Call(method=method, **arguments)
        return self.laws.judge_call(MadeCall(call, (), outcome, state, state), self.books)

    def row(self, slots: Any, *, peered: Any = ()) -> Request:
        """A new request holds ``slots`` from now on."""
        request = self.books.open_request()
        self.books.grow(request, list(slots), peered=peered)
        return request

    def judge(self, **changes: Any) -> Violation | None:
        """Judge the state, with some of it changed: ``full__free``, ``mapping``, ``queries__size``."""
        state: Snapshot = copy.deepcopy(self.reference.snapshot())
        for name, value in changes.items():
            owner, _, field = name.partition("__")
            if not field:
                setattr(state, owner, value)
            elif owner == "queries":
                state.queries[field] = value
            else:
                setattr(getattr(state, owner), field, value)
        return copy.deepcopy(self.laws).judge_state(state, self.books)

    def settle(self) -> None:
        """Judge the state as it is, and let the laws remember it: nothing is wrong."""
        found = self.laws.judge_state(self.reference.snapshot(), self.books)
        assert found is None, found


def family_geometry(
    family: Any,
    size: int,
    page_size: int = 1,
    *,
    size_swa: int = 0,
    need_sort: bool = False,
    **sizes: int,
) -> Geometry:
    """A geometry with the family's own sizes."""
    fields: dict[str, Any] = {"sizes": FamilySizes(**sizes)} if sizes else {}
    geometry = Geometry(
        family=family,
        size=size,
        page_size=page_size,
        size_swa=size_swa,
        need_sort=need_sort,
        **fields,
    )
    geometry.check()
    return geometry


def broken(found: Violation | None, law: str, pool: str) -> Violation:
    """The violation, which is one of ``law`` in ``pool``."""
    assert found is not None, f"{law} did not fire"
    assert (found.law, found.pool) == (law, pool), found
    return found
