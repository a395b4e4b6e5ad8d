"""Parameters of sessions that learn, by the papers' names, and the conditions of their bounds.

A session compares noisy answers with those of a public hypothesis. `SessionParameters` are the
numbers that this takes: alpha, B, T and the scales of noise. A calibration of `learn.calibrations`
computes all of them from a budget; whoever sets one keeps it, and the calibration computes the
others. `margins_of` bounds the noise of a test, from which `void_reason` tells whether the theorem
of the papers holds for the numbers, whatever their origin.

Units. Lengths of `SessionParameters` are in units of the largest change of an answer between
neighbours, which is one edge in a graph without weights. `sensitivity` is that change in grid
units, in which tests count.

Source: GRU12 Alg. 1 and Theorem 4.9, JT12 Alg. 1, DR14 Alg. 11 for names and meaning.
"""

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from typing import Any

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.bounds import UpdateBound
from graphcuts_dp.options import Checked, option
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.sparse_vector import NoisyComparison, OneSidedPair, SharedThreshold

Test = OneSidedPair | SharedThreshold | NoisyComparison

MOST_UPDATES = 10**9  # that a user may allow
# A length that a user may set, in edges; computations with others leave the floats.
length_option: partial[Any] = partial(option, None, least=1e-6, most=1e15)
_LENGTH_MARGIN = 1 + 1e-12  # factor that makes up for the rounding of a quotient of floats


@dataclass(frozen=True, kw_only=True)
class SessionParameters(Checked):
    """Set numbers of a session that learns; the calibration computes those that are None.

    Lengths are in units of the largest change of an answer, which is an edge in a graph without
    weights. Neither the cost nor its check trusts these numbers: the cost is computed from the
    noise that is drawn and from `updates`, and compared with the budget before it is charged.

    Attributes:
        alpha: tolerance of the update rule: an update needs an error of at least alpha.
        updates: B (c of DR14), the largest number of updates.
        threshold: T, with which noisy discrepancies are compared.
        sigma: scale of the noise on each answer that is compared: Laplace noise of GRU12, JT12
            (1/epsilon_0) and DR14; the mean of the geometric noise of "tight".
        threshold_sigma: scale of the noise on the threshold, of "tight" and "dr14".
        value_sigma: scale of the noise on measured answers, of "dr14".

    Examples:
        >>> gc.FriezeKannan(sigma=40.0, updates=20).chosen
        {'updates': 20, 'sigma': 40.0}
        >>> gc.FriezeKannan(sigma=40.0).parameters.sigma
        40.0
    """

    alpha: float | None = length_option(help="Tolerance alpha of the update rule, in edges.")
    updates: int | None = option(
        None, help="Largest number of updates, B in the papers.", least=1, most=MOST_UPDATES
    )
    threshold: float | None = length_option(
        help="Threshold T with which noisy discrepancies are compared, in edges."
    )
    sigma: float | None = length_option(
        help="Scale sigma of the noise on each answer that is compared, in edges."
    )
    threshold_sigma: float | None = length_option(
        help="Scale of the noise on the threshold, in edges; of calibrations tight and dr14."
    )
    value_sigma: float | None = length_option(
        help="Scale of the noise on measured answers, in edges; of calibration dr14."
    )

    @property
    def parameters(self) -> "SessionParameters":
        """Return these parameters alone, without the other options of a method."""
        return SessionParameters(
            **{member.name: getattr(self, member.name) for member in fields(SessionParameters)}
        )

    @property
    def chosen(self) -> dict[str, Any]:
        """Return the parameters that are set, by name."""
        values = vars(self.parameters)
        return {name: value for name, value in values.items() if value is not None}


def margins_of(test: Test, *, queries: int, updates: int, beta: float) -> tuple[int, int]:
    """Return how far noise can move what a test says, down and up, in grid units.

    With probability 1 - beta the two numbers (a, b) hold for all tests of a session: if a test with
    threshold T fires, the true discrepancy is at least T - a; if it does not, it is at most T + b.

    - `NoisyComparison`: one noise for each query. Each exceeds a with probability at most beta/k.
      b is larger, as in the papers: the noise exceeds sigma ln(2k/beta) with probability beta/(2k).
    - `SharedThreshold`: two noises for each query, of which each exceeds its bound with probability
      at most beta/(8k), and c thresholds, with beta/(4c): together beta/2. The other half is for
      measured answers. a = b is the sum of the two bounds.
    - `OneSidedPair`: all noise is >= 0. That of a test, which makes it fire, exceeds a with
      probability at most beta/(4(k + c)), in at most 2(k + c) tests; that of a threshold, which
      keeps it silent, exceeds b with probability at most beta/(2(c + 2)), in c + 2 instances.

    Args:
        test: with its noise; its threshold is not read.
        queries: k >= 1.
        updates: c >= 0.
        beta: probability of failure, in (0, 1).
    """
    if isinstance(test, NoisyComparison):
        law = ValueNoise("laplace", test.rate)
        return law.radius(beta / queries), law.radius(beta / (2 * queries))
    if isinstance(test, SharedThreshold):
        noise = ValueNoise("laplace", test.query_rate).radius(beta / (8 * queries))
        noise += ValueNoise("laplace", test.threshold_rate).radius(beta / (4 * max(1, updates)))
        return noise, noise
    query_noise = geometric_quantile(math.log(4 * (queries + updates) / beta), test.query_rate)
    threshold_noise = geometric_quantile(math.log(2 * (updates + 2) / beta), test.threshold_rate)
    return query_noise, threshold_noise


def geometric_quantile(log_failures: float, rate: Fraction) -> int:
    """Return the least whole t with P(N > t) = e^(-rate (t+1)) <= e^-log_failures."""
    return max(0, math.ceil(log_failures / float(rate) * _LENGTH_MARGIN) - 1)


def void_reason(
    test: Test,
    update_bound: UpdateBound,
    *,
    alpha: float,
    updates: int,
    queries: int,
    beta: float,
    sensitivity: int,
) -> str | None:
    """Return why no bound on the error of all k answers holds; None if one does.

    The theorem (GRU12 Theorem 4.9, with any numbers). Let (a, b) be `margins_of` the test. If
    alpha <= T - a, every update is a valid one: its query is off by alpha or more. Of valid updates
    there are at most B(alpha). If fewer than updates + 1 can happen, the session lasts for k
    queries, and no answer is off by more than T + b, or by more than its noise if it was measured.
    If one of the two fails, the interval of each answer still holds, since it rests on that answer
    alone; but the session may end before k answers.

    Args:
        test: with its noise and its threshold, in grid units.
        update_bound: B, of a tolerance in units.
        alpha: tolerance of the rule, in units.
        updates: c, the largest number of updates.
        queries: k.
        beta: probability of failure, in (0, 1).
        sensitivity: grid units in a unit.
    """
    below, _ = margins_of(test, queries=queries, updates=updates, beta=beta)
    certain = (Fraction(test.threshold) - below) / sensitivity
    if Fraction(alpha) > certain:
        shown = f"{float(certain):.6g}" if certain > 0 else "none at all"
        return (
            f"updates need an error of alpha = {alpha:.6g}, and a test that fires proves {shown}"
            " (threshold less noise)"
        )
    needed = update_bound(alpha)
    if not needed < updates + 1:
        amount = f"{needed:,.6g}" if needed < 1e300 else "any number of"
        return f"{amount} updates can be needed at alpha = {alpha:.6g}, and {updates:,} are allowed"
    return None


def read_out(test: Test, value_noise: ValueNoise | None, sensitivity: int) -> dict[str, float]:
    """Return T and the scales of a test and of measured answers, in units.

    Set as parameters they give the same test, with noise that is larger by a few parts in 10^13 at
    most and never smaller, and with a threshold that is not lower.
    """
    values = {"threshold": _at_least(test.threshold / sensitivity)}
    if isinstance(test, NoisyComparison):
        return values | {"sigma": float(1 / (test.rate * sensitivity))}
    values["sigma"] = float(1 / (test.query_rate * sensitivity))
    values["threshold_sigma"] = float(1 / (test.threshold_rate * sensitivity))
    if isinstance(test, SharedThreshold) and value_noise is not None:
        values["value_sigma"] = float(1 / (value_noise.parameter * sensitivity))
    return values


def _at_least(length: Fraction) -> float:
    """Return the least float that is not below a fraction."""
    rounded = float(length)
    return rounded if Fraction(rounded) >= length else math.nextafter(rounded, math.inf)


def check_names(chosen: dict[str, Any], known: tuple[str, ...], calibration: str) -> None:
    """Refuse parameters that a calibration does not have.

    Raises:
        ParameterError: one of them.
    """
    for name in chosen:
        if name not in known:
            raise ParameterError(
                f"{name} is no parameter of calibration {calibration!r}, which has"
                f" {', '.join(known)}"
            )
