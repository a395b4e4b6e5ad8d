"""How much owners have, as a noisy table: what a bound on each of them would leave out."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Self, final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.level_noise import LevelNoise, Spread

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_STEPS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70)
BOUNDS = tuple(
    sorted({step * 10**power for power in (0, 1, 2, 3) for step in _STEPS} - {0} | {100_000})
)
_MOST_BOUNDS = 1000
_FAILURE = 0.05  # probability that noise alone makes a class count


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Contributions(Displayed):
    """Noisy numbers of owners by how much they have. All of it may be published.

    Attributes:
        bounds: the public upper ends of the classes, ascending; behind the last one is one more.
        counts: of the owners in each class, noisy whole numbers, some of which may be negative,
            shape (bounds + 1,). Class i holds those with more than bounds[i-1] and at most
            bounds[i].
        rate: of the discrete Laplace noise of each count; None for a public table.
        what: what was counted: "pairs", "rows" or "units of weight".
        guarantee: what the table promises; None for a public one.
    """

    bounds: tuple[int, ...]
    counts: IntVector
    rate: Fraction | None = None
    what: str = "rows"
    guarantee: PrivacyGuarantee | None = None

    @classmethod
    def public(cls, bounds: tuple[int, ...], counts: list[int], what: str = "rows") -> Self:
        """A table that is known to everybody, such as one of earlier years.

        Args:
            bounds: as above.
            counts: of owners in each class, one more than bounds.
            what: was counted.

        Raises:
            ParameterError: bounds that do not ascend, or another number of counts.
        """
        found = check_bounds(bounds)
        if len(counts) != len(found) + 1:
            raise ParameterError("a table of contributions has one count more than bounds")
        return cls(bounds=found, counts=np.array(counts, dtype=np.int64), what=what)

    def owners_above(self, at_most: int, *, failure: float = 0.05) -> tuple[int, int]:
        """How many owners have more than a bound, and how far off that may be.

        Args:
            at_most: one of `bounds`.
            failure: in (0, 1): the probability with which it is farther off.

        Returns:
            The noisy number, and t with P(|error| > t) <= failure.

        Raises:
            ParameterError: it is none of the bounds.
        """
        above = self.counts[self._place(at_most) + 1 :]
        if self.rate is None:
            return int(above.sum()), 0
        spread = Spread(np.array([[float(len(above))]]), np.array([[1.0]]), 1)
        radius = LevelNoise("laplace", (self.rate,)).radii(spread, failure=failure)
        return int(above.sum()), math.ceil(radius[0])

    def left_out(self, at_most: int) -> tuple[float, float]:
        """What a bound leaves out of all rows: pairs, rows or units, from and to.

        Noisy: of each class it is known only between which numbers its owners have. The second one
        is infinite where owners are beyond the last bound. A class counts where it has more owners
        than noise alone makes of an empty one: with probability 95 % no empty class counts, since
        one owner of a hundred thousand rows that is not there would say more than all that are. A
        few owners of very much can be missed for that.

        Args:
            at_most: one of `bounds`.

        Raises:
            ParameterError: it is none of the bounds.
        """
        place = self._place(at_most)
        low = high = 0.0
        for number in range(place + 1, len(self.counts)):
            owners = int(self.counts[number])
            if owners <= self._made_by_noise:
                continue
            low += owners * (self.bounds[number - 1] + 1 - at_most)
            end = self.bounds[number] if number < len(self.bounds) else math.inf
            high += owners * (end - at_most)
        return low, high

    @property
    def _made_by_noise(self) -> int:
        """The number that noise alone passes in some class with probability .05 at most.

        P(N > t) <= e^(-rate (t+1)), for whole t.
        """
        if self.rate is None:
            return 0
        return math.ceil(math.log(len(self.counts) / _FAILURE) / float(self.rate)) - 1

    def _place(self, at_most: int) -> int:
        if at_most not in self.bounds:
            raise ParameterError(f"{at_most} is none of the bounds of this table")
        return self.bounds.index(at_most)

    @property
    def names(self) -> list[str]:
        """Of the classes, in words: "at most 1", "2 to 5", "over 5"."""
        names = [f"at most {self.bounds[0]:,}"]
        for low, high in pairwise(self.bounds):
            names.append(f"{high:,}" if high == low + 1 else f"{low + 1:,} to {high:,}")
        return [*names, f"over {self.bounds[-1]:,}"]

    def plot(self) -> "Figure":
        """Draw the noisy numbers of owners by class, as a figure of matplotlib."""
        from graphcuts_dp.measurements.picture import drawn  # matplotlib takes a while to import

        return drawn(self)

    def to_pandas(self) -> "pd.DataFrame":
        """One row a class: over, at_most (missing for the last one), owners (noisy)."""
        import pandas as pd

        ends = pd.array([*self.bounds, None], dtype="Int64")
        return pd.DataFrame({"over": [0, *self.bounds], "at_most": ends, "owners": self.counts})

    def _card(self) -> Card:
        promise = self.guarantee
        return Card(
            title=f"How many owners have how many {self.what}",
            facts=(("promise", "none: a public table"),) if promise is None else promise.facts,
            columns=(self.what, "owners, noisy"),
            rows=[(end, int(count)) for end, count in zip(self.names, self.counts, strict=True)],
            warning="" if promise is None else promise.warning,
        )

    def __repr__(self) -> str:
        return f"Contributions({self.what}, {len(self.bounds)} bounds)"


def check_bounds(bounds: tuple[int, ...] | list[int] | None) -> tuple[int, ...]:
    """Public candidates for a bound on owners; `BOUNDS` if None.

    Raises:
        ParameterError: none, more than a thousand, or not ascending whole numbers from 1 on.
    """
    if bounds is None:
        return BOUNDS
    found = tuple(bounds)
    whole = all(isinstance(each, int | np.integer) and not isinstance(each, bool) for each in found)
    if not (whole and 0 < len(found) <= _MOST_BOUNDS and found[0] >= 1):
        raise ParameterError(f"bounds are 1 to {_MOST_BOUNDS:,} whole numbers from 1 on, ascending")
    if any(a >= b for a, b in pairwise(found)):
        raise ParameterError("bounds must ascend")
    return tuple(map(int, found))
