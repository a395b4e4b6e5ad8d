"""Stated guarantees of differential privacy, and checks of epsilon and delta.

A `PrivacyGuarantee` accompanies every release: epsilon, delta, by what neighbouring data differ,
for which privacy unit it holds, what is assumed to be public, and how the budget was spent. The
unit itself is a `privacy_unit.PrivacyUnit`; here it is only its text, such as "1 user".

`change_of_one_pair` describes the smallest change, that of one pair of vertices. `exact_epsilon`
checks the epsilon of a user, and `delta_warning` comments on a delta that is too large.

A `Displayed` object is shown in notebooks as the table that its `_card` returns.

Some texts are also read by programs, so their wording must stay: `counted` looks for "weight" in
`neighbours`; `differs_within` reads the end of `privacy_unit`; and `PrivacyUnit` cuts a text of
`change_of_one_pair` at its semicolon, after which it says what is not covered.
"""

import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import ParameterError, PrivacyWarning
from graphcuts_dp.final_classes import final
from graphcuts_dp.privacy.budget_plan import BudgetPlan
from graphcuts_dp.privacy.dp_events import Event, event_for, pure_event, zcdp_event
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.provenance import Provenance

SMALLEST_EPSILON = 1e-6  # below, noise hides everything
# Parts of `PrivacyGuarantee.public`, and whose names are public by them.
_PUBLIC_NAMES = {
    "the vertex set": "vertices",
    "the vertex sets": "vertices",
    "the groups": "groups",
    "the periods": "periods",
}
# The same for the k-th part of an epsilon: k times 1e-6, as it is typed, is a float that may be a
# little below k times the float 1e-6. Its share counts as 1e-6 all the same.
SMALLEST_SHARE = Fraction(SMALLEST_EPSILON) * (1 - Fraction(1, 2**50))
LARGEST_EPSILON = 50.0  # above, it hides nothing
LARGEST_DELTA = 1e-3  # above, `delta_warning` warns whatever the number of people
# Privacy units whose neighbours differ in one row, or within one period of time.
_WITHIN_A_TIME = re.compile(r"1 row|.+ in one (day|month|quarter|year|period)")
_PLAN_ROUNDING = 1e-6  # relative: a stored plan may cost more than stated by this


@final
@dataclass(frozen=True, kw_only=True)
class PrivacyGuarantee(Displayed):
    """A guarantee of differential privacy, with everything needed to read it.

    Attributes:
        epsilon: >= 0; e^epsilon bounds the ratio of probabilities of any output. 0 if nothing
            private was read.
        delta: in [0, 1); 0 for pure differential privacy.
        neighbours: by what neighbouring data differ.
        public: what is assumed to be known to everybody.
        seed: None if the operating system's entropy was used. A seed voids the guarantee.
        privacy_unit: in few words: "1 edge", "10 edges", "1 user", "1 vertex", "1 person", "1 row".
            It ends in "in one period", or in the name of the period such as "in one month", if
            neighbours differ in one period only; see `differs_within`.
        rho: bound of zero-concentrated privacy. None if none is proven, or only the one that every
            pure epsilon implies, epsilon^2/2.
        budget_plan: how epsilon was spent; None if no plan was executed.
        provenance: when, why and by which program it was released, and the store that was charged;
            None if that is not known. Guarantees that differ in it alone are equal.

    Examples:
        >>> release = gc.release_graph(gc.datasets.load("karate"), epsilon=2.0)
        >>> release.guarantee.epsilon, release.guarantee.delta
        (2.0, 0.0)
    """

    epsilon: float
    delta: float = 0.0
    neighbours: str
    public: str = "the vertex set"
    seed: int | None = None
    privacy_unit: str = "1 edge"
    rho: float | None = None
    budget_plan: BudgetPlan | None = None
    provenance: Provenance | None = field(default=None, compare=False, repr=False)

    # Stores of version 0.1 have this field in place of `budget_plan`; `ledger` reads it.
    former_fields: ClassVar[tuple[str, ...]] = ("parts",)

    @classmethod
    def from_former(cls, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Return today's fields from the `former_fields` of a store of version 0.1.

        Args:
            stored: under "parts" the pairs (name, epsilon) that epsilon was spent on.
        """
        parts = [(str(name), float(epsilon)) for name, epsilon in stored["parts"]]
        return {"budget_plan": BudgetPlan.of_parts(parts) if parts else None}

    @property
    def is_private(self) -> bool:
        """True if the guarantee holds, False for a seeded run."""
        return self.seed is None

    def released_as(self, provenance: Provenance | None) -> Self:
        """Return the same guarantee with the provenance of a result.

        Args:
            provenance: where the data came from.
        """
        return replace(self, provenance=provenance)

    @property
    def warning(self) -> str:
        """The warning that a seed voids the guarantee, or an empty text."""
        return "" if self.is_private else SEEDED_WARNING

    @property
    def spent(self) -> tuple[tuple[str, float], ...]:
        """Pairs (name, epsilon) of the measurements that epsilon was spent on.

        They add up to epsilon, up to rounding of floats. `to_dict` makes a dictionary of them, so
        the names of measurements must differ. Empty if epsilon was spent on one measurement.
        """
        return () if self.budget_plan is None else self.budget_plan.spent_by_statistic(self.epsilon)

    @property
    def counted(self) -> str:
        """The word for what cuts add up: "weight" if `neighbours` mentions it, else "edges"."""
        return "weight" if "weight" in self.neighbours else "edges"

    @property
    def differs_within(self) -> str | None:
        """The span of time within which neighbours differ, read from `privacy_unit`.

        "row": in a single row. "day", "month", "quarter", "year": in one of these. "period": in one
        of the declared periods. None: neighbours may differ at all times.
        """
        return time_within(self.privacy_unit)

    @property
    def pure_losses(self) -> tuple[Fraction, ...]:
        """Exact epsilons that the pure epsilon is the sum of, see `BudgetPlan.separate_amounts`.

        Empty if privacy is not pure, and for a seeded run, which guarantees nothing.
        """
        if self.delta or not self.is_private:
            return ()
        return self._parts("epsilon", Fraction(self.epsilon))

    @property
    def concentrated_losses(self) -> tuple[Fraction, ...]:
        """Exact bounds of zCDP that add up to that of the whole.

        epsilon-DP is (epsilon^2/2)-zCDP. Empty if none is proven, and for a seeded run.
        """
        if not self.is_private or (self.delta and self.rho is None):
            return ()
        if self.delta and self.rho is not None:
            return self._parts("rho", Fraction(self.rho))
        rhos = tuple(loss**2 / 2 for loss in self.pure_losses)
        total = None if self.rho is None else Fraction(self.rho)
        return rhos if total is None or sum(rhos) <= total else (total,)

    def _parts(self, currency: str, total: Fraction) -> tuple[Fraction, ...]:
        """Return the parts of a total in the currency of the budget plan; all of it without one."""
        plan = self.budget_plan
        if plan is None or plan.currency != currency or (currency == "epsilon" and plan.delta):
            return (total,)
        return plan.separate_amounts(total)

    @property
    def dp_event(self) -> Event | None:
        """The cost as an event of the package dp_accounting, which adds it to costs of others.

        Plain values, for JSON; `to_dp_event` makes the object for an accountant. Of pure privacy it
        is what the accountant for privacy loss distributions takes, each step of the budget plan by
        itself whose epsilon is known beforehand: the discrete Laplace noise whose privacy loss is
        that of the worst mechanism with this epsilon, see `dp_events`. Otherwise it is
        `ZCDpEvent(rho)`.

        None if neither a rho nor a pure epsilon is proven, and for a seeded run.
        """
        if self.pure_losses:
            return pure_event(self.pure_losses)
        return self.zcdp_event

    @property
    def zcdp_event(self) -> Event | None:
        """The cost as an event of zCDP, which the accountant for Renyi privacy always takes.

        It loses where privacy is pure: epsilon = 1 becomes 5.2 at delta = 1e-6. None as for
        `dp_event`.
        """
        rhos = self.concentrated_losses
        return zcdp_event(rhos) if rhos else None

    def to_dp_event(self, accountant: Any) -> Any:
        """Return the cost as the event of dp_accounting that an accountant takes.

        The first that it takes of: discrete Laplace noise, and for neighbours that replace one
        record randomised response, both exact for a pure epsilon; zCDP. Compose it without a count
        (the accountant for privacy loss distributions counts randomised response once).

        Args:
            accountant: of dp_accounting, whose neighbours differ in this `privacy_unit`.

        Raises:
            ParameterError: dp_accounting is not installed; nothing is guaranteed, or what is
                guaranteed is no event of this accountant, such as zCDP for the one for privacy loss
                distributions.

        Examples:
            >>> from dp_accounting.pld import PLDAccountant
            >>> accountant = PLDAccountant()
            >>> club = gc.datasets.load("karate")
            >>> for _ in range(2):
            ...     release = gc.release_graph(club, epsilon=0.5, fit="none")
            ...     _ = accountant.compose(release.guarantee.to_dp_event(accountant))
            >>> round(accountant.get_epsilon(1e-6), 2)
            1.0
        """
        return event_for(accountant, self.pure_losses, self.concentrated_losses)

    @property
    def facts(self) -> tuple[tuple[str, object], ...]:
        """Names and values for the tables of notebooks."""
        delta = (("delta", self.delta),) if self.delta else ()
        spent_on = ", ".join(f"{name} {epsilon:.3g}" for name, epsilon in self.spent)
        return (
            ("epsilon", self.epsilon),
            *delta,
            *((("in short", self.in_short),) if self.in_short else ()),
            ("privacy unit", self.privacy_unit),
            ("neighbours", self.neighbours),
            ("public", self.public),
            *((("epsilon spent on", spent_on),) if spent_on else ()),
        )

    @property
    def in_short(self) -> str:
        """State what is hidden and what is public, for people who do not program.

        It is "" of a seeded result, which hides nothing, and of units whose neighbours no short
        sentence describes, such as weights. `neighbours` is the exact statement.
        """
        unit, _, period = self.privacy_unit.partition(" in ")
        of_period = f" in {period}" if period else ""
        bound = re.search(r"of which at most ([\d,]+) count", self.neighbours)
        counting = f", of which at most {bound[1]} count" if bound else ""
        hidden = {
            "1 user": f"one person with all rows{of_period}{counting}",
            "1 row": "one row",
            "1 vertex": "one vertex with all its edges",
            "1 edge": "" if "weight" in self.neighbours else "whether any two are connected",
        }.get(unit, "")
        if not self.is_private or not hidden:
            return ""
        names = self.public.split(" and ")
        if set(names) <= _PUBLIC_NAMES.keys():
            *earlier, last = (_PUBLIC_NAMES[name] for name in names)
            listed = f"{', '.join(earlier)} and {last}" if earlier else last
            return f"Hidden: {hidden}. Public: names of {listed}."
        return f"Hidden: {hidden}. Public: {self.public}."

    @property
    def about(self) -> dict[str, float | str]:
        """Plain values for the header of a graph file, in formats that have one."""
        warning = {"warning": self.warning} if self.warning else {}
        return {
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "privacy_unit": self.privacy_unit,
            **warning,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for receipts."""
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
            "zcdp_event": self.zcdp_event,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Args:
            stored: what `to_dict` returned, perhaps of an earlier version.

        Raises:
            LookupError, TypeError, ValueError, ArithmeticError, AttributeError: it is something
                else. A ValueError also if a plan in epsilon that ran costs more than the stated
                epsilon; the epsilon of a plan in rho depends on a conversion, and is not compared.
        """
        names = ("epsilon", "delta", "privacy_unit", "neighbours", "public", "seed", "rho")
        fields = {name: stored[name] for name in names}
        parts, stored_plan = tuple(stored["spent"].items()), stored.get("budget_plan")
        if stored_plan is None:
            return cls(**fields, **cls.from_former({"parts": parts}))
        plan = BudgetPlan.from_dict(stored_plan)
        ran_in_epsilon = plan.currency == "epsilon" and plan.ran is not None
        if ran_in_epsilon and plan.cost.epsilon > fields["epsilon"] * (1 + _PLAN_ROUNDING):
            raise ValueError("the budget plan costs more than the guarantee states")
        return cls(**fields, budget_plan=plan)

    def __str__(self) -> str:
        delta = f", delta = {self.delta:g}" if self.delta else ""
        text = (
            f"epsilon = {self.epsilon:g}{delta}; privacy unit: {self.privacy_unit}; "
            f"neighbours: {self.neighbours}; public: {self.public}"
        )
        return text if self.is_private else f"{SEEDED_WARNING} ({text})"

    def _card(self) -> Card:
        """Return the table that notebooks show."""
        return Card(title="Privacy guarantee", facts=self.facts, warning=self.warning)


def guarantee_text(guarantee: PrivacyGuarantee) -> str:
    """Return epsilon, delta and the warning of a guarantee, for titles of pictures."""
    delta = f", delta = {guarantee.delta:g}" if guarantee.delta else ""
    warning = f", {guarantee.warning}" if guarantee.warning else ""
    return f"epsilon = {guarantee.epsilon:g}{delta}{warning}"


def change_of_one_pair(*, weighted: bool, max_weight: float | None, directed: bool) -> str:
    """Return by what neighbouring graphs differ, for `PrivacyGuarantee.neighbours`.

    Args:
        weighted: False if edges are only there or not.
        max_weight: public maximum weight; None if there is none.
        directed: True if pairs are ordered.
    """
    pair, edge = ("one ordered pair", "arc") if directed else ("one pair", "edge")
    if not weighted:
        return f"whether any {pair} is an {edge}"
    if max_weight is None:
        # "is not" covered: adding or removing an edge of weight 3 is more than this change.
        return f"a change of any {pair}'s weight by at most 1; an {edge} that weighs more is not"
    return f"the weight of any {pair}, within 0 .. {max_weight:g}"


def exact_epsilon(epsilon: float | Fraction) -> Fraction:
    """Return the privacy parameter as an exact fraction.

    Args:
        epsilon: number in [1e-6, 50].

    Raises:
        ParameterError: it is not a number, or out of that range.
    """
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | Fraction):
        raise ParameterError("epsilon must be a number, for example epsilon=1.0")
    if not 0 < epsilon < math.inf:
        raise ParameterError("epsilon must be a positive, finite number, for example 1.0")
    exact = Fraction(epsilon)
    if not SMALLEST_SHARE <= exact <= Fraction(LARGEST_EPSILON):
        raise ParameterError(
            f"epsilon is out of range {SMALLEST_EPSILON:g} .. {LARGEST_EPSILON:g}: "
            "below, noise hides everything; above, it hides nothing"
        )
    return exact


def delta_warning(delta: float, *, count: int, of: str = "vertices") -> str | None:
    """Return a sentence about a delta above 1/n or above 1e-3; None for a smaller one.

    Publishing everything about one of n people, chosen at random, is (0, 1/n)-differentially
    private. So a delta near 1/n guarantees next to nothing.

    Args:
        delta: that is about to be spent.
        count: n, public.
        of: what n counts.
    """
    if delta <= LARGEST_DELTA and delta * count <= 1:
        return None
    limit = f"1 in {count:,} {of}" if 1 / count < LARGEST_DELTA else f"{LARGEST_DELTA:g}"
    return (
        f"delta = {delta:g} is above {limit}: with so large a probability the guarantee may fail "
        "for somebody; choose a far smaller one"
    )


def warn_of_delta(delta: float, *, count: int, of: str = "vertices", stacklevel: int) -> None:
    """Warn with the sentence of `delta_warning`, if there is one; call it before spending.

    Args:
        delta: as for `delta_warning`.
        count: as for `delta_warning`.
        of: as for `delta_warning`.
        stacklevel: of `warnings.warn`, as seen from the caller.
    """
    text = delta_warning(delta, count=count, of=of)
    if text is not None:
        warnings.warn(text, PrivacyWarning, stacklevel=stacklevel + 1)


def time_within(privacy_unit: str) -> str | None:
    """Return the span of time that a privacy unit names, see `PrivacyGuarantee.differs_within`."""
    match = _WITHIN_A_TIME.fullmatch(privacy_unit)
    if match is None:
        return None
    return match[1] or "row"
