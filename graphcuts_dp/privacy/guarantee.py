"""What is promised, to whom, and what it means in plain words and in odds.

A promise protects whom the private data may change for: neighbours are data that differ so.
Every mechanism here has a proven cost for one step: one pair of vertices (of distances: one
person's place) changes as `hidden_change` says. Whoever is to be hidden changes more than that:

- *k edges*: neighbours are the ends of a path of at most k + 1 graphs, each a step from the last.
- *A row* of a table, which counts for at most k: adding or removing it is k steps.
- *An owner* of rows of a table, of which at most k count: adding or removing all of them is k
  steps, since what is counted is made of each owner's own rows, bounded one owner at a time. The
  bound is on all of an owner's rows, or on those of each period: then what is protected is the
  owner in any one period, and losses in several periods add up.
- *A vertex*: all its edges change. No number of steps bounds that; mechanisms for it answer with
  bounded cuts, whose change is bounded by `degree_bound`.

Group privacy gives the cost of k steps (`Cost.for_group`): k epsilon where it is pure; k^2 rho;
(k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon))) of what is only (epsilon, delta)-DP.
Source: DR14 Theorem 2.2; Bun, Steinke 2016, Proposition 1.9 (zCDP).
"""

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeVar, final, get_args

import numpy as np

from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import ParameterError, PrivacyWarning
from graphcuts_dp.options import PRIVACY, Option, check_probability, chosen
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.composition import (
    Cost,
    as_stored,
    rounded_up,
    stated_cost,
    zcdp_epsilon,
    zcdp_rho,
)
from graphcuts_dp.privacy.noise import SEEDED_WARNING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_PERIODS = "a bound for each period needs rows with periods="
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

    def _picture(self) -> "Figure | None":
        return self.plot()

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


def words_for(kind: str, k: int, *, per_period: bool = False) -> dict[str, str]:
    """Whom a promise protects, against whom, and what it does not hide.

    Args:
        kind: of a `Protect`.
        k: its steps; of a vertex its degree bound.
        per_period: of an owner: whether it is protected in each period by itself.
    """
    if kind == "owner":
        within, each = (" in any one period", " in each period") if per_period else ("", "")
        some, several = "the owner is in the file at all", ""
        if per_period:
            some = "there are any"
            several = (
                "an owner is protected in each period, and not in all together: of rows in 12 "
                "periods the promise holds with 12 times epsilon; "
            )
        return {
            "Protected": f"any one owner of rows of the file, with all of that owner's rows{within}"
            f": whether {some}, and what the rows say.",
            "The attacker": "sees everything that is released and may know every row of all other "
            "owners.",
            "Not hidden": "who is a vertex, public groups, periods, bounds and all parameters. A "
            "person who "
            "appears only in rows of others, such as one who is called and never calls, is hidden "
            "in each such row as its owner is, and not by a promise of their own.",
            "The bound": f"at most {k:,} rows (or units of weight) of an owner count{each}. Of an "
            "owner with more, rows are left out, or each counts for less: answers miss the rest, "
            "and privacy does not depend on how much it was.",
            "People": f"{several}two owners together have twice epsilon; an owner whose rows are "
            "replaced by others has twice epsilon too, since that is a removal and an addition.",
        }
    if kind == "rows":
        return {
            "Protected": "any one row of the table: whether it is there, and what it says.",
            "The attacker": "sees everything that is released and may know every other row.",
            "Not hidden": "who is a vertex, public groups, periods, bounds and all parameters; and "
            "that somebody is in the table who has many rows.",
            "The bound": f"a row counts for at most {k:,}; what its weight has above that is left "
            "out.",
            "People": "a person with 20 rows is protected for each of them; of all 20 the promise "
            "holds with 20 times epsilon. A row that says something else, or moves to another "
            "period, has twice epsilon, since that is a removal and an addition. Name the "
            "owner of each row, and choose --protect owner, if a person shall be hidden.",
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
        "of all 20 the promise holds with 20 times epsilon. Choose --protect edges:at-most=20, or "
        "owner:at-most=20 or vertex:degree-bound=20, if a person shall be hidden.",
    }


LARGEST_DELTA = 1e-3


def delta_warning(delta: float, *, count: int, of: str = "vertices") -> str | None:
    """A sentence about a delta above 1/n or above 1e-3, or None.

    Showing all that is known of one of n people, drawn at random, is (0, 1/n)-differentially
    private: a delta near that promises nothing worth the name.

    Args:
        delta: that is about to be spent.
        count: n, public.
        of: what they are.
    """
    if delta <= LARGEST_DELTA and delta * count <= 1:
        return None
    limit = f"1 in {count:,} {of}" if 1 / count < LARGEST_DELTA else f"{LARGEST_DELTA:g}"
    return (
        f"delta = {delta:g} is above {limit}: with so large a probability the promise to somebody "
        "may fail; choose a far smaller one"
    )


def warn_of_delta(delta: float, *, count: int, of: str = "vertices", stacklevel: int) -> None:
    """Give that sentence as a warning, if there is one; call it before anything is spent."""
    told = delta_warning(delta, count=count, of=of)
    if told is not None:
        warnings.warn(told, PrivacyWarning, stacklevel=stacklevel + 1)


_IN_ONE = re.compile(r"1 row|.+ in one (day|month|quarter|year|period)")
SMALLEST_EPSILON = 1e-6
LARGEST_EPSILON = 50.0
_SMALLEST, _LARGEST = Fraction(SMALLEST_EPSILON), Fraction(LARGEST_EPSILON)


@final
@dataclass(frozen=True, kw_only=True)
class PrivacyGuarantee(Displayed):
    """A guarantee of differential privacy, with everything needed to read it.

    Attributes:
        epsilon: >= 0; e^epsilon bounds the ratio of probabilities of any output. 0 where nothing
            private was read.
        delta: in [0, 1); 0 is pure differential privacy.
        neighbours: which change of the data is hidden.
        public: what is assumed to be known to everybody.
        seed: None when the operating system's entropy was used. A seed voids the promise.
        protects: whom it protects, in few words: "1 edge", "10 edges", "1 owner", "1 vertex",
            "1 person"; "1 row", "1 owner in one month" where neighbours differ in one period only,
            see `differs_within`.
        rho: of zero-concentrated privacy, if a bound better than that of pure epsilon is proven.
        budget_plan: how epsilon was spent; None where no plan was executed.
    """

    epsilon: float
    delta: float = 0.0
    neighbours: str
    public: str = "the vertex set"
    seed: int | None = None
    protects: str = "1 edge"
    rho: float | None = None
    budget_plan: BudgetPlan | None = None

    former_fields: ClassVar[tuple[str, ...]] = ("parts",)  # of stores of version 0.1

    @classmethod
    def from_former(cls, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Read fields of older versions: the parts of epsilon, by name."""
        parts = [(str(name), float(epsilon)) for name, epsilon in stored["parts"]]
        return {"budget_plan": BudgetPlan.of_parts(parts) if parts else None}

    @property
    def is_private(self) -> bool:
        """Whether the promise holds: false for a seeded run."""
        return self.seed is None

    @property
    def parts(self) -> tuple[tuple[str, float], ...]:
        """What epsilon was spent on, as (name, epsilon) pairs that add up to it.

        Empty when it went into one measurement.
        """
        return () if self.budget_plan is None else self.budget_plan.parts(self.epsilon)

    @property
    def counted(self) -> str:
        """What cuts add up, as `neighbours` tells: "edges", or "weight"."""
        return "weight" if "weight" in self.neighbours else "edges"

    @property
    def differs_within(self) -> str | None:
        """What of time holds all that neighbours differ in, as `protects` tells.

        "row": a single row; "day", "month", "quarter", "year": one of these; "period": one of the
        declared periods, whatever they are. None: neighbours may differ at all times.
        """
        found = _IN_ONE.fullmatch(self.protects)
        return None if found is None else found[1] or "row"

    def __str__(self) -> str:
        delta = f", delta = {self.delta:g}" if self.delta else ""
        text = (
            f"epsilon = {self.epsilon:g}{delta}; protects {self.protects}; "
            f"hidden: {self.neighbours}; public: {self.public}"
        )
        return text if self.is_private else f"{SEEDED_WARNING} ({text})"

    @property
    def dp_event(self) -> dict[str, str | float] | None:
        """The cost as an event of the package dp_accounting, which adds it to those of others.

        It is `ZCDpEvent(rho)`, which its accountant for Renyi privacy takes for every kind of
        neighbours; epsilon-DP is (epsilon^2/2)-zCDP. The event that would tell epsilon-DP exactly,
        `RandomizedResponseDpEvent`, is not used: version 0.6 counts it once, however often it is
        repeated. None where neither is proven, and for a seeded run, which promises nothing.
        """
        rho = self.rho
        if rho is None and not self.delta:
            rho = rounded_up(Fraction(self.epsilon) ** 2 / 2)
        if rho is None or not self.is_private:
            return None
        return {"event": "ZCDpEvent", "rho": rho, "xi": 0.0}

    @property
    def facts(self) -> tuple[tuple[str, object], ...]:
        """Names and values, for the tables of notebooks."""
        delta = (("delta", self.delta),) if self.delta else ()
        parts = ", ".join(f"{name} {epsilon:.3g}" for name, epsilon in self.parts)
        return (
            ("epsilon", self.epsilon),
            *delta,
            ("protects", self.protects),
            ("hidden", self.neighbours),
            ("public", self.public),
            *((("epsilon spent on", parts),) if parts else ()),
        )

    @property
    def about(self) -> dict[str, float | str]:
        """What a graph that was released under it says of itself, where its file can."""
        mark = {"warning": self.warning} if self.warning else {}
        return {
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "protects": self.protects,
            **mark,
        }

    @property
    def warning(self) -> str:
        """That it is void, or nothing."""
        return "" if self.is_private else SEEDED_WARNING

    def _card(self) -> Card:
        return Card(title="Privacy guarantee", facts=self.facts, warning=self.warning)

    def to_dict(self) -> dict[str, Any]:
        """For receipts: plain values."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "protects": self.protects,
            "neighbours": self.neighbours,
            "public": self.public,
            "entropy": "operating system" if self.is_private else SEEDED_WARNING,
            "seed": self.seed,
            "parts": dict(self.parts),
            "budget_plan": None if self.budget_plan is None else self.budget_plan.to_dict(),
            "rho": self.rho,
            "dp_event": self.dp_event,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            LookupError, TypeError, ValueError, ArithmeticError, AttributeError: it is something
                else.
        """
        names = ("epsilon", "delta", "protects", "neighbours", "public", "seed", "rho")
        plain = {key: stored[key] for key in names}
        parts, plan = tuple(stored["parts"].items()), stored.get("budget_plan")
        if plan is not None:
            read = BudgetPlan.from_dict(plan)
            pure = read.currency == "epsilon" and read.ran is not None
            if pure and read.cost.epsilon > plain["epsilon"] * (1 + 1e-6):
                raise ValueError("the budget plan costs more than the guarantee states")
            return cls(**plain, budget_plan=read)
        return cls(**plain, **cls.from_former({"parts": parts}))


def hidden_change(*, weighted: bool, weight_cap: float | None, directed: bool) -> str:
    """Which change of a graph of this schema is hidden: `PrivacyGuarantee.neighbours`."""
    one, edge = ("one ordered pair", "arc") if directed else ("one pair", "edge")
    if not weighted:
        return f"whether any {one} is an {edge}"
    if weight_cap is None:
        return f"a change of any {one}'s weight by at most 1; an {edge} that weighs more is not"
    return f"the weight of any {one}, within 0 .. {weight_cap:g}"


def exact_epsilon(epsilon: float | Fraction) -> Fraction:
    """The privacy parameter as an exact fraction, checked.

    Args:
        epsilon: number in [1e-6, 50].

    Raises:
        ParameterError: not a number, or out of that range.
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | Fraction):
        raise ParameterError("epsilon must be a number, for example epsilon=1.0")
    if not 0 < epsilon < math.inf:
        raise ParameterError("epsilon must be a positive, finite number, for example 1.0")
    exact = Fraction(epsilon)
    if not _SMALLEST <= exact <= _LARGEST:
        raise ParameterError(
            f"epsilon is out of range {SMALLEST_EPSILON:g} .. {LARGEST_EPSILON:g}: "
            "below, nothing can be learnt; above, nothing is hidden"
        )
    return exact


def promise_text(guarantee: PrivacyGuarantee) -> str:
    """For titles of pictures."""
    delta = f", delta = {guarantee.delta:g}" if guarantee.delta else ""
    mark = f", {guarantee.warning}" if guarantee.warning else ""
    return f"epsilon = {guarantee.epsilon:g}{delta}{mark}"


Protected = Literal["edges", "rows", "owner", "vertex", "people"]
_LARGEST_BOUND = 10**9
_Together = Annotated[int, Option(help="How many edges change together.", group=PRIVACY)]
_OfAnOwner = Annotated[
    int | None,
    Option(help="How many pairs, rows or units of weight of an owner count.", group=PRIVACY),
]
_PerPeriod = Annotated[
    bool,
    Option(help="Whether that is the bound of each period, not of all together.", group=PRIVACY),
]
_OfARow = Annotated[
    int, Option(help="How many units of weight of a row count; 1 row is 1.", group=PRIVACY)
]
_OfAVertex = Annotated[
    int | None,
    Option(help="How many edges of a vertex a sum counts.", group=PRIVACY),
]
N = TypeVar("N", float, Fraction)


def _whole(name: str, given: int | None, missing: str, *, most: float = _LARGEST_BOUND) -> int:
    if given is None:
        raise ParameterError(f"{missing}, for example {name}=20")
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= most:
        raise ParameterError(f"{name} must be a whole number from 1 on, for example {name}=20")
    return given


@final
@dataclass(frozen=True, kw_only=True)
class Protect:
    """Whom a promise protects.

    `Protect.edges(3)`, `Protect.rows()`, `Protect.owner(at_most=50)` and
    `Protect.vertex(degree_bound=20)` make one, which every `protect=` takes; or a string, such as
    "edges" or "owner:at-most=50".

    Attributes:
        kind: "edges", "rows", "owner" or "vertex"; of distances "people", each of whom is in one
            place.
        steps: k >= 1: how many steps lie between neighbours; 1 for a vertex, whose mechanisms
            bound the change of all its edges as one step.
        degree_bound: of a vertex: D, public.
        per_period: of an owner: whether the bound is one for each period of the rows, and what is
            protected is an owner in any one period.

    Raises:
        ParameterError: another kind, no number of steps, or a degree bound of somebody else.

    Examples:
        >>> club, groups = gc.datasets.load("karate"), gc.datasets.load_groups("karate")
        >>> print(gc.Protect.vertex(degree_bound=20))
        1 vertex
        >>> flows = gc.release_flows(club, groups, epsilon=1.0, protect=gc.Protect.edges(3))
        >>> flows.guarantee.protects
        '3 edges'
    """

    kind: Protected = "edges"
    steps: int = 1
    degree_bound: int | None = None
    per_period: bool = False

    def __post_init__(self) -> None:
        if self.kind not in get_args(Protected):
            names = ", ".join(map(repr, PROTECTIONS))
            raise ParameterError(f"unknown protect={self.kind!r:.60}; choose one of {names}")
        if self.kind != "vertex" and self.degree_bound is not None:
            raise ParameterError("degree_bound is for protect='vertex'")
        if self.kind == "vertex":
            _whole("degree_bound", self.degree_bound, "protect='vertex' needs degree_bound")
        _whole("at_most", self.steps, "", most=math.inf)  # steps of both ways are twice as many

    @classmethod
    def edges(cls, at_most: _Together = 1) -> Self:
        """So many edges together.

        Raises:
            ParameterError: no whole number from 1 on.
        """
        return cls(steps=_whole("at_most", at_most, ""))

    @classmethod
    def rows(cls, at_most: _OfARow = 1) -> Self:
        """A row of a table, which counts for at most so many units of weight, or once.

        Raises:
            ParameterError: no whole number from 1 on.
        """
        return cls(kind="rows", steps=_whole("at_most", at_most, ""))

    @classmethod
    def owner(cls, *, at_most: _OfAnOwner = None, per_period: _PerPeriod = False) -> Self:
        """An owner of rows, of whose pairs, rows or units so many count.

        Raises:
            ParameterError: no whole number from 1 on.
        """
        needs = "protect='owner' needs at_most, how many rows of an owner count"
        steps = _whole("at_most", at_most, needs)
        return cls(kind="owner", steps=steps, per_period=bool(per_period))

    @classmethod
    def vertex(cls, *, degree_bound: _OfAVertex = None) -> Self:
        """A vertex with all its edges; sums count so much of their weight.

        Raises:
            ParameterError: no whole number from 1 on.
        """
        return cls(kind="vertex", degree_bound=degree_bound)

    @classmethod
    def of(
        cls, protect: "str | Self", *, at_most: int | None = None, degree_bound: int | None = None
    ) -> Self:
        """From what users type.

        Args:
            protect: one of `PROTECTIONS`, perhaps with its bound, as in "owner:at-most=50", or an
                object of this class, which holds it.
            at_most: of edges: how many change together, 1 if None; of an owner: how many of its
                rows, or units of weight, count.
            degree_bound: of a vertex.

        Raises:
            ParameterError: an unknown name, a bound that is missing, out of range or of no use.
        """
        if not isinstance(protect, str | Protect):
            raise ParameterError(f"protect is a name or a Protect, not {protect!r:.60}")
        if (at_most, degree_bound) == (None, None):
            return chosen(protect, PROTECTIONS, "protect")
        if not isinstance(protect, str) or protect not in PROTECTIONS:
            raise ParameterError(f"{protect!r:.60} holds its bound: leave out the other one")
        if protect == "vertex" and at_most is not None:
            raise ParameterError("protect='vertex' takes degree_bound, not at_most")
        if protect != "vertex" and degree_bound is not None:
            raise ParameterError("degree_bound is for protect='vertex'")
        bounds = {"at_most": at_most, "degree_bound": degree_bound}
        given = {name: bound for name, bound in bounds.items() if bound is not None}
        return PROTECTIONS[protect](**given)

    @classmethod
    def of_pairs(
        cls, protect: "str | Self", *, at_most: int | None, others: int, epsilon: float
    ) -> Self:
        """Likewise, for what is made of noisy pairs of vertices: all but a vertex.

        Args:
            protect: as for `of`.
            at_most: likewise.
            others: how many pairs one vertex has, public.
            epsilon: that was asked for.

        Raises:
            ParameterError: as for `of`; or a vertex.
        """
        if protect == "vertex" or cls.of(protect, at_most=at_most).kind == "vertex":
            noise = math.sqrt(2) * others / float(exact_epsilon(epsilon))
            raise ParameterError(
                f"this cannot hide a vertex: all its {others:,} pairs change together, so an entry"
                f" of 0 or 1 would have noise of about {noise:,.0f}; use release_flows or"
                " open_session with protect='vertex', whose noise does not grow with the graph"
            )
        return cls.of(protect, at_most=at_most)

    @property
    def keywords(self) -> dict[str, Any]:
        """The same as users type it: `protect`, `at_most` and `degree_bound`."""
        bounded = self.steps if self.kind in ("rows", "owner") or self.steps > 1 else None
        return {"protect": self.kind, "at_most": bounded, "degree_bound": self.degree_bound}

    @property
    def monotone(self) -> Self:
        """The same, for mechanisms that need all answers to change in one direction at each step.

        Of two graphs that differ in the edges at one vertex neither need have the larger answers;
        but both have at least those of the graph without these edges. So it lies between them, a
        step from either, and neighbours are two steps apart.
        """
        return replace(self, steps=2) if self.kind == "vertex" else self

    @property
    def either_way(self) -> Self:
        """The same, for such mechanisms where one change raises some answers and lowers others.

        All answers that it raises are raised first, then all others lowered: two steps.
        """
        return replace(self, steps=2 * self.steps)

    @classmethod
    def of_people(cls, at_most: int) -> Self:
        """So many people together, each of whom is in one place.

        Raises:
            ParameterError: no whole number from 1 on.
        """
        return cls(kind="people", steps=_whole("at_most", at_most, ""))

    def __str__(self) -> str:
        if self.kind in ("edges", "people"):
            single = "1 edge" if self.kind == "edges" else "1 person"
            return single if self.steps == 1 else f"{self.steps} {self.kind}"
        if self.kind == "rows":
            return "1 row"
        return f"1 {self.kind}" + (" in one period" if self.per_period else "")

    def check_rows(self, counting: str, *, owned: bool, periods: bool) -> None:
        """Refuse what rows of a kind cannot keep. From public facts alone.

        Args:
            counting: what their cells count, see `Rows`.
            owned: whether each row has an owner.
            periods: whether they have periods.

        Raises:
            ParameterError: they cannot keep it.
        """
        if self.kind == "owner" and not owned:
            raise ParameterError("protect='owner' needs the column of the owners: owner=")
        if self.kind == "rows" and counting not in ("rows", "weight"):
            raise ParameterError(f"protect='rows' is for rows or their weights, not {counting}")
        if self.kind == "rows" and counting == "rows" and self.steps > 1:
            raise ParameterError("a row counts once: leave out at_most, which is for weights")
        if self.kind == "edges" and counting != "edges":
            raise ParameterError(
                "protect='edges' hides whether a pair has any row: it is for counting='edges'; "
                "for rows take protect='rows', or 'owner'"
            )
        if self.kind == "vertex":
            raise ParameterError("protect='vertex' is for graphs: read the file with read_graph")
        if self.per_period and not periods:
            raise ParameterError(NO_PERIODS)

    def per_step(self, epsilon: float | Fraction) -> Fraction:
        """What of a pure epsilon each step may cost, exactly.

        Raises:
            ParameterError: it is out of range, or too little is left for a step.
        """
        whole = exact_epsilon(epsilon)
        return self._enough(whole / self.steps, whole)

    def _enough(self, step: N, whole: float | Fraction) -> N:
        if step < SMALLEST_EPSILON:
            raise ParameterError(
                f"epsilon = {float(whole):g} for {self} leaves less than {SMALLEST_EPSILON:g} for"
                f" each of {self.steps:,} changes; choose a smaller at_most, or more epsilon"
            )
        return step

    def step_budget(
        self, *, epsilon: float | Fraction, delta: float, zcdp: bool
    ) -> tuple[float, float]:
        """The (epsilon, delta) for one step with which a mechanism keeps (epsilon, delta) for all.

        Args:
            epsilon: for all steps together, in [1e-6, 50].
            delta: likewise, in [0, 1).
            zcdp: whether the mechanism has a zCDP cost, of which it takes all that its (epsilon,
                delta) allows: then steps add up in that, which is far cheaper.

        Raises:
            ParameterError: out of range, or too little is left for a step.
        """
        each = self.per_step(epsilon)
        if self.steps == 1:
            return as_stored(epsilon), delta
        if not delta:
            return as_stored(each), 0.0
        if zcdp:
            rho = zcdp_rho(epsilon=as_stored(epsilon), delta=delta) / self.steps**2
            found = zcdp_epsilon(rho * (1 - 1e-6), delta=delta)
            return self._enough(found, epsilon), delta
        step = as_stored(each)
        # delta/(1 + e^step + ... + e^((k-1) step)), rounded down
        share = math.expm1(step) / math.expm1(step * self.steps)
        return step, delta * share * (1 - 1e-12)

    def cost(self, step: Cost, *, epsilon: float | Fraction, delta: float = 0.0) -> Cost:
        """What all steps cost together, of a mechanism that was asked to keep (epsilon, delta).

        Args:
            step: the cost of the mechanism for one step, from the scales of its noise.
            epsilon: that was asked for, for all steps.
            delta: likewise.

        Raises:
            BudgetError: it would cost more.
        """
        return stated_cost(step.for_group(self.steps), epsilon=epsilon, delta=delta)

    def promise(self, step: PrivacyGuarantee, cost: Cost) -> PrivacyGuarantee:
        """The guarantee for whom this protects, from that for one step.

        Args:
            step: as the mechanism states it.
            cost: of all steps.
        """
        plan = step.budget_plan
        return replace(
            step,
            epsilon=cost.epsilon,
            delta=cost.delta,
            neighbours=self._neighbours(step.neighbours),
            protects=str(self),
            budget_plan=None if plan is None else replace(plan, group_size=self.steps),
            rho=None if cost.pure is not None else cost.rho,
        )

    def explain(
        self, *, epsilon: float, delta: float = 0.0, priors: Sequence[float] = PRIORS
    ) -> Explanation:
        """Explain in plain words whom such a promise protects, against what, and how well.

        Reads no data.

        Args:
            epsilon: of everything that is released together, in [1e-6, 50].
            delta: likewise, in [0, 1).
            priors: what an attacker may believe beforehand, each in (0, 1).

        Raises:
            ParameterError: a number out of range.

        Examples:
            >>> told = gc.Protect.edges(20).explain(epsilon=1.0)
            >>> told.odds[1]  # who held it for 1 % likely may hold it for 2.7 %
            Odds(prior=0.01, lowest=0.0037..., highest=0.0267...)
        """
        exact_epsilon(epsilon)
        check_probability("delta", delta, zero=True)
        words = words_for(self.kind, self.degree_bound or self.steps, per_period=self.per_period)
        return Explanation(
            protects=str(self),
            epsilon=float(epsilon),
            delta=float(delta),
            sentences=words | {"Strength": strength(epsilon, delta)},
            odds=tuple(
                Odds(float(prior), posterior(prior, -epsilon), posterior(prior, epsilon))
                for prior in priors
            ),
        )

    def _neighbours(self, step: str) -> str:
        if self.kind == "vertex":
            return (
                "all edges of any one vertex, however many; what is released are bounded sums, in"
                f" which each vertex counts for at most {self.degree_bound:,}"
            )
        one, _, _ = step.partition(";")  # what a single step would not hide is no matter here
        if self.kind == "rows":
            return (
                f"any one row, which counts for at most {self.steps:,} (added or removed; one that"
                " is altered, or moves to another period, is two such changes)"
            )
        if self.kind == "owner":
            where = " in any one period" if self.per_period else ""
            several = ""
            if self.per_period:
                several = "; of an owner with rows in k periods the promise holds with k epsilon"
            return (
                f"all rows of any one owner{where}, of which at most {self.steps:,} count (added or"
                f" removed; replacing them is two such changes); each of them: {one}{several}"
            )
        return step if self.steps == 1 else f"any {self.steps:,} changes together, each: {step}"


EDGE = Protect()
# What `protect=` can name.
PROTECTIONS: Mapping[str, Callable[..., Protect]] = {
    "edges": Protect.edges,
    "rows": Protect.rows,
    "owner": Protect.owner,
    "vertex": Protect.vertex,
}
