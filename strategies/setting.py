"""What a machine runs on and when it raises: the description from which a machine class is made.

Guarantees that different settings have different names. Builds nothing.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from oracle.geometry import Family, Geometry, Level
from oracle.lockstep import Judging
from oracle.target import Target
from oracle.trace import Callers

Raising = Literal["never", "findings", "hazards"]
"""When a machine raises: never (campaigns), at the first finding that is no hazard, or at the first of any kind."""


class MachineSetting(Struct, frozen=True, kw_only=True):
    """What a machine runs. ``debug`` None and ``geometry`` None: drawn for each example. ``label`` is part of the name."""

    targets: tuple[Target, ...]
    family: Family
    callers: Callers = "mixed"
    level: Level = "off"
    debug: bool | None = None
    judging: Judging = Judging()
    geometry: Geometry | None = None
    label: str = ""

    def machine_name(self) -> str:
        """A name that is unique among settings: Hypothesis keys its database of failures by it."""
        what: list[object] = [self.family, self.callers, self.level]
        if self.debug is not None:
            what.append("debug" if self.debug else "plain")
        what += [target.name for target in self.targets]
        what += [name for name in ("prediction", "laws") if not getattr(self.judging, name)]
        if self.geometry is not None:
            sizes = self.geometry
            what += [sizes.size, sizes.size_swa, sizes.page_size, int(sizes.need_sort)]
        what.append(self.label)
        letters = "_".join(str(part) for part in what if part != "")
        return "".join(letter if letter.isalnum() else "_" for letter in f"machine_{letters}")
