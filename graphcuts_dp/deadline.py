"""Time limits: the moment after which work stops at its next look at the clock."""

import math
import time
from dataclasses import dataclass
from typing import Self, final


@final
@dataclass(frozen=True)
class Deadline:
    """A moment after which no new step of some work should begin.

    Attributes:
        moment: in seconds of `time.monotonic`; infinity for never.
    """

    moment: float = math.inf

    @classmethod
    def after(cls, seconds: float | None) -> Self:
        """So many seconds from now, at least 0; never for None."""
        return cls() if seconds is None else cls(time.monotonic() + seconds)

    def passed(self) -> bool:
        """Whether the time is up."""
        return math.isfinite(self.moment) and time.monotonic() >= self.moment

    @property
    def seconds_left(self) -> float | None:
        """Seconds until then, at least 0; None for never."""
        if not math.isfinite(self.moment):
            return None
        return max(0.0, self.moment - time.monotonic())


NEVER = Deadline()
