"""What a campaign's main process asks of the options of a command, whichever command it is."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from campaigns.budget import Share
from campaigns.known_findings import KnownFile
from campaigns.messages import Job, KnownEntry, Where
from oracle.geometry import Family


class CampaignOptions(Protocol):
    """The options of a campaign over targets and families."""

    @property
    def targets(self) -> list[str]:
        """What is put under test, as the person named it."""

    @property
    def families(self) -> tuple[Family, ...]:
        """The kinds of allocator that are asked for."""

    @property
    def device(self) -> str:
        """Where the allocators' tensors live."""

    @property
    def out(self) -> Path:
        """Where findings are saved."""

    @property
    def laws_only(self) -> bool:
        """Whether the laws judge without the prediction."""

    @property
    def known(self) -> KnownFile | None:
        """The findings that are accepted."""

    @property
    def fail_on_hazard(self) -> bool:
        """Whether hazards alone fail the run."""

    @property
    def workers(self) -> int:
        """How many targets run at once."""

    @property
    def switches(self) -> list[str]:
        """What the first line of the run says of these options, device and versions left out."""

    def where(self, target: str, journal: Path) -> Where:
        """Where a child runs ``target``."""

    def known_on(self, target: str) -> tuple[KnownEntry, ...]:
        """The known findings that are accepted, or were, on ``target``."""

    def origin(self, target: str) -> str:
        """What a saved trace says of where it comes from."""

    def shares(self) -> list[dict[Family, Share]]:
        """For each target, what each family gets of the budget."""

    def job(
        self,
        families: tuple[Family, ...],
        where: Where,
        share: Share,
        *,
        known: tuple[KnownEntry, ...],
        replays_known: bool,
        attempt: int,
    ) -> Job:
        """What a child does about ``families``, those of its target that are still to do, with ``share`` of the budget.

        ``attempt``: how many children have died of them before, so that something else is tried.
        """
