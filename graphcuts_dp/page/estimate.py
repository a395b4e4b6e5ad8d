"""Sentences on the error of a private estimate of how many rows people have.

The estimate is a limit that about 5 of 100 people exceed (`release.contributions.BoundJob`). With
`DEFAULT_CONFIDENCE`, the number of people above it differs from that share by at most as much as
for the best candidate, plus an error that is computed from epsilon alone. For the best candidate
the difference is at most the whole share, because nobody has more rows than the largest candidate.
So at most twice the share, plus the error, have more rows than the limit. If the error is above the
share, perhaps nobody has more, and the limit can be far too high.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.display import short, up_to_digits
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.page.words import BOUND_PRESET, KEYS

SHARE = Fraction(BOUND_PRESET[KEYS["share_above"]])
_DIGITS = 2  # of an epsilon that is proposed
_MOST_PEOPLE = 10**10


@final
@dataclass(frozen=True, kw_only=True)
class EstimateError:
    """The error of an estimate, from public numbers alone.

    Attributes:
        epsilon: spent by the estimate.
        error: a number of people: how much more the limit may miss the share by than the best
            candidate, see the module.
        people: a public guess of the number of people.
    """

    epsilon: float
    error: float
    people: int

    def __post_init__(self) -> None:
        if not 1 <= self.people <= _MOST_PEOPLE:
            raise ParameterError(
                "type about how many people are in the file, for example 500: a guess is enough"
            )

    @property
    def is_informative(self) -> bool:
        """True if the error is at most the share; else perhaps nobody is above the limit."""
        return self.error <= SHARE * self.people

    @property
    def sufficient_epsilon(self) -> float:
        """About the least epsilon that is informative; the error is proportional to its inverse."""
        return up_to_digits(self.epsilon * self.error / float(SHARE * self.people), _DIGITS)

    @property
    def most_of_100(self) -> int:
        """A bound on how many of 100 people have more rows than the limit."""
        return min(100, math.ceil(100 * (2 * SHARE + Fraction(self.error) / self.people)))

    @property
    def forecast(self) -> str:
        """A sentence to show before the estimate."""
        about = f"If there are about {self.people:,} people"
        if self.is_informative:
            return (
                f"{about}, at most {self.most_of_100} of 100 will have more rows than the limit "
                f"that comes out ({DEFAULT_PERCENT})."
            )
        return (
            f"{about}, nothing can be seen with {self.epsilon:g}: the limit that comes out may be "
            f"far too high. It takes {self.sufficient_epsilon:g}. A limit that you know without "
            "the file, such as one trip a day, uses nothing up."
        )

    def sentences(self, rows: int) -> str:
        """Return sentences to show after the estimate.

        Args:
            rows: the limit that came out.
        """
        used = f"This used up {self.epsilon:g}."
        if self.is_informative:
            return (
                f"About {short(float(100 * SHARE))} of 100 people have more than {rows:,} rows, "
                f"and at most {self.most_of_100} of 100 ({DEFAULT_PERCENT}), if there are about "
                f"{self.people:,} people. {used}"
            )
        return (
            f"The estimate is {rows:,} rows. With about {self.people:,} people this says nothing: "
            "perhaps nobody has as many rows, and a limit that is too high makes the table noise. "
            f"It takes {self.sufficient_epsilon:g} to see it. {used}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for the page."""
        sufficient = self.sufficient_epsilon
        return {
            "text": self.forecast,
            "is_informative": self.is_informative,
            "sufficient": sufficient,
        }


def error_of(people: int, expected: Mapping[str, Any]) -> EstimateError:
    """Return the error of an estimate.

    Args:
        people: a public guess of the number of people.
        expected: the preview of the estimate.

    Raises:
        ParameterError: no number of people.
    """
    error = float(expected["errors"][0]["bound"])
    return EstimateError(epsilon=expected["epsilon"], error=error, people=people)
