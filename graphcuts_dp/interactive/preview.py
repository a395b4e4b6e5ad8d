"""What a request to a session would use."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Preview:
    """What a request would use.

    Attributes:
        queries: asked for, each distinct one once.
        free: of these, already on the record, or without pairs.
        new: of these, would be answered by the mechanism.
        left: guaranteed answers that are left; None when there is no limit.
    """

    queries: int
    free: int
    new: int
    left: int | None

    @property
    def allowed(self) -> bool:
        """Whether enough is left for all of it."""
        return self.left is None or self.new <= self.left
