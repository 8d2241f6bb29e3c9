"""Device memory of our allocators: buffers between guard bytes, and the addresses at which kernels find them.

Guarantees that a write up to ``GUARD_BYTES`` in front of a buffer or behind it hits a guard and not another buffer, and that looking
at the guards changes nothing. A write further away is not seen; compute-sanitizer sees it.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

GUARD_BYTES = 64
"""On each side; a multiple of every dtype's size, so that buffers stay aligned."""
GUARD = 0xA5
"""What each byte of a guard holds. Buffers that are not zeroed begin with it too, so that reading them too early shows."""


_guarded = True


def leave_out_guards() -> None:
    """From now on buffers have no guards and begin with nothing, so that a sanitizer sees their ends and reads before a write."""
    global _guarded
    _guarded = False


class Address(int):
    """Where ``tensor`` lies, a plain number for the launcher of a compiled kernel, which would otherwise ask each tensor."""

    tensor: torch.Tensor


def address_of(tensor: torch.Tensor) -> Address:
    """The address of the first element of ``tensor``, which stays alive as long as its address."""
    address = Address(tensor.data_ptr())
    address.tensor = tensor
    return address


class DeviceBuffer:
    """``count`` elements of ``dtype`` on ``device``, ``tensor`` (1-D) at ``address``, between the two ``guards``."""

    def __init__(
        self, count: int, dtype: torch.dtype, device: torch.device, *, zero: bool = False
    ) -> None:
        length = count * dtype.itemsize
        guard = GUARD_BYTES if _guarded else 0
        memory = torch.empty(length + 2 * guard, dtype=torch.uint8, device=device)
        if guard:
            memory.fill_(GUARD)
        self.tensor = memory[guard : guard + length].view(dtype)
        if zero:
            self.tensor.zero_()
        self.address = address_of(self.tensor)
        self.guards = (memory[:guard], memory[guard + length :])


def overwritten(buffers: Mapping[str, DeviceBuffer]) -> list[str]:
    """Which guards do not hold what they did at first, as ``in front of NAME`` or ``behind NAME``. Waits for the device, once."""
    if not (buffers and _guarded):
        return []
    guards = torch.cat([guard for buffer in buffers.values() for guard in buffer.guards])
    damaged = (guards.view(-1, 2, GUARD_BYTES) != GUARD).any(dim=2).tolist()
    return [
        f"{side} {name}"
        for name, sides in zip(buffers, damaged, strict=True)
        for side, hit in zip(("in front of", "behind"), sides, strict=True)
        if hit
    ]
