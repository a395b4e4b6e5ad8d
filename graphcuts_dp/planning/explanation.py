"""What a promise of privacy means, in plain words and in odds, for people who decide about it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.protection import Protect

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
    """An explanation of a guarantee in plain words.

    Attributes:
        protection: whom it protects.
        epsilon: of the promise.
        delta: of the promise.
        sentences: headings and what they say, in order.
        odds: for some priors, but for the chance of delta.
    """

    protection: Protect
    epsilon: float
    delta: float
    sentences: tuple[tuple[str, str], ...]
    odds: tuple[Odds, ...]

    def _card(self) -> Card:
        return Card(
            title="What the promise means",
            facts=self.sentences,
            columns=("believed beforehand", "afterwards at least", "at most"),
            rows=[(each.prior, each.lowest, each.highest) for each in self.odds],
            notes=(f"But for a chance of {self.delta:g}.",) if self.delta else (),
        )

    def __repr__(self) -> str:
        delta = f", delta={self.delta:g}" if self.delta else ""
        return f"Explanation({self.protection}, epsilon={self.epsilon:g}{delta})"

    def plot(self) -> "Figure":
        """Draw what any belief can become, as a figure of matplotlib."""
        from graphcuts_dp.plotting.plans import odds_figure  # matplotlib is slow to import

        priors = np.linspace(0, 1, 201)
        lowest, highest = (
            np.array([posterior(float(prior), sign * self.epsilon) for prior in priors])
            for sign in (-1, 1)
        )
        but = f", but for a chance of {self.delta:g}" if self.delta else ""
        return odds_figure(priors, lowest, highest, title=f"epsilon = {self.epsilon:g}{but}")

    def __str__(self) -> str:
        lines = [f"{heading}: {text}" for heading, text in self.sentences]
        lines += [
            f"An attacker who believed {each.prior:.4g} beforehand believes between "
            f"{each.lowest:.3g} and {each.highest:.3g} afterwards."
            for each in self.odds
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "protects": str(self.protection),
            "epsilon": self.epsilon,
            "delta": self.delta,
            **{heading.lower().replace(" ", "_"): text for heading, text in self.sentences},
            "odds": [
                {"prior": each.prior, "lowest": each.lowest, "highest": each.highest}
                for each in self.odds
            ],
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


def explain(
    *,
    epsilon: float,
    delta: float = 0.0,
    protect: str = "edges",
    at_most: int | None = None,
    degree_bound: int | None = None,
    priors: Sequence[float] = PRIORS,
) -> Explanation:
    """Explain in plain words whom a guarantee protects, against what, and how well. Reads no data.

    Args:
        epsilon: of everything that is released together, in [1e-6, 50].
        delta: likewise, in [0, 1).
        protect: "edges", "owner" or "vertex", see `Protect.of`.
        at_most: of edges how many change together; of an owner how many of its rows count.
        degree_bound: of a vertex.
        priors: what an attacker may believe beforehand, each in (0, 1).

    Raises:
        ParameterError: a number out of range.

    Examples:
        >>> gc.explain(epsilon=1.0).odds[1]  # who held it for 1 % likely may hold it for 2.7 %
        Odds(prior=0.01, lowest=0.0037..., highest=0.0267...)

    Source: Bayes' rule for delta = 0; for delta > 0 Kairouz, Oh, Viswanath, *The Composition
    Theorem for Differential Privacy*, 2015, Theorem 3.4: what is released can be made from an
    epsilon-private answer that is replaced by the whole truth with probability delta.
    """
    protection = Protect.of(protect, at_most=at_most, degree_bound=degree_bound)
    exact_epsilon(epsilon)
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 <= delta < 1:
        raise ParameterError("delta must be at least 0 and below 1, for example 1e-6")
    sentences = _WORDS[protection.kind](protection) | {"Strength": _strength(epsilon, delta)}
    return Explanation(
        protection=protection,
        epsilon=float(epsilon),
        delta=float(delta),
        sentences=tuple(sentences.items()),
        odds=tuple(
            Odds(float(prior), posterior(prior, -epsilon), posterior(prior, epsilon))
            for prior in priors
        ),
    )


def _strength(epsilon: float, delta: float) -> str:
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


def _edges(protection: Protect) -> dict[str, str]:
    k = protection.steps
    who = f"any {k:,} edges together: whether these {k:,} pairs of vertices are joined or not."
    many = (
        f"a person with at most {k:,} edges is protected with all of them; one with twice as many "
        "has twice epsilon."
    )
    if k == 1:
        who = (
            "each single edge: that these two vertices are joined, or how heavy their edge is, up "
            "to the cap."
        )
        many = (
            "a person with 20 edges is protected for each of them, but not for all together: of "
            "all 20 the promise holds with 20 times epsilon. Choose --at-most 20, or --protect "
            "owner or vertex, if a person shall be hidden."
        )
    return {
        "Protected": who,
        "The attacker": "sees everything that is released, chooses queries after earlier answers, "
        "and may know every other edge of the graph.",
        "Not hidden": "who is a vertex, public groups, caps and all parameters; and what the "
        "graph says about people in general, such as how many edges there are.",
        "People": many,
    }


def _owner(protection: Protect) -> dict[str, str]:
    return {
        "Protected": "any one owner of rows of the file, with all of that owner's rows: whether "
        "the owner is in the file at all, and what the rows say.",
        "The attacker": "sees everything that is released and may know every row of all other "
        "owners.",
        "Not hidden": "who is a vertex, public groups, bounds and all parameters. A person who "
        "appears only in rows of others, such as one who is called and never calls, is hidden in "
        "each such row as its owner is, and not by a promise of their own.",
        "The bound": f"at most {protection.steps:,} rows (or units of weight) of an owner count. "
        "Rows above it are left out: answers miss them, and privacy does not depend on how many "
        "there were.",
        "People": "two owners together have twice epsilon; an owner whose rows are replaced by "
        "others has twice epsilon too, since that is a removal and an addition.",
    }


def _vertex(protection: Protect) -> dict[str, str]:
    return {
        "Protected": "any one vertex with all its edges, however many: whom it is joined with, "
        "and whether with anybody.",
        "The attacker": "sees everything that is released and may know every edge that does not "
        "touch this vertex.",
        "Not hidden": "that the vertex is in the public vertex set, its public groups, the bound "
        "and all parameters.",
        "The bound": f"answers count at most {protection.degree_bound:,} edges of a vertex. Where "
        "a vertex has more, an answer is too low; privacy holds all the same.",
        "People": "two vertices together have twice epsilon.",
    }


_WORDS = {"edges": _edges, "owner": _owner, "vertex": _vertex}
