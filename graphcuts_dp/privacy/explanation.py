"""Explanations of privacy guarantees in plain words.

`PrivacyUnit.explain` makes an `Explanation`: for whom the guarantee is, against which attacker it
holds, what stays detectable, how strong it is, and what an attacker's belief in a yes-or-no
statement can become (`Odds`). A *prior* is the probability that the attacker gives to the statement
before anything is released, a *posterior* the one afterwards.

The texts are in `words_for`, by the kind of a privacy unit: an "edge" of a graph, a "row" of a
table, a "user" with all rows, a "vertex" with all edges, or a "person" on a map. `strength` has
the sentence about epsilon and delta, which is the same for all kinds. A `Displayed` object is shown
in notebooks as the table of its `_card`, with the figure of its `_picture` below.
"""

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from graphcuts_dp.display import Card, Displayed, down_to_digits, up_to_digits
from graphcuts_dp.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRIORS = (0.001, 0.01, 0.1, 0.5)  # that an explanation shows unless others are given
_STATED_PRIORS = (0.01, 0.5)  # of `Explanation.odds_in_words`
_ADDED_UNITS = ("one user", "one row")  # of which neighbours have one more or less


@final
@dataclass(frozen=True)
class Odds:
    """The limits of what an attacker can come to believe about one yes-or-no statement.

    Attributes:
        prior: probability before anything is released, in [0, 1].
        lowest: smallest possible posterior, whatever is released.
        highest: largest possible posterior.
    """

    prior: float
    lowest: float
    highest: float


@final
@dataclass(frozen=True, repr=False, kw_only=True)
class Explanation(Displayed):
    """An explanation of a guarantee in plain words, made by `PrivacyUnit.explain`.

    Attributes:
        privacy_unit: in few words, such as "1 user".
        epsilon: of the guarantee.
        delta: of the guarantee.
        sentences: explanations by their headings, in order.
        odds: for some priors; they hold except with probability delta.

    Source: Bayes' rule for delta = 0; for delta > 0 Kairouz, Oh, Viswanath, *The Composition
    Theorem for Differential Privacy*, 2015, Theorem 3.4: the release can be simulated from an
    epsilon-DP answer that is replaced by the whole truth with probability delta.
    """

    privacy_unit: str
    epsilon: float
    delta: float
    sentences: dict[str, str]
    odds: tuple[Odds, ...]

    @property
    def odds_in_words(self) -> tuple[str, ...]:
        """Sentences on what a guess about one privacy unit can become, rounded up.

        The first is for a guess that is unlikely beforehand, the second for one that is as likely
        as not. Where a unit is added or removed (a user or a row), these are guesses whether it is
        in the data, and a third sentence is about what it says: to put other rows in place of its
        own is a removal and an addition, so that the odds change by up to e^(2 epsilon).

        Examples:
            >>> print(gc.PrivacyUnit.edge().explain(epsilon=1.0).odds_in_words[1])
            One that is 50 % likely beforehand is at most 73.2 % likely, whatever else is known.
        """
        unlikely, even = (self._likely(prior, self.epsilon) for prior in _STATED_PRIORS)
        unit = re.sub("^1 ", "one ", self.privacy_unit)
        is_added = unit.startswith(_ADDED_UNITS)
        guess = f"A guess about {unit} that is"
        if is_added:
            guess = f"A guess whether {unit} is in the data: one that is"
        but = f", but for a chance of {self.delta:g}" if self.delta else ""
        sentences = (
            f"{guess} {unlikely} once this is published.",
            f"One that is {even}, whatever else is known{but}.",
        )
        if not is_added:
            return sentences
        of = "one row says that is" if unit == "one row" else "the rows say of one user who is"
        replaced = self._likely(_STATED_PRIORS[1], 2 * self.epsilon)
        # What holds between neighbours but for delta holds between their neighbours but for this.
        chance = up_to_digits((1 + math.exp(self.epsilon)) * self.delta, 3)
        but = f", but for a chance of {chance:g}" if self.delta else ""
        third = f"For a guess what {of} known to be in the data, twice epsilon counts: "
        return (*sentences, f"{third}one that is {replaced}{but}.")

    @staticmethod
    def _likely(prior: float, epsilon: float) -> str:
        highest = up_to_digits(100 * posterior(prior, epsilon), 3)
        return f"{100 * prior:g} % likely beforehand is at most {highest:g} % likely"

    def plot(self) -> "Figure":
        """Draw the range of posteriors for every prior, as a figure of matplotlib."""
        from graphcuts_dp.plotting.answer_lists import odds_figure  # matplotlib is slow to import

        priors = np.linspace(0, 1, 201)
        lowest, highest = (
            np.array([posterior(float(prior), sign * self.epsilon) for prior in priors])
            for sign in (-1, 1)
        )
        exception = f", but for a chance of {self.delta:g}" if self.delta else ""
        title = f"epsilon = {self.epsilon:g}{exception}"
        return odds_figure(priors, lowest, highest, title=title)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "privacy_unit": self.privacy_unit,
            "epsilon": self.epsilon,
            "delta": self.delta,
            **{key.lower().replace(" ", "_"): text for key, text in self.sentences.items()},
            "odds": [vars(odds) for odds in self.odds],
        }

    def __str__(self) -> str:
        lines = [f"{heading}: {text}" for heading, text in self.sentences.items()]
        lines += [
            f"An attacker who believed {100 * odds.prior:.4g} % beforehand believes between "
            f"{down_to_digits(100 * odds.lowest, 3):g} % and "
            f"{up_to_digits(100 * odds.highest, 3):g} % afterwards."
            for odds in self.odds
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        delta = f", delta={self.delta:g}" if self.delta else ""
        return f"Explanation({self.privacy_unit}, epsilon={self.epsilon:g}{delta})"

    def _picture(self) -> "Figure | None":
        """Return the picture that notebooks show below the table."""
        return self.plot()

    def _card(self) -> Card:
        """Return the table that notebooks show."""
        return Card(
            title="What the guarantee means",
            facts=tuple(self.sentences.items()),
            columns=("believed beforehand", "afterwards at least", "at most"),
            rows=[(odds.prior, odds.lowest, odds.highest) for odds in self.odds],
            notes=(f"But for a chance of {self.delta:g}.",) if self.delta else (),
        )


def posterior(prior: float, epsilon: float) -> float:
    """Return the posterior if a release multiplies odds by e^epsilon.

    It is p e^epsilon/(1 - p + p e^epsilon). Bayes' rule multiplies the odds p/(1 - p) by the ratio
    of the probabilities of the release. For an epsilon-DP release the ratio lies in
    e^-epsilon..e^epsilon, so epsilon gives the largest posterior and -epsilon the smallest.

    Args:
        prior: p in [0, 1].
        epsilon: logarithm of the ratio, any number.

    Raises:
        ParameterError: the prior is no probability.
    """
    if isinstance(prior, bool) or not isinstance(prior, int | float) or not 0 <= prior <= 1:
        raise ParameterError("a prior is a probability between 0 and 1, for example 0.01")
    if prior in (0, 1):
        return float(prior)
    return 1 / (1 + (1 - prior) / prior * math.exp(-epsilon))


def strength(epsilon: float, delta: float) -> str:
    """Return a sentence about how strong an (epsilon, delta) guarantee is."""
    factor = up_to_digits(math.exp(epsilon), 3)
    text = (
        "everything that is released together multiplies the odds of any guess between two worlds "
        f"that differ in one unit by at most e^{epsilon:g} = {factor:,.3g}, or "
        "divides them by that, whatever the attacker knows, computes or learns later"
    )
    if delta:
        text += (
            f"; with a probability of at most {delta:g} this fails, and then anything about the "
            "unit may come out, so choose delta far below one over the number of people"
        )
    return text + "."


def words_for(kind: str, k: int, *, per_period: bool = False) -> dict[str, str]:
    """Return sentences, by heading, about the guarantee for a kind of privacy unit.

    They say what it covers, against whom it holds, and what stays detectable; for most kinds also
    which bound it has, and what it means for people.

    Args:
        kind: "edge", "row", "user", "vertex" or "person".
        k: the bound of the unit: for edges and people how many are one unit together; for a row the
            largest weight that counts; for a user the rows that count; for a vertex the edges.
        per_period: True for a user if each period is a unit by itself.
    """
    if kind == "user":
        # Parts of sentences that differ if each period is a unit by itself.
        in_one_period, in_each_period = "", ""
        presence, of_periods = "the user is in the file at all", ""
        if per_period:
            in_one_period, in_each_period = " in any one period", " in each period"
            presence = "there are any"
            of_periods = (
                "the guarantee is for a user in each period, not in all together: for rows in 12 "
                "periods it holds with 12 times epsilon; "
            )
        return {
            "The guarantee": "any one user of the file, with all of that user's rows"
            f"{in_one_period}: whether {presence}, and what the rows say.",
            "The attacker": "sees everything that is released and may know every row of all other "
            "users.",
            "Detectable": "who is a vertex, public groups, periods, bounds and all parameters. "
            "The guarantee is for users. Anyone else whom a row is about, such as a nurse in a "
            "patient's row, is not hidden as a person: only each single row is, as one of its "
            "user's.",
            "The bound": f"at most {k:,} rows (or units of weight) of a user count"
            f"{in_each_period}. Of a user with more, rows are left out, or each counts for less: "
            "answers miss the others, and privacy does not depend on how much it was.",
            "People": f"{of_periods}two users together have twice epsilon; a user whose rows are "
            "replaced by others has twice epsilon too, since that is a removal and an addition.",
        }
    if kind == "row":
        return {
            "The guarantee": "any one row of the table: whether it is there, and what it says.",
            "The attacker": "sees everything that is released and may know every other row.",
            "Detectable": "who is a vertex, public groups, periods, bounds and all parameters; and "
            "that somebody is in the table who has many rows.",
            "The bound": f"a row counts for at most {k:,}; what its weight has above that is left "
            "out.",
            "People": "for a person with 20 rows the guarantee is for each of them; for all 20 it "
            "holds with 20 times epsilon. A row that says something else, or moves to another "
            "period, has twice epsilon, since that is a removal and an addition. If the guarantee "
            "shall be for a person, name the user of each row, and choose --privacy-unit user.",
        }
    if kind == "vertex":
        return {
            "The guarantee": "any one vertex with all its edges, however many: whom it is joined "
            "with, and whether with anybody.",
            "The attacker": "sees everything that is released and may know every edge that does "
            "not touch this vertex.",
            "Detectable": "that the vertex is in the public vertex set, its public groups, the "
            "bound and all parameters.",
            "The bound": f"answers count at most {k:,} edges of a vertex. Where a vertex has more, "
            "an answer is too low; privacy holds all the same.",
            "People": "two vertices together have twice epsilon.",
        }
    if kind == "person":
        return {
            "The guarantee": "where any one person is."
            if k == 1
            else f"where any {k:,} people together are.",
            "The attacker": "sees everything that is released and may know where everybody else "
            "is.",
            "Detectable": "the map, how many people there are, and all parameters.",
        }
    edge_words = {
        "The guarantee": f"any {k:,} edges together: whether these {k:,} pairs of vertices are "
        "joined or not.",
        "The attacker": "sees everything that is released, chooses queries after earlier answers, "
        "and may know every other edge of the graph.",
        "Detectable": "who is a vertex, public groups, bounds and all parameters; and what the "
        "graph says about people in general, such as how many edges there are.",
        "People": f"for a person with at most {k:,} edges the guarantee is for all of them; one "
        "with twice as many has twice epsilon.",
    }
    if k > 1:
        return edge_words
    return edge_words | {
        "The guarantee": "each single edge: that these two vertices are joined, or how heavy their "
        "edge is, up to the largest weight.",
        "People": "for a person with 20 edges the guarantee is for each of them, not for all "
        "together: for all 20 it holds with 20 times epsilon. If it shall be for a person, choose "
        "--privacy-unit edge:group-size=20, user:max-contributions=20 or vertex:max-degree=20.",
    }
