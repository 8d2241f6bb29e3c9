"""The environment variables through which an allocator's own checks are switched (contract_paged_swa §0, §2).

Guarantees that the variables have their former values again afterwards, however the block ends. Does not rebuild
anything: the debug mode takes effect at the next construction only.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oracle.geometry import Mode

INVARIANT_CHECK = "SGLANG_INVARIANT_CHECK"
DEBUG_MEMORY_POOL = "SGLANG_DEBUG_MEMORY_POOL"
LEVEL_NUMBERS = {"off": "0", "warn": "1", "strict": "2"}


def environment_of(mode: Mode) -> dict[str, str]:
    """The variables and values that switch an allocator to ``mode``.

    The level is always written out, because a missing variable leaves it to ``SGLANG_ENABLE_ASYNC_ASSERT``.
    """
    return {
        INVARIANT_CHECK: LEVEL_NUMBERS[mode.level],
        DEBUG_MEMORY_POOL: "1" if mode.debug else "0",
    }


class switched:  # noqa: N801 (used as a statement: ``with switched(mode):``)
    """Run a block with the environment switched to ``mode``, and put the former values back."""

    __slots__ = ("_former", "_wanted")

    def __init__(self, mode: Mode) -> None:
        self._wanted = environment_of(mode)
        self._former: list[tuple[str, str | None]] = []

    def __enter__(self) -> None:
        environment = os.environ
        for name, value in self._wanted.items():
            before = environment.get(name)
            if before != value:
                self._former.append((name, before))
                environment[name] = value

    def __exit__(self, *_: object) -> None:
        for name, before in self._former:
            if before is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = before
        self._former.clear()
