"""The HiSparse allocator: a large logical pool above a smaller device pool (contract_paged_swa §7.1).

A row has its slots in the logical pool; those that have a place on the device are in the table. Frees are always immediate.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle.call import Call
from oracle.contract import Contract
from oracle.geometry import Geometry, Mode
from oracle.observation import Snapshot
from oracle.reference import page_layout
from oracle.reference.device_tier import DeviceTier
from oracle.reference.paged_alloc import PagedPool
from oracle.reference.pool import Pool
from oracle.reference.raised import PredictedError, leave_undefined, not_implemented, require
from oracle.reference.signals import Signals


class HiSparsePool(Pool):
    """``logical`` and the device's pool are paged, at page size 1 too. ``scratch`` is what a request keeps beside its buffer
    in speculative decoding, ``buffer`` how large that buffer is."""

    def __init__(self, geometry: Geometry, mode: Mode, contract: Contract) -> None:
        super().__init__(geometry.page_size, contract)
        self.signals = Signals(mode.level, contract)
        need_sort, debug = geometry.need_sort, mode.debug and contract.has_debug
        self.size = geometry.size * geometry.family_sizes.ratio
        self.logical = PagedPool(
            self.size, geometry.page_size, contract, need_sort=need_sort, debug=debug
        )
        self.device = DeviceTier(
            geometry.size,
            geometry.page_size,
            self.size,
            contract,
            need_sort=need_sort,
            debug=debug,
        )
        self.scratch = 0
        self.buffer = 0
        self.cleared_since_configured = False

    def clear(self) -> None:
        """Back to the state after construction (rule 4)."""
        self.logical.clear()
        self.device.clear()
        self.cleared_since_configured = True

    def alloc(self, need: int) -> list[int] | None:
        """``need`` slots with places on the device, at page size 1 only. When the device is short, the logical slots go back:
        sorted to the head, or staged (§7.1, §12)."""
        if self.page_size != 1:
            not_implemented(f"alloc needs page size 1, it is {self.page_size}")
        slots = self.logical.alloc(need)
        if slots is None:
            return None
        places = self.device.pool.alloc(need)
        if places is None:
            self.logical.free(slots)
            return None
        self.device.places.assign(slots, places)
        return slots

    def alloc_extend(self, call: Call) -> list[int] | None:
        """New slots with places on the device; None, with nothing merged, when either side is short of pages (§7.1)."""
        page_layout.check_extend_shapes(call)
        prefix_lens, seq_lens = call.prefix_lens, call.seq_lens
        lasts = self.device.lasts_to_continue(prefix_lens, seq_lens, call.last_loc)
        pages = sum(page_layout.new_pages_of_extend(prefix_lens, seq_lens, self.page_size))
        page_layout.check_new_pages(call.num_new_pages, pages)
        if pages > self.logical.available_pages() or not self.device.has_pages(pages):
            return None
        slots = self.logical.alloc_extend(call)
        if slots is None:
            raise PredictedError("AssertionError", "logical: there are no pages left")
        self.device.places.assign(slots, self.device.extend(prefix_lens, seq_lens, lasts))
        return slots

    def alloc_logical_only(self, call: Call) -> list[int] | None:
        """New slots that have no place on the device (§7.1)."""
        return self.logical.alloc_extend(call)

    def alloc_decode(self, call: Call) -> list[int] | None:
        """One new slot for each request, without a place on the device (§7.1)."""
        return self.logical.alloc_decode(call)

    def alloc_device_buffer(self, slots: Sequence[int], need: int) -> list[int]:
        """The places of ``slots`` as a buffer of the device (§7.1)."""
        return self.device.take_buffer(slots, need, keeps_newest=False)

    def free_hisparse_indices(self, slots: Sequence[int]) -> None:
        """Release slots of the device (§7.1)."""
        self.device.release(slots)

    def free_hisparse(self, slots: Sequence[int]) -> None:
        """Release the places of ``slots`` on the device (§7.1)."""
        self.device.give_up(slots)

    def free(self, slots: Sequence[int]) -> None:
        """Release the logical pages, and on the device what ``slots`` have there (§7.1)."""
        if not slots:
            return
        self.logical.free(slots)
        self.free_hisparse(slots)
        for name, pool in (("logical", self.logical), ("device", self.device.pool)):
            available = pool.available_size()
            require(available <= pool.size, f"over-credit {name}: {available} of {pool.size} slots")

    def free_group_begin(self) -> None:
        """Nothing: frees are immediate, and a begin may follow a begin (§7.1)."""

    def free_group_end(self) -> None:
        """Nothing (§7.1)."""

    def configure_spec_scratch(self, scratch: int, buffer: int) -> None:
        """Set up both sizes, which are whole pages (§7.1)."""
        for name, slots in (("scratch", scratch), ("buffer", buffer)):
            if slots < 0 or slots % self.page_size:
                raise PredictedError("ValueError", f"{name}: {slots} slots are no whole pages")
        self.scratch = scratch
        self.buffer = buffer
        self.cleared_since_configured = False

    def request_slot_reserve(self, prefill: int, slot_held: bool) -> list[int]:
        """What a request still takes on the device: its buffer beyond the prefill, and the scratch it has not yet (§7.1)."""
        leave_undefined(unless=prefill >= 0, reason=f"a prefill of {prefill} slots is negative")
        leave_undefined(
            unless=not (self.scratch and self.cleared_since_configured),
            reason="a clear may or may not take back what was configured",
        )
        filled = page_layout.whole_pages(prefill, self.page_size) * self.page_size
        buffer = max(self.buffer - filled, 0) if self.scratch else 0
        return [buffer + (0 if slot_held else self.scratch)]

    def snapshot(self) -> Snapshot:
        """Everything that can be seen of the allocator (§14)."""
        logical, device = self.logical.state(), self.device.state()
        return Snapshot(
            full=logical,
            swa_set_pile=[],
            swa_page_pile=[],
            queries={
                "available_size": min(logical.available, device.available),
                "size": self.size,
                "size_full": self.size,
                "logical_available_size": logical.available,
                "device_available_size": device.available,
            },
            new_pages=[],
            device=device,
            device_mapping=self.device.places.entries[:],
        )
