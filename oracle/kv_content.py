"""The fake KV: which number stands in which slot, so that a lost or misdirected page shows (contract_unified §15).

Every implementation of a unified allocator under test numbers and writes as said here; that is what makes contents comparable.

- Numbers count from 1 since construction; ``clear`` goes on counting and erases nothing.
- After a call that returned virtual slots (``TOKEN_WRITERS`` on the composite, ``alloc`` on ``state``), the k-th returned slot
  gets the next number. A FULL slot's number is written on FULL and on SWA, a state's on the state band, each at the physical
  slot that the band's table then names. A slot that is not bound on a band (-1), or that lies on page 0, is not written there.
- After ``set_full_to_swa_mapping`` each of ``slots`` in turn gets the next number, on SWA only: its KV was loaded again.
- A page move copies the page's numbers. Content has one page more than the band, where index -1 leads.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableSequence, Sequence

from oracle.byte_buffer import BandName
from oracle.call import Call
from oracle.observation import Outcome

TOKEN_WRITERS = frozenset({"alloc", "alloc_extend", "alloc_extend_swa_tail", "alloc_decode"})


def written_by(call: Call, outcome: Outcome) -> tuple[Sequence[int], tuple[BandName, ...]]:
    """The virtual slots whose KV is written because of ``call``, in order, and the bands on which it is."""
    if outcome.error:
        return (), ()
    if call.method == "set_full_to_swa_mapping":
        return call.slots, ("swa",)
    if call.method in TOKEN_WRITERS and outcome.value:
        return outcome.value, ("state",) if call.pool == "state" else ("full", "swa")
    return (), ()


def write(
    content: MutableSequence[int],
    v2p: Sequence[int],
    page_size: int,
    slots: Iterable[int],
    number: int,
) -> None:
    """Write ``number`` and its successors for ``slots`` of one band, where they are bound."""
    for slot in slots:
        page = v2p[slot // page_size]
        if page > 0:
            content[page * page_size + slot % page_size] = number
        number += 1
