"""The public numbers that a running mechanism needs, fixed once and kept with its state."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

from graphcuts_dp.privacy.composition import Cost, compose
from graphcuts_dp.privacy.value_noise import ValueNoise
from graphcuts_dp.session.sparse_vector import (
    GapTest,
    NoisyComparison,
    OneSidedPair,
    SharedThreshold,
)

_TESTS = {test.__name__: test for test in (OneSidedPair, SharedThreshold, NoisyComparison)}


@final
@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What a calibration chooses.

    Attributes:
        alpha: tolerance of the construction, in units of the answers' sensitivity.
        updates: c, hard cap on the number of updates.
        queries: k, how many answers are promised.
        test: with its noise.
        value_noise: on the answers that updates buy, or None where none is bought or the test
            makes them.
        error: in steps; how far a hypothesis's answer can be from the truth when no test fired.
        value_error: in steps; how far a bought answer can be.
        halts: whether the mechanism stops after update number c; else it goes on until a test
            fires once more.
    """

    alpha: float
    updates: int
    queries: int
    test: GapTest
    value_noise: ValueNoise | None = None
    error: int
    value_error: int = 0
    halts: bool

    def cost(self, sensitivity: int, *, delta: float) -> Cost:
        """What all tests and bought answers cost together, from the scales of their noise.

        Args:
            sensitivity: of the answers, in steps.
            delta: for which a cost that is not pure is stated, in [0, 1).
        """
        parts = [self.test.cost(sensitivity, updates=self.updates, delta=delta)]
        if self.value_noise is not None and self.updates:
            parts.append(self.value_noise.cost(sensitivity, delta=delta).times(self.updates))
        return compose(parts, delta=delta)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; fractions as strings."""
        test = {key: str(value) for key, value in vars(self.test).items()}
        noise = self.value_noise
        return {
            "alpha": self.alpha,
            "updates": self.updates,
            "queries": self.queries,
            "test": {"kind": type(self.test).__name__, **test},
            "value_noise": None if noise is None else [noise.distribution, str(noise.parameter)],
            "error": self.error,
            "value_error": self.value_error,
            "halts": self.halts,
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            KeyError, TypeError, ValueError: it is something else.
        """
        test = dict(stored["test"])
        kind = _TESTS[test.pop("kind")]
        distribution = stored["value_noise"]
        return cls(
            alpha=float(stored["alpha"]),
            updates=int(stored["updates"]),
            queries=int(stored["queries"]),
            test=kind(**{key: Fraction(value) for key, value in test.items()}),
            value_noise=None
            if distribution is None
            else ValueNoise(distribution[0], Fraction(distribution[1])),
            error=int(stored["error"]),
            value_error=int(stored["value_error"]),
            halts=bool(stored["halts"]),
        )
