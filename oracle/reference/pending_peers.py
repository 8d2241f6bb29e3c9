"""The peers of slots whose free waits for the group end with the mapping still in place (contract_paged_swa §13.2).

Guarantees that what is released at the end are the peers that the slots had when they were freed. A peer mapped to such a
slot later is nobody's to release: it stays, and so does its entry.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.reference.peer_mapping import UNMAPPED, PeerMapping


class PendingPeers:
    """For each FULL slot that waits, the peers that wait with it: usually one, more after a remap and another free."""

    def __init__(self, mapping: PeerMapping) -> None:
        self._mapping = mapping
        self._peers: dict[int, tuple[int, ...]] = {}

    def drop(self) -> None:
        """Nothing waits any more."""
        self._peers = {}

    def note(self, slots: Sequence[int]) -> None:
        """A free of ``slots`` is deferred: their present peers wait."""
        for slot, peer in zip(slots, self._mapping.peers(slots), strict=True):
            waiting = self._peers.get(slot, ())
            if peer > UNMAPPED and peer not in waiting:
                self._peers[slot] = (*waiting, peer)

    def forget_mapped(self, slots: Sequence[int]) -> None:
        """The present peers of ``slots`` are taken by another call, so they wait no longer."""
        for slot in slots:
            if slot in self._peers:
                taken = self._mapping.entries[slot]
                self._peers[slot] = tuple(peer for peer in self._peers[slot] if peer != taken)

    def take(self, slots: Sequence[int]) -> tuple[list[int], list[int]]:
        """The peers that wait for ``slots``, and those of the slots that still have one of them. They wait no longer.

        A slot that is named twice gives its peers twice, as a gather does.
        """
        peers = [peer for slot in slots for peer in self._peers.get(slot, ())]
        still_mapped = [
            slot
            for slot in slots
            if slot in self._peers and self._mapping.entries[slot] in self._peers[slot]
        ]
        for slot in slots:
            self._peers.pop(slot, None)
        return peers, still_mapped
