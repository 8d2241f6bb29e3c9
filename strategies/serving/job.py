"""What the scheduler knows of a request, and of a finished row that the prefix cache keeps."""

from __future__ import annotations

from dataclasses import dataclass

from oracle.ownership import Request


@dataclass(eq=False)
class Job:
    """A request from its arrival to its end. Lengths are in tokens.

    ``prompt`` grows by what was generated when the request is retracted, because that has to be computed again.
    ``committed`` is how much of the row is settled; the row itself is longer where more was allocated than accepted.
    """

    prompt: int
    output: int
    family: int = 0
    shared: int = 0
    """How long the part of the prompt is that all prompts of the family have."""
    draft: int = 0
    """How many tokens a speculative step drafts; 0 decodes one by one."""
    gives_back: bool = False
    """Rejected drafts are given back at once rather than kept for the next step."""
    loaded: bool = False
    remote: bool = False
    row: Request | None = None
    committed: int = 0
    hit: int = 0
    """How long the prefix was that came from the cache."""
    evicted: int = 0
    """How far the window's evictions came."""

    @property
    def length(self) -> int:
        """How long the row is, what was allocated ahead included."""
        return len(self.row.slots) if self.row is not None else 0

    @property
    def is_prefilled(self) -> bool:
        """Whether the whole prompt is in the row."""
        return self.committed >= self.prompt


@dataclass(eq=False)
class Cached:
    """A finished row in the prefix cache; ``usable`` slots at its start can be shared with prompts of ``family``."""

    row: Request
    family: int
    usable: int
