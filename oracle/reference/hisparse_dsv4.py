"""The HiSparse allocator over a hybrid one, whose device holds one slot for every four FULL slots (contract_paged_swa §7.2).

Of four FULL slots the last one stands for all: with it, their compressed id gets a place on the device.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from oracle.call import Call
from oracle.contract import Contract
from oracle.family_sizes import COMPRESSION
from oracle.geometry import Geometry, Mode
from oracle.observation import Snapshot
from oracle.reference import page_layout
from oracle.reference.device_tier import DeviceTier
from oracle.reference.hybrid_swa import HybridPool
from oracle.reference.pool import Pool, joined
from oracle.reference.raised import leave_undefined, not_implemented
from oracle.reference.signals import Signals


class CompressedHiSparsePool(Pool):
    """``group`` holds the slots of deferred frees of both sides, ``full_pile`` those of the FULL side. The group of ``logical`` is
    never opened."""

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        super().__init__(geometry.page_size, contract)
        self.logical = HybridPool(geometry, mode, contract)
        self.signals: Signals = self.logical.signals
        self.device_page_size = geometry.page_size // COMPRESSION
        self.device = DeviceTier(
            geometry.family_sizes.device_size,
            self.device_page_size,
            geometry.size // COMPRESSION,
            contract,
            need_sort=geometry.need_sort,
            debug=mode.debug and contract.has_debug,
        )
        self.full_pile: list[list[int]] = []

    def clear(self) -> None:
        """Back to the state after construction, in a group too (rule 4)."""
        self.logical.clear()
        self.device.clear()
        self.group = None
        self.full_pile = []

    def alloc(self, need: int) -> list[int] | None:
        """Does not exist here (§7.2)."""
        not_implemented(f"{need} slots cannot be placed without their positions")

    def alloc_extend(self, call: Call) -> list[int] | None:
        """New slots with peers, and places for the fours that they complete; None, with nothing merged, when the logical
        allocator or the device is short of pages (§7.2)."""
        admitted = self.logical.admits_extend(call)
        prefix_lens = [length // COMPRESSION for length in call.prefix_lens]
        seq_lens = [length // COMPRESSION for length in call.seq_lens]
        last_ids = [(last - (COMPRESSION - 1)) // COMPRESSION for last in call.last_loc]
        lasts = self.device.lasts_to_continue(prefix_lens, seq_lens, last_ids)
        pages = sum(page_layout.new_pages_of_extend(prefix_lens, seq_lens, self.device_page_size))
        if not admitted or not self.device.has_pages(pages):
            return None
        slots = self.logical.take_extend(call)
        if slots is not None:
            places = self.device.extend(prefix_lens, seq_lens, lasts)
            ids = compressed(slots)
            leave_undefined(
                unless=len(ids) == len(places),
                reason="the slots of a row do not lie at the page offsets of their positions",
            )
            self.device.places.assign(ids, places)
        return slots

    def alloc_logical_only(self, call: Call) -> list[int] | None:
        """New slots with peers, but without places on the device (§7.2)."""
        return self.logical.alloc_extend(call)

    def alloc_decode(self, call: Call) -> list[int] | None:
        """The logical allocator's (§7.2)."""
        return self.logical.alloc_decode(call)

    def alloc_extend_swa_tail(self, call: Call) -> list[int] | None:
        """The logical allocator's (§7.2)."""
        return self.logical.alloc_extend_swa_tail(call)

    def translate_loc_from_full_to_swa(self, slots: Sequence[int]) -> list[int]:
        """The logical allocator's (§6)."""
        return self.logical.translate_loc_from_full_to_swa(slots)

    def alloc_device_buffer(self, slots: Sequence[int], need: int) -> list[int]:
        """The places of ``slots``, which are compressed ids, as a buffer of the device (§7.1: ``H`` is asked for them)."""
        return self.device.take_buffer(slots, need, keeps_newest=True)

    def free_hisparse_indices(self, slots: Sequence[int]) -> None:
        """Release slots of the device (§7.1)."""
        self.device.release(slots)

    def free_hisparse(self, slots: Sequence[int]) -> None:
        """Release the places of the fours that ``slots`` complete (§7.1)."""
        self.device.give_up(compressed(slots))

    def free(self, slots: Sequence[int]) -> None:
        """Release the logical slots, then the places of the fours that they complete, or let the slots wait (§7.2)."""
        if not slots:
            return
        if self.group is not None:
            self.enqueue(slots)
            return
        self.logical.free(slots)
        self.free_hisparse(slots)

    def free_swa(self, slots: Sequence[int]) -> None:
        """The logical allocator's, at once in a group too (§7.2)."""
        self.logical.free_swa(slots)

    def free_swa_segment(self, slots: Sequence[int], start_pos: int) -> None:
        """The logical allocator's, at once in a group too (§7.2)."""
        self.logical.free_swa_segment(slots, start_pos)

    def free_full(self, slots: Sequence[int]) -> None:
        """Release the FULL side, or let the slots wait; the device is the caller's care (§7.2)."""
        if not slots:
            return
        if self.group is not None:
            self.full_pile = [*self.full_pile, list(slots)]
            return
        self.logical.free_full(slots)

    def free_group_begin(self) -> None:
        """Open the group (§7.2)."""
        self._leave_held_pile()
        super().free_group_begin()

    def free_group_end(self) -> None:
        """Close the group, then free what waits on both sides, whose peers are looked up now, then the FULL side (§7.2)."""
        if self.group is None:
            self._leave_held_pile()
        super().free_group_end()
        if self.full_pile:
            slots, self.full_pile = joined(self.full_pile), []
            self.free_full(slots)

    def snapshot(self) -> Snapshot:
        """Everything that can be seen of the allocator (§14)."""
        state = self.logical.snapshot()
        device = self.device.state()
        on_device = device.available * COMPRESSION
        queries = state.queries
        available = queries["available_size"]
        return structs.replace(
            state,
            group=None if self.group is None else self.group[:],
            queries={
                **queries,
                "available_size": min(available, on_device),
                "full_available_size": min(queries["full_available_size"], on_device),
                "logical_available_size": available,
                "device_available_size": device.available,
            },
            new_pages=[],
            device=device,
            device_mapping=self.device.places.entries[:],
            device_full_pile=self.full_pile[:],
        )

    def _leave_held_pile(self) -> None:
        """Give no prediction for a FULL pile that a failed group end left behind (§7.2 says nothing of it)."""
        leave_undefined(
            unless=self.group is not None or not self.full_pile,
            reason="the FULL pile of a group end that failed is dropped or kept",
        )


def compressed(slots: Sequence[int]) -> list[int]:
    """The compressed ids of the fours that ``slots`` complete, in order (§7.2)."""
    return [slot // COMPRESSION for slot in slots if (slot + 1) % COMPRESSION == 0]
