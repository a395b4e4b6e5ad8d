"""Privacy units: by how much neighbouring data differ, and the budget that this leaves.

A guarantee of differential privacy is about *neighbours*, two data sets that differ in one privacy
unit. Every mechanism here has a proven cost for one *change*: the weight of one pair of vertices
changes as `guarantee.change_of_one_pair` says; for distances, one person moves. A `PrivacyUnit` may
consist of several changes:

- *k edges*: neighbours are the endpoints of a path of at most k changes.
- *A row* of a table that counts for at most k units of weight: adding or removing it is k changes.
- *A user* of a table of whose rows at most k count: adding or removing all of them is k changes,
  since each user's rows are bounded without looking at those of other users. The bound may hold for
  each period separately; then the unit is a user in one period, and the costs of periods add up.
- *A vertex*: all its edges change, and no number of changes bounds that. Mechanisms for it answer
  with bounded cuts, whose change is bounded by `max_degree`.

The number k of changes is the *group size*. The cost of k changes follows from that of one by group
privacy (`Cost.for_group`); `budget_per_change` and `per_change` divide a budget accordingly. A
`Cost` has an epsilon and a delta, and perhaps an exact pure epsilon (`pure`) and a zCDP bound
(`rho`).

Users pass a unit as an object or as a string such as "user:max-contributions=50"; `PrivacyUnit.of`
reads both. `Annotated` types below carry the help texts that the command line shows for the
arguments of the functions in `PRIVACY_UNITS`. `refuses_former_options` makes an argument of an
earlier version, such as at_most=, an error that names the new one.

Source: DR14 Theorem 2.2; Bun, Steinke 2016, Proposition 1.9 (zCDP).

Papers: DR14 is Dwork, Roth, *The Algorithmic Foundations of Differential Privacy*, 2014.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Literal, Self, TypeVar, get_args

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.final_classes import final
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.options import PRIVACY, Option, check_probability, chosen
from graphcuts_dp.privacy.composition import Cost, as_stored, stated_cost, zcdp_epsilon, zcdp_rho
from graphcuts_dp.privacy.explanation import (
    PRIORS,
    Explanation,
    Odds,
    posterior,
    strength,
    words_for,
)
from graphcuts_dp.privacy.guarantee import (
    SMALLEST_EPSILON,
    SMALLEST_SHARE,
    PrivacyGuarantee,
    exact_epsilon,
)

UnitKind = Literal["edge", "row", "user", "vertex", "person"]
Number = TypeVar("Number", float, Fraction)

# The units that `privacy_unit=` can name, with the functions that make them; filled by `_named`.
PRIVACY_UNITS: "dict[str, Callable[..., PrivacyUnit]]" = {}
# The key of the bound in the string of a unit, such as "user:max-contributions=50".
BOUND_KEYS: Mapping[UnitKind, str] = {
    "edge": "group-size",
    "row": "max-units",
    "user": "max-contributions",
    "vertex": "max-degree",
    "person": "group-size",
}
NO_PERIODS = "a bound for each period needs rows with periods="  # message of refusals
_LARGEST_BOUND = 10**9  # of a group size, contributions or a degree
# A rho for one change is lowered by this relative part, so that rounding cannot pass the budget.
_RHO_ROUNDING = 1e-6
_DELTA_ROUNDING = 1e-12  # relative: a delta for one change is rounded down by this
# How `PrivacyGuarantee.privacy_unit` is written, and the nouns in it.
_STATED_UNIT = re.compile(r"([\d,]+) (\w+)(?: in one \w+)?")
_STATED_KINDS: Mapping[str, UnitKind] = {
    "edge": "edge",
    "edges": "edge",
    "row": "row",
    "user": "user",
    "vertex": "vertex",
    "person": "person",
    "people": "person",
}

_EdgeGroup = Annotated[
    int,
    Option(help="Number of edges that are one unit together, whichever they are.", group=PRIVACY),
]
_RowUnits = Annotated[
    int,
    Option(
        help="With --counting weight: the most units of weight that one row counts for.",
        group=PRIVACY,
    ),
]
_UserContributions = Annotated[
    int | None,
    Option(
        help="The most rows of a user that count; with --counting users or edges, the most pairs; "
        "with --counting weight, the most units of weight.",
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
        help="The most edges of a vertex that an answer counts; larger degrees make answers too "
        "small.",
        group=PRIVACY,
    ),
]


def _named(unit_class: "type[PrivacyUnit]") -> "type[PrivacyUnit]":
    """Enter the units that users can name in `PRIVACY_UNITS`, and return the class."""
    PRIVACY_UNITS["edge"] = unit_class.edge
    PRIVACY_UNITS["row"] = unit_class.row
    PRIVACY_UNITS["user"] = unit_class.user
    PRIVACY_UNITS["vertex"] = unit_class.vertex
    return unit_class


@final
@_named
@dataclass(frozen=True, kw_only=True)
class PrivacyUnit:
    """The unit of privacy: by what neighbouring data differ.

    `PrivacyUnit.edge(3)`, `PrivacyUnit.row()`, `PrivacyUnit.user(max_contributions=50)` and
    `PrivacyUnit.vertex(max_degree=20)` make one, which every `privacy_unit=` takes; or a string,
    such as "edge" or "user:max-contributions=50".

    Attributes:
        kind: "edge", "row", "user" or "vertex"; for distances "person", who is at one vertex.
        group_size: k >= 1, the number of changes between neighbours. For a vertex it is 1, since
            its mechanisms bound the change of all its edges as one; `monotone` makes it 2.
        max_degree: for a vertex, the most edges of it that an answer counts, public; None for other
            kinds.
        per_period: for a user, True if contributions are bounded in each period separately; the
            unit is then a user in any one period.

    Raises:
        ParameterError: the kind is unknown, a bound is below 1, or `max_degree` is given for
            another kind than a vertex.

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
            _checked_bound("max_degree", self.max_degree, "privacy_unit='vertex' needs max_degree")
        # Without a largest value: `either_way` doubles the group size.
        _checked_bound("group_size", self.group_size, largest=math.inf)

    @classmethod
    @refuses_former_options(at_most="group_size")
    def edge(cls, group_size: _EdgeGroup = 1) -> Self:
        """Return the unit of one edge, or of several edges together.

        Args:
            group_size: number of edges.

        Raises:
            ParameterError: it is not a whole number in 1..10^9.
        """
        return cls(group_size=_checked_bound("group_size", group_size))

    @classmethod
    @refuses_former_options(at_most="max_units")
    def row(cls, max_units: _RowUnits = 1) -> Self:
        """Return the unit of one row of a table.

        Args:
            max_units: most units of weight that a row counts for; 1 if rows are counted.

        Raises:
            ParameterError: it is not a whole number in 1..10^9.
        """
        return cls(kind="row", group_size=_checked_bound("max_units", max_units))

    @classmethod
    @refuses_former_options(at_most="max_contributions")
    def user(
        cls, *, max_contributions: _UserContributions = None, per_period: _PerPeriod = False
    ) -> Self:
        """Return the unit of one user, with all rows of that user.

        Args:
            max_contributions: most rows of a user that count; or pairs, or units of weight, as the
                `counting` of the rows says.
            per_period: True if contributions are bounded in each period separately; the unit is
                then a user in any one period.

        Raises:
            ParameterError: max_contributions is missing, or not a whole number in 1..10^9.
        """
        needs = "privacy_unit='user' needs max_contributions, how many rows of a user count"
        group_size = _checked_bound("max_contributions", max_contributions, needs)
        return cls(kind="user", group_size=group_size, per_period=bool(per_period))

    @classmethod
    @refuses_former_options()
    def vertex(cls, *, max_degree: _VertexDegree = None) -> Self:
        """Return the unit of one vertex with all its edges.

        Args:
            max_degree: most edges of a vertex, or most of their weight, that an answer counts.

        Raises:
            ParameterError: max_degree is missing, or not a whole number in 1..10^9.
        """
        return cls(kind="vertex", max_degree=max_degree)

    @classmethod
    def person(cls, group_size: int = 1) -> Self:
        """Return the unit of one person at a vertex of a map, or of several people together.

        Args:
            group_size: number of people.

        Raises:
            ParameterError: it is not a whole number in 1..10^9.
        """
        return cls(kind="person", group_size=_checked_bound("group_size", group_size))

    @classmethod
    def of(cls, privacy_unit: "str | Self") -> Self:
        """Return the unit that a user passed as `privacy_unit=`.

        Args:
            privacy_unit: an object of this class, or a name of `PRIVACY_UNITS`, with its bound if
                it needs one: "edge", "user:max-contributions=50".

        Raises:
            ParameterError: the name is unknown, or a bound is missing, unknown or out of range.
        """
        # The class itself: what only calls itself one could state any budget for a change.
        if not isinstance(privacy_unit, str) and type(privacy_unit) is not PrivacyUnit:
            raise ParameterError(
                f"privacy_unit is a name or a PrivacyUnit, not {privacy_unit!r:.60}"
            )
        return chosen(privacy_unit, PRIVACY_UNITS, "privacy_unit")

    @classmethod
    def of_pairs(cls, privacy_unit: "str | Self", *, pairs_of_vertex: int, epsilon: float) -> Self:
        """Return the unit of a mechanism that adds noise to every pair: any kind but a vertex.

        Args:
            privacy_unit: as for `of`.
            pairs_of_vertex: number of pairs that one vertex is part of, public.
            epsilon: of the mechanism, for the error message.

        Raises:
            ParameterError: as for `of`; or the unit is a vertex.
        """
        # The bare name lacks the bound that `of` needs, but deserves this message, too.
        is_bare = isinstance(privacy_unit, str) and privacy_unit == "vertex"
        if is_bare or cls.of(privacy_unit).kind == "vertex":
            noise = math.sqrt(2) * pairs_of_vertex / float(exact_epsilon(epsilon))
            raise ParameterError(
                f"privacy_unit='vertex' is not possible here: all {pairs_of_vertex:,} pairs of a"
                f" vertex change together, so an entry of 0 or 1 would have noise of about"
                f" {noise:,.0f}; use flows or a session, whose noise for a vertex does not grow"
                " with the graph"
            )
        return cls.of(privacy_unit)

    @property
    def typed(self) -> str:
        """The string that a user would type for this unit, such as "user:max-contributions=50".

        `of` reads it, except for a person, a unit of distances that no `privacy_unit=` names.
        """
        bound = self.max_degree if self.kind == "vertex" else self.group_size
        if self.kind not in ("user", "vertex") and bound == 1:
            return self.kind
        period = ",per-period" if self.per_period else ""
        return f"{self.kind}:{BOUND_KEYS[self.kind]}={bound}{period}"

    @property
    def monotone(self) -> Self:
        """The same unit, for a mechanism that needs changes which move all answers one way.

        Mechanisms with such a need, such as one-sided sparse vector tests, divide their budget by
        the group size of this unit and not of the plain one. A vertex then has group size 2:
        between two graphs that differ in the edges of one vertex lies the graph without these
        edges, whose answers are at most those of either. From there, each of the two is one change
        upward. Other kinds already move all answers one way.
        """
        return replace(self, group_size=2) if self.kind == "vertex" else self

    @property
    def either_way(self) -> Self:
        """The same unit, for a mechanism as in `monotone` whose answers do not all move one way.

        That is, one change raises some answers and lowers others. The group size is doubled: first
        the answers that the change raises are raised, then the other ones are lowered.
        """
        return replace(self, group_size=2 * self.group_size)

    def check_rows(self, counting: str, *, has_users: bool, has_periods: bool) -> None:
        """Raise an error if rows of a table cannot give a guarantee for this unit.

        It reads public facts only.

        Args:
            counting: what the cells of the rows count: "rows", "weight", "edges" or "users".
            has_users: True if each row names its user.
            has_periods: True if the rows have periods.

        Raises:
            ParameterError: the guarantee is not possible for such rows.
        """
        if self.kind == "user" and not has_users:
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
        if self.per_period and not has_periods:
            raise ParameterError(NO_PERIODS)

    def per_change(self, epsilon: float | Fraction) -> Fraction:
        """Return the pure epsilon that each change may cost, exactly: epsilon/k.

        Args:
            epsilon: for the whole unit, in [1e-6, 50].

        Raises:
            ParameterError: it is out of range, or leaves less than 1e-6 for a change.
        """
        unit_epsilon = exact_epsilon(epsilon)
        return self._checked_share(unit_epsilon / self.group_size, unit_epsilon)

    def budget_per_change(
        self, *, epsilon: float | Fraction, delta: float, zcdp: bool
    ) -> tuple[float, float]:
        """Return the (epsilon, delta) that one change may cost if the unit has the given budget.

        With one change in a unit, it is the budget itself. Without delta, epsilon is divided by k.
        With `zcdp`, the rho that the budget allows is divided by k^2, and converted back for the
        same delta. Otherwise epsilon is divided by k, and delta by a larger factor.

        Args:
            epsilon: for the whole unit, in [1e-6, 50].
            delta: for the whole unit, in [0, 1).
            zcdp: True if the mechanism has a zCDP cost and spends all that its (epsilon, delta)
                allows in rho. Then group privacy is applied to rho, which is far cheaper.

        Raises:
            ParameterError: a number is out of range, or epsilon/k is below 1e-6 (also with `zcdp`).
        """
        change_epsilon = self.per_change(epsilon)
        if self.group_size == 1:
            return as_stored(epsilon), delta
        if not delta:
            return as_stored(change_epsilon), 0.0
        if zcdp:
            rho = zcdp_rho(epsilon=as_stored(epsilon), delta=delta) / self.group_size**2
            from_rho = zcdp_epsilon(rho * (1 - _RHO_ROUNDING), delta=delta)
            return self._checked_share(from_rho, epsilon), delta
        stored_epsilon = as_stored(change_epsilon)
        # delta/(1 + e^x + ... + e^((k-1) x)) for x = epsilon/k
        share = math.expm1(stored_epsilon) / math.expm1(stored_epsilon * self.group_size)
        return stored_epsilon, delta * share * (1 - _DELTA_ROUNDING)

    def cost(self, change_cost: Cost, *, epsilon: float | Fraction, delta: float = 0.0) -> Cost:
        """Return the cost for the whole unit of a mechanism built for a budget (epsilon, delta).

        Args:
            change_cost: the cost for one change, from the scales of the noise.
            epsilon: of the budget, for the whole unit.
            delta: of the budget.

        Raises:
            BudgetError: the mechanism costs more than the budget.
        """
        return stated_cost(change_cost.for_group(self.group_size), epsilon=epsilon, delta=delta)

    def guarantee(self, change_guarantee: PrivacyGuarantee, cost: Cost) -> PrivacyGuarantee:
        """Return the guarantee for this unit, from the guarantee for one change.

        Args:
            change_guarantee: as the mechanism states it for one change.
            cost: for the whole unit.
        """
        plan = change_guarantee.budget_plan
        return replace(
            change_guarantee,
            epsilon=cost.epsilon,
            delta=cost.delta,
            neighbours=self._neighbours(change_guarantee.neighbours),
            privacy_unit=str(self),
            budget_plan=None if plan is None else replace(plan, group_size=self.group_size),
            rho=None if cost.pure is not None else cost.rho,
        )

    def explain(
        self, *, epsilon: float, delta: float = 0.0, priors: Sequence[float] = PRIORS
    ) -> Explanation:
        """Explain in plain words what such a guarantee means, and how strong it is.

        It reads no data.

        Args:
            epsilon: of everything that is released together, in [1e-6, 50].
            delta: of everything that is released together, in [0, 1).
            priors: probabilities that an attacker may give to a statement beforehand, in [0, 1].

        Raises:
            ParameterError: a number is out of range.

        Examples:
            >>> explanation = gc.PrivacyUnit.edge(20).explain(epsilon=1.0)
            >>> explanation.odds[1]  # a belief of 1 % can become one of 2.7 %
            Odds(prior=0.01, lowest=0.0037..., highest=0.0267...)
        """
        exact_epsilon(epsilon)
        check_probability("delta", delta, zero=True)
        bound = self.max_degree or self.group_size  # max_degree is None but for a vertex
        words = words_for(self.kind, bound, per_period=self.per_period)
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

    def __str__(self) -> str:
        if self.kind in ("edge", "person") and self.group_size > 1:
            return f"{self.group_size} {'edges' if self.kind == 'edge' else 'people'}"
        return f"1 {self.kind}" + (" in one period" if self.per_period else "")

    def _checked_share(self, share: Number, unit_epsilon: float | Fraction) -> Number:
        """Return the epsilon of one change, or raise an error if it is too small."""
        if share < SMALLEST_SHARE:
            raise ParameterError(
                f"epsilon = {float(unit_epsilon):g} for {self} leaves less than"
                f" {SMALLEST_EPSILON:g} for each of {self.group_size:,} changes; choose a smaller"
                " bound, or more epsilon"
            )
        return share

    def _neighbours(self, one_change: str) -> str:
        """Return by what neighbours of this unit differ, as a guarantee states it.

        Args:
            one_change: the same for one change.
        """
        if self.kind == "vertex":
            return (
                "all edges of any one vertex, however many; what is released are bounded sums, in"
                f" which each vertex counts for at most {self.max_degree:,}"
            )
        # `guarantee.change_of_one_pair` says after a semicolon what one change does not cover; that
        # is left out where the text goes on.
        covered_change, _, _ = one_change.partition(";")
        if self.kind == "row":
            return (
                f"any one row, which counts for at most {self.group_size:,} (added or removed; one"
                " that is altered, or moves to another period, is two such changes)"
            )
        if self.kind == "user":
            in_one_period, of_periods = "", ""
            if self.per_period:
                in_one_period = " in any one period"
                of_periods = "; of a user with rows in k periods the guarantee holds with k epsilon"
            return (
                f"all rows of any one user{in_one_period}, of which at most {self.group_size:,} "
                "count (added or removed; replacing them is two such changes); each of them: "
                f"{covered_change}{of_periods}"
            )
        if self.group_size == 1:
            return one_change
        return f"any {self.group_size:,} changes together, each: {one_change}"


def stated_unit(guarantee: PrivacyGuarantee) -> PrivacyUnit:
    """Return the unit that a guarantee names in words, with its bound from `neighbours`.

    Raises:
        ValueError: it names no unit, or one without its bound.
    """
    words = _STATED_UNIT.fullmatch(guarantee.privacy_unit)
    if words is None or words[2] not in _STATED_KINDS:
        raise ValueError("an unknown privacy unit")
    kind, count = _STATED_KINDS[words[2]], words[1]
    if kind in ("row", "user", "vertex"):
        bound = re.search(r"at most ([\d,]*\d)", guarantee.neighbours)
        if bound is None:
            raise ValueError("a privacy unit without its bound")
        count = bound[1]
    size = int(count.replace(",", ""))
    if kind == "vertex":
        return PrivacyUnit.vertex(max_degree=size)
    per_period = kind == "user" and guarantee.differs_within is not None
    return PrivacyUnit(kind=kind, group_size=size, per_period=per_period)


def option_of_stated(words: str) -> str:
    """Return the options that give a unit that a store names in words, such as "1 row".

    K stands for a bound that the words lack. Without an option for it, "privacy_unit=" alone.
    """
    stated = _STATED_UNIT.fullmatch(words)
    kind = None if stated is None else _STATED_KINDS.get(stated[2])
    if stated is None or kind is None or kind == "person":
        return "privacy_unit="
    if kind == "row":
        return "counting='rows' and privacy_unit='row'"
    bound = stated[1].replace(",", "") if kind == "edge" else "K"
    period = ",per-period" if " in one " in words else ""
    key = "" if bound == "1" else f":{BOUND_KEYS[kind]}={bound}{period}"
    return f"privacy_unit='{kind}{key}'"


def _checked_bound(
    name: str, bound: int | None, missing: str = "", *, largest: float = _LARGEST_BOUND
) -> int:
    """Return a bound that is a whole number in 1..largest.

    Args:
        name: of the option, for messages.
        bound: None if the user gave none.
        missing: the message if there is none.
        largest: largest value.

    Raises:
        ParameterError: it is None, or no such number.
    """
    if bound is None:
        raise ParameterError(f"{missing}, for example {name}=20")
    if isinstance(bound, bool) or not isinstance(bound, int) or not 1 <= bound <= largest:
        raise ParameterError(f"{name} must be a whole number from 1 on, for example {name}=20")
    return bound
