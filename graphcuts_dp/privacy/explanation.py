"""What a promise of privacy means, in plain words and in odds, for people who decide about it."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRIORS = (0.001, 0.01, 0.1, 0.5)


@final
@dataclass(frozen=True)
class Odds:
    """What an attacker can come to believe about one yes-or-no question.

    Attributes:
        prior: the probability before anything is released, in (0, 1).
        lowest: the least that it can be afterwards, whatever is released.
        highest: the most.
    """

    prior: float
    lowest: float
    highest: float


@final
@dataclass(frozen=True, repr=False, kw_only=True)
class Explanation(Displayed):
    """An explanation of a guarantee in plain words; `Protect.explain` makes it.

    Attributes:
        protects: whom, in few words.
        epsilon: of the promise.
        delta: of the promise.
        sentences: headings and what they say, in order.
        odds: for some priors, but for the chance of delta.

    Source: Bayes' rule for delta = 0; for delta > 0 Kairouz, Oh, Viswanath, *The Composition
    Theorem for Differential Privacy*, 2015, Theorem 3.4: what is released can be made from an
    epsilon-private answer that is replaced by the whole truth with probability delta.
    """

    protects: str
    epsilon: float
    delta: float
    sentences: dict[str, str]
    odds: tuple[Odds, ...]

    def _card(self) -> Card:
        return Card(
            title="What the promise means",
            facts=tuple(self.sentences.items()),
            columns=("believed beforehand", "afterwards at least", "at most"),
            rows=[(each.prior, each.lowest, each.highest) for each in self.odds],
            notes=(f"But for a chance of {self.delta:g}.",) if self.delta else (),
        )

    def __repr__(self) -> str:
        delta = f", delta={self.delta:g}" if self.delta else ""
        return f"Explanation({self.protects}, epsilon={self.epsilon:g}{delta})"

    def plot(self) -> "Figure":
        """Draw what any belief can become, as a figure of matplotlib."""
        from graphcuts_dp.plotting.answer_lists import odds_figure  # matplotlib is slow to import

        priors = np.linspace(0, 1, 201)
        lowest, highest = (
            np.array([posterior(float(prior), sign * self.epsilon) for prior in priors])
            for sign in (-1, 1)
        )
        but = f", but for a chance of {self.delta:g}" if self.delta else ""
        return odds_figure(priors, lowest, highest, title=f"epsilon = {self.epsilon:g}{but}")

    def __str__(self) -> str:
        lines = [f"{heading}: {text}" for heading, text in self.sentences.items()]
        lines += [
            f"An attacker who believed {each.prior:.4g} beforehand believes between "
            f"{each.lowest:.3g} and {each.highest:.3g} afterwards."
            for each in self.odds
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "protects": self.protects,
            "epsilon": self.epsilon,
            "delta": self.delta,
            **{key.lower().replace(" ", "_"): text for key, text in self.sentences.items()},
            "odds": [vars(each) for each in self.odds],
        }


def posterior(prior: float, epsilon: float) -> float:
    """The most that a probability can become after an epsilon-private release.

    Bayes' rule: odds are multiplied by the ratio of the probabilities of what was released, and no
    ratio is above e^epsilon: p e^epsilon/(1 - p + p e^epsilon).

    Args:
        prior: in [0, 1].
        epsilon: any number; a negative one gives the least that it can become.

    Raises:
        ParameterError: no probability.
    """
    if isinstance(prior, bool) or not isinstance(prior, int | float) or not 0 <= prior <= 1:
        raise ParameterError("a prior is a probability between 0 and 1, for example 0.01")
    if prior in (0, 1):
        return float(prior)
    return 1 / (1 + (1 - prior) / prior * math.exp(-epsilon))


def strength(epsilon: float, delta: float) -> str:
    """How well a promise protects, in a sentence."""
    factor = math.exp(epsilon)
    text = (
        "everything that is released together multiplies the odds of any such guess by at most "
        f"e^{epsilon:g} = {factor:,.3g}, or divides them by that, whatever the attacker knows, "
        "computes or learns later"
    )
    if delta:
        text += (
            f"; with a probability of at most {delta:g} this fails, and then anything about the "
            "protected may come out, so choose delta far below one over the number of people"
        )
    return text + "."


def words_for(kind: str, k: int) -> dict[str, str]:
    """Whom a promise protects, against whom, and what it does not hide.

    Args:
        kind: of a `Protect`.
        k: its steps; of a vertex its degree bound.
    """
    if kind == "owner":
        return {
            "Protected": "any one owner of rows of the file, with all of that owner's rows: "
            "whether the owner is in the file at all, and what the rows say.",
            "The attacker": "sees everything that is released and may know every row of all other "
            "owners.",
            "Not hidden": "who is a vertex, public groups, bounds and all parameters. A person who "
            "appears only in rows of others, such as one who is called and never calls, is hidden "
            "in each such row as its owner is, and not by a promise of their own.",
            "The bound": f"at most {k:,} rows (or units of weight) of an owner count. Rows above "
            "it are left out: answers miss them, and privacy does not depend on how many there "
            "were.",
            "People": "two owners together have twice epsilon; an owner whose rows are replaced by "
            "others has twice epsilon too, since that is a removal and an addition.",
        }
    if kind == "vertex":
        return {
            "Protected": "any one vertex with all its edges, however many: whom it is joined with, "
            "and whether with anybody.",
            "The attacker": "sees everything that is released and may know every edge that does "
            "not touch this vertex.",
            "Not hidden": "that the vertex is in the public vertex set, its public groups, the "
            "bound and all parameters.",
            "The bound": f"answers count at most {k:,} edges of a vertex. Where a vertex has more, "
            "an answer is too low; privacy holds all the same.",
            "People": "two vertices together have twice epsilon.",
        }
    if kind == "people":
        return {
            "Protected": "where any one person is."
            if k == 1
            else f"where any {k:,} people together are.",
            "The attacker": "sees everything that is released and may know where everybody else "
            "is.",
            "Not hidden": "the map, how many people there are, and all parameters.",
        }
    words = {
        "Protected": f"any {k:,} edges together: whether these {k:,} pairs of vertices are joined "
        "or not.",
        "The attacker": "sees everything that is released, chooses queries after earlier answers, "
        "and may know every other edge of the graph.",
        "Not hidden": "who is a vertex, public groups, caps and all parameters; and what the "
        "graph says about people in general, such as how many edges there are.",
        "People": f"a person with at most {k:,} edges is protected with all of them; one with "
        "twice as many has twice epsilon.",
    }
    if k > 1:
        return words
    return words | {
        "Protected": "each single edge: that these two vertices are joined, or how heavy their "
        "edge is, up to the cap.",
        "People": "a person with 20 edges is protected for each of them, but not for all together: "
        "of all 20 the promise holds with 20 times epsilon. Choose --at-most 20, or --protect "
        "owner or vertex, if a person shall be hidden.",
    }
