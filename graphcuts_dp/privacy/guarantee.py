"""What is promised to the people whose edges are in the data, and too large deltas."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import ParameterError, PrivacyWarning
from graphcuts_dp.privacy.entropy import SEEDED_WARNING

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


SMALLEST_EPSILON = 1e-6
LARGEST_EPSILON = 50.0


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
            "1 person".
        parts: what epsilon was spent on, as (name, epsilon) pairs that add up to it; empty when it
            went into one mechanism.
    """

    epsilon: float
    delta: float = 0.0
    neighbours: str
    public: str = "the vertex set"
    seed: int | None = None
    protects: str = "1 edge"
    parts: tuple[tuple[str, float], ...] = ()

    @property
    def is_private(self) -> bool:
        """Whether the promise holds: false for a seeded run."""
        return self.seed is None

    def __str__(self) -> str:
        delta = f", delta = {self.delta:g}" if self.delta else ""
        text = (
            f"epsilon = {self.epsilon:g}{delta}; protects {self.protects}; "
            f"hidden: {self.neighbours}; public: {self.public}"
        )
        return text if self.is_private else f"{SEEDED_WARNING} ({text})"

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
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            KeyError, TypeError, AttributeError: it is something else.
        """
        names = ("epsilon", "delta", "protects", "neighbours", "public", "seed")
        plain = {key: stored[key] for key in names}
        return cls(**plain, parts=tuple(stored["parts"].items()))


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
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise ParameterError(
            f"epsilon is out of range {SMALLEST_EPSILON:g} .. {LARGEST_EPSILON:g}: "
            "below, nothing can be learnt; above, nothing is hidden"
        )
    return Fraction(epsilon)


def promise_text(guarantee: PrivacyGuarantee) -> str:
    """For titles of pictures."""
    delta = f", delta = {guarantee.delta:g}" if guarantee.delta else ""
    mark = f", {guarantee.warning}" if guarantee.warning else ""
    return f"epsilon = {guarantee.epsilon:g}{delta}{mark}"
