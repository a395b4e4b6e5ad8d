"""Guarantees of differential privacy, the privacy unit that they are for, and both in plain words.

A guarantee is about neighbours: data that differ by one privacy unit. Every mechanism here has a
proven cost for one change: the weight of one pair of vertices (of distances: the vertex of one
person) changes as `change_of_one_pair` says. A unit may be more than that:

- *k edges*: neighbours are the ends of a path of at most k + 1 graphs, each one change from the
  last.
- *A row* of a table, which counts for at most k units: adding or removing it is k changes.
- *A user* of a table, of whose rows at most k count: adding or removing all of them is k changes,
  since what is counted is made of each user's own rows, bounded one user at a time. The bound is on
  all rows of a user, or on those of each period: then the unit is a user in any one period, and the
  costs of several periods add up.
- *A vertex*: all its edges change. No number of changes bounds that; mechanisms for it answer with
  bounded cuts, whose change is bounded by `max_degree`.

Group privacy gives the cost of k changes (`Cost.for_group`): k epsilon where it is pure; k^2 rho;
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
from graphcuts_dp.former_names import refuses_former_options
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
    """An explanation of a guarantee in plain words, made by `PrivacyUnit.explain`.

    Attributes:
        privacy_unit: in few words, such as "1 user".
        epsilon: of the guarantee.
        delta: of the guarantee.
        sentences: explanations by their headings, in order.
        odds: for some prior probabilities; they hold except with probability delta.

    Source: Bayes' rule for delta = 0; for delta > 0 Kairouz, Oh, Viswanath, *The Composition
    Theorem for Differential Privacy*, 2015, Theorem 3.4: what is released can be made from an
    epsilon-private answer that is replaced by the whole truth with probability delta.
    """

    privacy_unit: str
    epsilon: float
    delta: float
    sentences: dict[str, str]
    odds: tuple[Odds, ...]

    def _picture(self) -> "Figure | None":
        return self.plot()

    def _card(self) -> Card:
        return Card(
            title="What the guarantee means",
            facts=tuple(self.sentences.items()),
            columns=("believed beforehand", "afterwards at least", "at most"),
            rows=[(each.prior, each.lowest, each.highest) for each in self.odds],
            notes=(f"But for a chance of {self.delta:g}.",) if self.delta else (),
        )

    def __repr__(self) -> str:
        delta = f", delta={self.delta:g}" if self.delta else ""
        return f"Explanation({self.privacy_unit}, epsilon={self.epsilon:g}{delta})"

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
            "privacy_unit": self.privacy_unit,
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
    """Return how strong a guarantee is, in a sentence."""
    factor = math.exp(epsilon)
    text = (
        "everything that is released together multiplies the odds of any guess about one unit by "
        f"at most e^{epsilon:g} = {factor:,.3g}, or divides them by that, whatever the attacker "
        "knows, computes or learns later"
    )
    if delta:
        text += (
            f"; with a probability of at most {delta:g} this fails, and then anything about the "
            "unit may come out, so choose delta far below one over the number of people"
        )
    return text + "."


def words_for(kind: str, k: int, *, per_period: bool = False) -> dict[str, str]:
    """Return what a guarantee is about, against whom it holds, and what stays detectable.

    Args:
        kind: of a `PrivacyUnit`.
        k: its group size; of a vertex its largest degree that counts.
        per_period: of a user: whether each period is a unit by itself.
    """
    if kind == "user":
        within, in_each = (" in any one period", " in each period") if per_period else ("", "")
        presence, several = "the user is in the file at all", ""
        if per_period:
            presence = "there are any"
            several = (
                "the guarantee is for a user in each period, not in all together: for rows in 12 "
                "periods it holds with 12 times epsilon; "
            )
        return {
            "The guarantee": f"any one user of the file, with all of that user's rows{within}: "
            f"whether {presence}, and what the rows say.",
            "The attacker": "sees everything that is released and may know every row of all other "
            "users.",
            "Detectable": "who is a vertex, public groups, periods, bounds and all parameters. A "
            "person who appears only in rows of others, such as one who is called and never calls, "
            "is covered in each such row as its user is, and not by a guarantee of their own.",
            "The bound": f"at most {k:,} rows (or units of weight) of a user count{in_each}. Of a "
            "user with more, rows are left out, or each counts for less: answers miss the others, "
            "and privacy does not depend on how much it was.",
            "People": f"{several}two users together have twice epsilon; a user whose rows are "
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
    words = {
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
        return words
    return words | {
        "The guarantee": "each single edge: that these two vertices are joined, or how heavy their "
        "edge is, up to the largest weight.",
        "People": "for a person with 20 edges the guarantee is for each of them, not for all "
        "together: for all 20 it holds with 20 times epsilon. If it shall be for a person, choose "
        "--privacy-unit edge:group-size=20, user:max-contributions=20 or vertex:max-degree=20.",
    }


LARGEST_DELTA = 1e-3


def delta_warning(delta: float, *, count: int, of: str = "vertices") -> str | None:
    """Return a sentence about a delta above 1/n or above 1e-3, or None.

    Showing all that is known of one of n people, drawn at random, is (0, 1/n)-differentially
    private: a delta near that guarantees nothing worth the name.

    Args:
        delta: that is about to be spent.
        count: n, public.
        of: what they are.
    """
    if delta <= LARGEST_DELTA and delta * count <= 1:
        return None
    limit = f"1 in {count:,} {of}" if 1 / count < LARGEST_DELTA else f"{LARGEST_DELTA:g}"
    return (
        f"delta = {delta:g} is above {limit}: with so large a probability the guarantee may fail "
        "for somebody; choose a far smaller one"
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
        neighbours: by what neighbouring data differ.
        public: what is assumed to be known to everybody.
        seed: None when the operating system's entropy was used. A seed voids the guarantee.
        privacy_unit: in few words: "1 edge", "10 edges", "1 user", "1 vertex", "1 person", "1 row";
            "1 user in one month" where neighbours differ in one period only, see `differs_within`.
        rho: of zero-concentrated privacy, if a bound better than that of pure epsilon is proven.
        budget_plan: how epsilon was spent; None where no plan was executed.
    """

    epsilon: float
    delta: float = 0.0
    neighbours: str
    public: str = "the vertex set"
    seed: int | None = None
    privacy_unit: str = "1 edge"
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
        """Whether the guarantee holds: false for a seeded run."""
        return self.seed is None

    @property
    def spent(self) -> tuple[tuple[str, float], ...]:
        """What epsilon was spent on, as (name, epsilon) pairs that add up to it.

        Empty when it went into one measurement.
        """
        return () if self.budget_plan is None else self.budget_plan.spent_by_statistic(self.epsilon)

    @property
    def counted(self) -> str:
        """What cuts add up, as `neighbours` tells: "edges", or "weight"."""
        return "weight" if "weight" in self.neighbours else "edges"

    @property
    def differs_within(self) -> str | None:
        """What of time holds all that neighbours differ in, as `privacy_unit` tells.

        "row": a single row; "day", "month", "quarter", "year": one of these; "period": one of the
        declared periods, whatever they are. None: neighbours may differ at all times.
        """
        found = _IN_ONE.fullmatch(self.privacy_unit)
        return None if found is None else found[1] or "row"

    def __str__(self) -> str:
        delta = f", delta = {self.delta:g}" if self.delta else ""
        text = (
            f"epsilon = {self.epsilon:g}{delta}; privacy unit: {self.privacy_unit}; "
            f"neighbours: {self.neighbours}; public: {self.public}"
        )
        return text if self.is_private else f"{SEEDED_WARNING} ({text})"

    @property
    def dp_event(self) -> dict[str, str | float] | None:
        """The cost as an event of the package dp_accounting, which adds it to those of others.

        It is `ZCDpEvent(rho)`, which its accountant for Renyi privacy takes for every kind of
        neighbours; epsilon-DP is (epsilon^2/2)-zCDP. The event that would tell epsilon-DP exactly,
        `RandomizedResponseDpEvent`, is not used: version 0.6 counts it once, however often it is
        repeated. None where neither is proven, and for a seeded run, which guarantees nothing.
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
        parts = ", ".join(f"{name} {epsilon:.3g}" for name, epsilon in self.spent)
        return (
            ("epsilon", self.epsilon),
            *delta,
            ("privacy unit", self.privacy_unit),
            ("neighbours", self.neighbours),
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
            "privacy_unit": self.privacy_unit,
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
            "privacy_unit": self.privacy_unit,
            "neighbours": self.neighbours,
            "public": self.public,
            "entropy": "operating system" if self.is_private else SEEDED_WARNING,
            "seed": self.seed,
            "spent": dict(self.spent),
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
        names = ("epsilon", "delta", "privacy_unit", "neighbours", "public", "seed", "rho")
        plain = {key: stored[key] for key in names}
        parts, plan = tuple(stored["spent"].items()), stored.get("budget_plan")
        if plan is not None:
            read = BudgetPlan.from_dict(plan)
            pure = read.currency == "epsilon" and read.ran is not None
            if pure and read.cost.epsilon > plain["epsilon"] * (1 + 1e-6):
                raise ValueError("the budget plan costs more than the guarantee states")
            return cls(**plain, budget_plan=read)
        return cls(**plain, **cls.from_former({"parts": parts}))


def change_of_one_pair(*, weighted: bool, max_weight: float | None, directed: bool) -> str:
    """Return by what neighbouring graphs of this schema differ: `PrivacyGuarantee.neighbours`."""
    one, edge = ("one ordered pair", "arc") if directed else ("one pair", "edge")
    if not weighted:
        return f"whether any {one} is an {edge}"
    if max_weight is None:
        return f"a change of any {one}'s weight by at most 1; an {edge} that weighs more is not"
    return f"the weight of any {one}, within 0 .. {max_weight:g}"


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
            "below, noise hides everything; above, it hides nothing"
        )
    return exact


def guarantee_text(guarantee: PrivacyGuarantee) -> str:
    """Return a guarantee in few words, for titles of pictures."""
    delta = f", delta = {guarantee.delta:g}" if guarantee.delta else ""
    mark = f", {guarantee.warning}" if guarantee.warning else ""
    return f"epsilon = {guarantee.epsilon:g}{delta}{mark}"


UnitKind = Literal["edge", "row", "user", "vertex", "person"]
_LARGEST_BOUND = 10**9
_EdgeGroup = Annotated[
    int, Option(help="So many edges, any, are one unit together.", group=PRIVACY)
]
_RowUnits = Annotated[
    int,
    Option(
        help="With --counting weight: units of weight that one row counts for at most.",
        group=PRIVACY,
    ),
]
_UserContributions = Annotated[
    int | None,
    Option(
        help="Rows of a user that count at most; with --counting users or edges pairs, with "
        "--counting weight units of weight.",
        group=PRIVACY,
    ),
]
_PerPeriod = Annotated[
    bool,
    Option(
        help="Bound the contributions of a user in each period, not in all together; the guarantee "
        "is then for one period of a user.",
        group=PRIVACY,
    ),
]
_VertexDegree = Annotated[
    int | None,
    Option(
        help="Most edges of a vertex that an answer counts; larger degrees make answers too low.",
        group=PRIVACY,
    ),
]
N = TypeVar("N", float, Fraction)


def _bound(name: str, bound: int | None, missing: str = "", *, most: float = _LARGEST_BOUND) -> int:
    if bound is None:
        raise ParameterError(f"{missing}, for example {name}=20")
    if isinstance(bound, bool) or not isinstance(bound, int) or not 1 <= bound <= most:
        raise ParameterError(f"{name} must be a whole number from 1 on, for example {name}=20")
    return bound


@final
@dataclass(frozen=True, kw_only=True)
class PrivacyUnit:
    """The unit of privacy: by what neighbouring data differ.

    `PrivacyUnit.edge(3)`, `PrivacyUnit.row()`, `PrivacyUnit.user(max_contributions=50)` and
    `PrivacyUnit.vertex(max_degree=20)` make one, which every `privacy_unit=` takes; or a string,
    such as "edge" or "user:max-contributions=50".

    Attributes:
        kind: "edge", "row", "user" or "vertex"; of distances "person", who is at one vertex.
        group_size: k >= 1: how many changes of one pair, or of one person, lie between neighbours;
            1 for a vertex, whose mechanisms bound the change of all its edges as one.
        max_degree: of a vertex: D, public; None for others.
        per_period: of a user: whether contributions are bounded in each period of the rows by
            itself; the unit is then a user in any one period.

    Raises:
        ParameterError: another kind, a bound below 1, or a degree bound without a vertex.

    Examples:
        >>> club, groups = gc.datasets.load("karate"), gc.datasets.load_groups("karate")
        >>> print(gc.PrivacyUnit.vertex(max_degree=20))
        1 vertex
        >>> flows = gc.release_flows(club, groups, epsilon=1.0, privacy_unit=gc.PrivacyUnit.edge(3))
        >>> flows.guarantee.privacy_unit
        '3 edges'
    """

    kind: UnitKind = "edge"
    group_size: int = 1
    max_degree: int | None = None
    per_period: bool = False

    def __post_init__(self) -> None:
        if self.kind not in get_args(UnitKind):
            names = ", ".join(map(repr, PRIVACY_UNITS))
            raise ParameterError(f"unknown privacy_unit={self.kind!r:.60}; choose one of {names}")
        if self.kind != "vertex" and self.max_degree is not None:
            raise ParameterError("max_degree is for privacy_unit='vertex'")
        if self.kind == "vertex":
            _bound("max_degree", self.max_degree, "privacy_unit='vertex' needs max_degree")
        _bound("group_size", self.group_size, most=math.inf)  # `either_way` doubles it

    @classmethod
    @refuses_former_options(at_most="group_size")
    def edge(cls, group_size: _EdgeGroup = 1) -> Self:
        """Return the unit of one edge, or of so many edges together.

        Raises:
            ParameterError: not a whole number from 1 on.
        """
        return cls(group_size=_bound("group_size", group_size))

    @classmethod
    @refuses_former_options(at_most="max_units")
    def row(cls, max_units: _RowUnits = 1) -> Self:
        """Return the unit of one row of a table.

        Args:
            max_units: most units of weight that a row counts for; 1 where rows are counted.

        Raises:
            ParameterError: not a whole number from 1 on.
        """
        return cls(kind="row", group_size=_bound("max_units", max_units))

    @classmethod
    @refuses_former_options(at_most="max_contributions")
    def user(
        cls, *, max_contributions: _UserContributions = None, per_period: _PerPeriod = False
    ) -> Self:
        """Return the unit of one user, with all rows.

        Args:
            max_contributions: most rows of a user that count: pairs, rows, or units of weight, as
                the `counting` of the rows says.
            per_period: whether contributions are bounded in each period by itself; the unit is then
                a user in any one period.

        Raises:
            ParameterError: not a whole number from 1 on.
        """
        needs = "privacy_unit='user' needs max_contributions, how many rows of a user count"
        group_size = _bound("max_contributions", max_contributions, needs)
        return cls(kind="user", group_size=group_size, per_period=bool(per_period))

    @classmethod
    @refuses_former_options()
    def vertex(cls, *, max_degree: _VertexDegree = None) -> Self:
        """Return the unit of one vertex with all its edges.

        Args:
            max_degree: most edges of a vertex, or most of their weight, that an answer counts.

        Raises:
            ParameterError: not a whole number from 1 on.
        """
        return cls(kind="vertex", max_degree=max_degree)

    @classmethod
    def person(cls, group_size: int = 1) -> Self:
        """Return the unit of one person at one vertex of a map, or of so many people together.

        Raises:
            ParameterError: not a whole number from 1 on.
        """
        return cls(kind="person", group_size=_bound("group_size", group_size))

    @classmethod
    def of(cls, privacy_unit: "str | Self") -> Self:
        """Return the unit that a user has given.

        Args:
            privacy_unit: an object of this class, or one of `PRIVACY_UNITS`, with its bound where
                it needs one: "edge", "user:max-contributions=50".

        Raises:
            ParameterError: an unknown name, or a bound that is missing, unknown or out of range.
        """
        if not isinstance(privacy_unit, str | PrivacyUnit):
            raise ParameterError(
                f"privacy_unit is a name or a PrivacyUnit, not {privacy_unit!r:.60}"
            )
        return chosen(privacy_unit, PRIVACY_UNITS, "privacy_unit")

    @classmethod
    def of_pairs(cls, privacy_unit: "str | Self", *, others: int, epsilon: float) -> Self:
        """Return the unit of what is made of noisy pairs of vertices: any but a vertex.

        Args:
            privacy_unit: as for `of`.
            others: how many pairs one vertex has, public.
            epsilon: that was asked for.

        Raises:
            ParameterError: as for `of`; or a vertex.
        """
        if privacy_unit == "vertex" or cls.of(privacy_unit).kind == "vertex":
            noise = math.sqrt(2) * others / float(exact_epsilon(epsilon))
            raise ParameterError(
                f"privacy_unit='vertex' is not possible here: all {others:,} pairs of a vertex"
                f" change together, so an entry of 0 or 1 would have noise of about {noise:,.0f};"
                " use release_flows or open_session, whose noise for a vertex does not grow with"
                " the graph"
            )
        return cls.of(privacy_unit)

    @property
    def typed(self) -> str:
        """The string that `of` reads as this unit, such as "user:max-contributions=50"."""
        bound = self.max_degree if self.kind == "vertex" else self.group_size
        if self.kind not in ("user", "vertex") and bound == 1:
            return self.kind
        period = ",per-period" if self.per_period else ""
        return f"{self.kind}:{BOUND_KEYS[self.kind]}={bound}{period}"

    @property
    def monotone(self) -> Self:
        """The same, for mechanisms that need all answers to change in one direction at each step.

        Of two graphs that differ in the edges at one vertex neither need have the larger answers;
        but both have at least those of the graph without these edges. So it lies between them, a
        step from either, and neighbours are two steps apart.
        """
        return replace(self, group_size=2) if self.kind == "vertex" else self

    @property
    def either_way(self) -> Self:
        """The same, for such mechanisms where one change raises some answers and lowers others.

        All answers that it raises are raised first, then all others lowered: two steps.
        """
        return replace(self, group_size=2 * self.group_size)

    def __str__(self) -> str:
        if self.kind in ("edge", "person") and self.group_size > 1:
            return f"{self.group_size} {'edges' if self.kind == 'edge' else 'people'}"
        return f"1 {self.kind}" + (" in one period" if self.per_period else "")

    def check_rows(self, counting: str, *, owned: bool, periods: bool) -> None:
        """Refuse what rows of a kind cannot keep. From public facts alone.

        Args:
            counting: what their cells count, see `Rows`.
            owned: whether each row has a user.
            periods: whether they have periods.

        Raises:
            ParameterError: they cannot keep it.
        """
        if self.kind == "user" and not owned:
            raise ParameterError("privacy_unit='user' needs the column of the users: user=")
        if self.kind == "row" and counting not in ("rows", "weight"):
            raise ParameterError(f"privacy_unit='row' is for rows or their weights, not {counting}")
        if self.kind == "row" and counting == "rows" and self.group_size > 1:
            raise ParameterError("a row counts once: leave out max_units, which is for weights")
        if self.kind == "edge" and counting != "edges":
            raise ParameterError(
                "privacy_unit='edge' is about whether a pair has any row: it is for "
                "counting='edges'; "
                "for rows take privacy_unit='row', or 'user'"
            )
        if self.kind == "vertex":
            raise ParameterError(
                "privacy_unit='vertex' is for graphs: read the file with read_graph"
            )
        if self.per_period and not periods:
            raise ParameterError(NO_PERIODS)

    def per_change(self, epsilon: float | Fraction) -> Fraction:
        """What of a pure epsilon each step may cost, exactly.

        Raises:
            ParameterError: it is out of range, or too little is left for a step.
        """
        whole = exact_epsilon(epsilon)
        return self._enough(whole / self.group_size, whole)

    def _enough(self, step: N, whole: float | Fraction) -> N:
        if step < SMALLEST_EPSILON:
            raise ParameterError(
                f"epsilon = {float(whole):g} for {self} leaves less than {SMALLEST_EPSILON:g} for"
                f" each of {self.group_size:,} changes; choose a smaller bound, or more epsilon"
            )
        return step

    def budget_per_change(
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
        each = self.per_change(epsilon)
        if self.group_size == 1:
            return as_stored(epsilon), delta
        if not delta:
            return as_stored(each), 0.0
        if zcdp:
            rho = zcdp_rho(epsilon=as_stored(epsilon), delta=delta) / self.group_size**2
            found = zcdp_epsilon(rho * (1 - 1e-6), delta=delta)
            return self._enough(found, epsilon), delta
        step = as_stored(each)
        # delta/(1 + e^step + ... + e^((k-1) step)), rounded down
        share = math.expm1(step) / math.expm1(step * self.group_size)
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
        return stated_cost(step.for_group(self.group_size), epsilon=epsilon, delta=delta)

    def guarantee(self, step: PrivacyGuarantee, cost: Cost) -> PrivacyGuarantee:
        """Return the guarantee for this unit, from that for one change.

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
            privacy_unit=str(self),
            budget_plan=None if plan is None else replace(plan, group_size=self.group_size),
            rho=None if cost.pure is not None else cost.rho,
        )

    def explain(
        self, *, epsilon: float, delta: float = 0.0, priors: Sequence[float] = PRIORS
    ) -> Explanation:
        """Explain in plain words what such a guarantee means, and how strong it is.

        Reads no data.

        Args:
            epsilon: of everything that is released together, in [1e-6, 50].
            delta: likewise, in [0, 1).
            priors: what an attacker may believe beforehand, each in (0, 1).

        Raises:
            ParameterError: a number out of range.

        Examples:
            >>> told = gc.PrivacyUnit.edge(20).explain(epsilon=1.0)
            >>> told.odds[1]  # who held it for 1 % likely may hold it for 2.7 %
            Odds(prior=0.01, lowest=0.0037..., highest=0.0267...)
        """
        exact_epsilon(epsilon)
        check_probability("delta", delta, zero=True)
        words = words_for(self.kind, self.max_degree or self.group_size, per_period=self.per_period)
        return Explanation(
            privacy_unit=str(self),
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
                f" which each vertex counts for at most {self.max_degree:,}"
            )
        one, _, _ = step.partition(";")  # without what one change would not be
        if self.kind == "row":
            return (
                f"any one row, which counts for at most {self.group_size:,} (added or removed; one"
                " that is altered, or moves to another period, is two such changes)"
            )
        if self.kind == "user":
            where = " in any one period" if self.per_period else ""
            several = ""
            if self.per_period:
                several = "; of a user with rows in k periods the guarantee holds with k epsilon"
            return (
                f"all rows of any one user{where}, of which at most {self.group_size:,} count "
                "(added"
                f" or removed; replacing them is two such changes); each of them: {one}{several}"
            )
        return (
            step
            if self.group_size == 1
            else f"any {self.group_size:,} changes together, each: {step}"
        )


EDGE = PrivacyUnit()
# What `privacy_unit=` can name, and the key of the bound of each.
PRIVACY_UNITS: Mapping[str, Callable[..., PrivacyUnit]] = {
    "edge": PrivacyUnit.edge,
    "row": PrivacyUnit.row,
    "user": PrivacyUnit.user,
    "vertex": PrivacyUnit.vertex,
}
BOUND_KEYS: Mapping[UnitKind, str] = {
    "edge": "group-size",
    "row": "max-units",
    "user": "max-contributions",
    "vertex": "max-degree",
    "person": "group-size",
}
