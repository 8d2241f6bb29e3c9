"""How a band that owns virtual pages hands them out (contract_unified §5).

Guarantees that no id leaves the list when physical pages are short.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from targets.eager.unified.relief import relieve

if TYPE_CHECKING:
    import torch

    from targets.eager.unified.band import Band


def take_ids(band: Band, count: int) -> torch.Tensor | None:
    """``count`` virtual pages from the head of ``band``'s ids, bound; None and no id taken when they are short."""
    if count > band.id_count or not relieve(band, count * band.page_size):
        return None
    return band.hand_out(count)


def take_ids_relieved(band: Band, count: int) -> torch.Tensor | None:
    """The same, but relief comes before the ids are counted, so a refusal may have moved pages (§5)."""
    return take_ids(band, count) if relieve(band, count * band.page_size) else None


def alloc(band: Band, need: int) -> torch.Tensor | None:
    """``need`` slots int64 of ``band``, or None. Raises AssertionError when they are no whole pages."""
    if need <= 0:
        return band.no_pages()
    assert need % band.page_size == 0, f"{need} slots are no whole pages"
    ids = take_ids_relieved(band, need // band.page_size)
    return None if ids is None else band.slots_of(ids)
