"""The practical calibration for distinguishers that are paid once: all of it is purely private."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.update_bounds import UpdateBound
from graphcuts_dp.offline.distinguisher import Distinguisher
from graphcuts_dp.offline.rank_one import usual_cut_norm
from graphcuts_dp.offline.tuning import (
    OfflineTuning,
    check_counts,
    check_probabilities,
    least_tolerance,
)
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.value_noise import ValueNoise

_ROUNDS = 8
_LAPLACE = math.sqrt(2)  # deviation of Laplace noise at epsilon = 1
_SHARE_BITS = 20


@final
@dataclass(frozen=True, kw_only=True)
class PureOffline:
    """All rounds are used, and all answers as far as their noise allows; nothing is proven.

    A noisy matrix hides epsilon_1, the total weight epsilon_2, and T rounds of answers
    epsilon_3/(T calls) each. With F_i/epsilon_i the error that each part brings about, their sum is
    least where epsilon_i is proportional to sqrt(F_i): F_1 is `usual_cut_norm`, F_2 twice the
    deviation of Laplace noise (the cut of all pairs counts each twice), F_3 T calls times it.
    Nearly all of epsilon goes to the matrix: 0.88 at n = 200. Half of what (1, 1e-6) allows by zCDP
    would be worth 0.16.

    Eight rounds by default: two planted blocks need one, four need four. With 12 and more, cuts of
    mere noise made graphs without strong blocks worse.

    Guarantee: epsilon-DP: basic composition of pure mechanisms.

    Attributes:
        universe: the public vertex pairs; epsilon is cut up by their number.
        epsilon: in [1e-6, 50].
        beta: probability with which the total weight is farther off than it is taken for.
        rounds: T.
        calls: of the distinguisher in a round, >= 1, each with an answer.

    Raises:
        ParameterError: a number out of range.
    """

    universe: Universe
    epsilon: float | Fraction
    beta: float = 0.05
    rounds: int = _ROUNDS
    calls: int = 1

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        check_probabilities(0.0, self.beta, pure=True)
        check_counts(self.rounds, self.calls)

    @property
    def cost(self) -> Cost:
        """Purely epsilon-DP."""
        return Cost.of_pure(Fraction(self.epsilon))

    @property
    def _weights(self) -> tuple[float, float, float]:
        answers = _LAPLACE * self.rounds * self.calls
        errors = usual_cut_norm(self.universe), 2 * _LAPLACE, answers
        return math.sqrt(errors[0]), math.sqrt(errors[1]), math.sqrt(errors[2])

    def parts(self, *, roots: bool = False) -> tuple[tuple[str, float], ...]:
        """What epsilon is spent on, with a bought total weight, and root degrees if they are."""
        bought = Fraction(self.epsilon) * self._total_share
        left = Fraction(self.epsilon) - bought
        norm = left * self._total_share if roots else Fraction(0)
        left -= norm
        matrix = left * self._matrix_share
        names = ["noisy matrix", "total weight", "answers"]
        costs = [matrix, bought, left - matrix]
        if roots:
            names.insert(2, "root degrees")
            costs.insert(2, norm)
        parts = zip(names, costs, strict=True)
        return tuple((name, float(part)) for name, part in parts)

    @property
    def _total_share(self) -> Fraction:
        matrix, total, answers = self._weights
        return _fraction(total / (matrix + total + answers))

    @property
    def _matrix_share(self) -> Fraction:
        matrix, _, answers = self._weights
        return _fraction(matrix / (matrix + answers))

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, "PureOffline"]:
        """See `OfflineCalibration.with_total`. Discrete Laplace noise."""
        spent = Fraction(self.epsilon) * self._total_share
        noise = ValueNoise("laplace", spent / sensitivity)
        rest = replace(self, epsilon=Fraction(self.epsilon) - spent)
        return noise, noise.radius(self.beta), Cost.of_pure(spent), rest

    def tune(
        self, update_bound: UpdateBound, distinguisher: Distinguisher, *, one: float, steps: int
    ) -> OfflineTuning:
        """See `OfflineCalibration.tune`.

        Raises:
            ParameterError: a distinguisher that is paid by the call, or not purely private.
        """
        del one
        if distinguisher.call is not None:
            raise ParameterError(
                "this calibration is for distinguishers that are paid once; use PracticalOffline"
            )
        for_matrix = Fraction(self.epsilon) * self._matrix_share
        each = (Fraction(self.epsilon) - for_matrix) / (self.rounds * self.calls)
        noise = ValueNoise("laplace", each / steps)
        alpha = least_tolerance(update_bound, self.rounds)
        if alpha is None:
            raise ParameterError("the construction cannot be tuned; use another one")
        return OfflineTuning(
            rounds=self.rounds,
            alpha=alpha,
            threshold=None,
            distinguisher=distinguisher.with_epsilon(for_matrix, rounds=1),
            noise=noise,
            value_error=_LAPLACE / float(each),
            error=None,
            cost=self.cost,
            calls=self.calls,
        )


def _fraction(share: float) -> Fraction:
    return Fraction(round(share * 2**_SHARE_BITS), 2**_SHARE_BITS)
