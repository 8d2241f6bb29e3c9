"""The device below a larger logical pool: its pages, and the table from what has a place there to that place
(contract_paged_swa §7).

Two allocators stand on it. What is looked up in the table is a logical slot in the one and a compressed id in the other; both
are called keys here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oracle.contract import Contract
from oracle.observation import PoolState
from oracle.reference.paged_alloc import PagedPool
from oracle.reference.peer_mapping import PeerMapping
from oracle.reference.raised import PredictedError, UndefinedError, leave_undefined, require

NO_PLACE = 0


class DeviceTier:
    """``pool`` hands out the device's pages; ``places`` is H: 0 for a key that has no place, -1 at the end."""

    def __init__(
        self,
        size: int,
        page_size: int,
        keys: int,
        contract: Contract,
        *,
        need_sort: bool,
        debug: bool,
    ) -> None:
        self.page_size = page_size
        self.pool = PagedPool(size, page_size, contract, need_sort=need_sort, debug=debug)
        self.places = PeerMapping(keys, page_size)

    def clear(self) -> None:
        """Every page is free and no key has a place."""
        self.pool.clear()
        self.places.clear()

    def lasts_to_continue(
        self, prefix_lens: Sequence[int], seq_lens: Sequence[int], last_keys: Sequence[int]
    ) -> list[int]:
        """The places of the last keys. A partial page that goes on must have one: anything else is the caller's error, and
        an allocator may refuse it as early as it likes (§6.2 says so of peers)."""
        lasts = self.places.peers(last_keys)
        grown = zip(prefix_lens, seq_lens, lasts, strict=True)
        leave_undefined(
            unless=all(
                last > NO_PLACE
                for prefix, seq, last in grown
                if seq > prefix and prefix % self.page_size
            ),
            reason="a request continues a partial page whose last slot has no place on the device",
        )
        return lasts

    def has_pages(self, pages: int) -> bool:
        """Whether that many pages can be handed out, staged ones included."""
        return pages <= self.pool.available_pages()

    def extend(
        self, prefix_lens: Sequence[int], seq_lens: Sequence[int], lasts: Sequence[int]
    ) -> list[int]:
        """Places for requests that grow; there are pages enough (§5.3)."""
        try:
            self.pool.require_extend_continues(prefix_lens, lasts)
        except PredictedError:
            raise UndefinedError(
                "debug: the last slot before a page start has no place on the device"
            ) from None
        plan = self.pool.plan_extend(prefix_lens, seq_lens, lasts)
        if plan is None:
            raise PredictedError("AssertionError", "device: there are no pages left")
        return self.pool.take(plan)

    def release(self, slots: Iterable[int]) -> None:
        """Release the pages of these slots of the device, padding skipped (§7.1 free_hisparse_indices)."""
        self.pool.free([slot for slot in slots if slot >= self.page_size])

    def give_up(self, keys: Iterable[int]) -> None:
        """Release the pages on which ``keys`` have their places, and forget every place on them (§7.1 free_hisparse)."""
        places = [place for place in self.places.peers(keys) if place > NO_PLACE]
        try:
            self.release(places)
        except PredictedError:
            raise UndefinedError(
                "debug: the places of what was released twice may be kept"
            ) from None
        self.places.unmap(self._keys_on({place // self.page_size for place in places}))

    def take_buffer(self, keys: Sequence[int], need: int, *, keeps_newest: bool) -> list[int]:
        """The places of ``keys`` become a buffer of ``need`` slots: what is too much goes back, what lacks is added (§7).

        ``keeps_newest``: where the places reach past the start of the buffer's last page, the newest of them is exchanged for
        the one that would come first on that page, so that it stays (§7.2).
        """
        leave_undefined(unless=need >= 0, reason=f"a buffer of {need} slots is negative")
        size = self.page_size
        require(need % size == 0, f"buffer: {need} slots are no whole pages of {size}")
        places = self.places.peers(keys)
        self.places.unmap(keys)
        buffer = [place for place in places if place > NO_PLACE]
        self._require_whole_pages(buffer)
        rest_of_page = (
            [] if not buffer else list(range(buffer[-1] + 1, _page_end(buffer[-1], size)))
        )
        if keeps_newest and len(buffer) > need - size + 1:
            leave_undefined(unless=need > 0, reason="a buffer of no slots has no last page")
            last, first = len(buffer) - 1, need - size
            buffer[last], buffer[first] = buffer[first], buffer[last]
        if len(buffer) >= need:
            self._release_surplus(buffer[:need], buffer[need:], spares_kept_pages=keeps_newest)
            return buffer[:need]
        buffer += rest_of_page
        added = self.pool.alloc(need - len(buffer))
        require(added is not None, f"buffer: the device lacks {need - len(buffer)} slots")
        return buffer + (added or [])

    def state(self) -> PoolState:
        """Everything that can be seen of the device's pages (§14)."""
        return self.pool.state()

    def _release_surplus(
        self, kept: Sequence[int], surplus: Sequence[int], *, spares_kept_pages: bool
    ) -> None:
        kept_pages = {place // self.page_size for place in kept} if spares_kept_pages else set()
        self.release(place for place in surplus if place // self.page_size not in kept_pages)

    def _require_whole_pages(self, buffer: Sequence[int]) -> None:
        """Give no prediction unless the places are page after page from its start, the last perhaps partial, and no other
        key has a place on them: only then a buffer can be cut and filled up by pages."""
        size = self.page_size
        in_order = all(
            place % size == at % size and (at % size == 0 or place == buffer[at - 1] + 1)
            for at, place in enumerate(buffer)
        )
        pages = {place // size for place in buffer}
        leave_undefined(
            unless=in_order and len(pages) == -(-len(buffer) // size) and not self._keys_on(pages),
            reason="a buffer is made of parts of pages",
        )

    def _keys_on(self, pages: set[int]) -> list[int]:
        size = self.page_size
        return [
            key
            for key, place in enumerate(self.places.entries)
            if place > NO_PLACE and place // size in pages
        ]


def _page_end(slot: int, page_size: int) -> int:
    return (slot // page_size + 1) * page_size
