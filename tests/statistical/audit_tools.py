"""An audit of differential privacy: a lower bound on epsilon from runs on two neighbours.

Method. A mechanism is run on two neighbouring graphs, each run giving a vector of numbers. Events
are thresholds on its entries, on their absolute values and on the differences of two of them.
The first half of the runs picks the event with the best bound; the second half, fresh, counts how
often it happens. With Clopper-Pearson bounds low <= P(E | first) and P(E | second) <= high, each
wrong with probability at most alpha/2, epsilon >= ln(low/high) unless an event of probability
alpha happened. So a mechanism that is epsilon-DP exceeds epsilon with probability at most alpha,
whatever its distribution and however the event was picked.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.stats

FloatMatrix = npt.NDArray[np.float64]
ALPHA = 1e-6
_LEVELS = np.linspace(0, 1, 15)  # thresholds are these quantiles of the pooled training runs


@dataclass(frozen=True)
class AuditResult:
    """What an audit found.

    Attributes:
        epsilon_lower: the true epsilon is at least this, with probability 1 - alpha.
        event: the event that shows it.
    """

    epsilon_lower: float
    event: str


def clopper_pearson(
    successes: npt.ArrayLike, trials: int, alpha: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """One-sided bounds on a probability, each wrong with probability at most alpha."""
    k = np.asarray(successes, dtype=float)
    low = scipy.stats.beta.ppf(alpha, np.maximum(k, 0.5), trials - k + 1)
    high = scipy.stats.beta.ppf(1 - alpha, k + 1, np.maximum(trials - k, 0.5))
    return np.where(k == 0, 0.0, low), np.where(k == trials, 1.0, high)


def audit(
    mechanism: Callable[[Any, int], npt.ArrayLike],
    first: Any,
    second: Any,
    *,
    runs: int = 4000,
    alpha: float = ALPHA,
) -> AuditResult:
    """Lower bound on the epsilon of a mechanism.

    Args:
        mechanism: called with a graph and the number of the run; returns a vector. It takes its
            entropy from a stream that goes on from run to run.
        first: a graph.
        second: a neighbour of it.
        runs: on each graph; half choose the event, half test it.
        alpha: probability of a bound that is too large, at most.
    """
    outputs = [
        np.array([mechanism(graph, run) for run in range(runs)], dtype=float)
        for graph in (first, second)
    ]
    features, names = zip(*(_features(output) for output in outputs), strict=True)
    half = runs // 2
    best: tuple[float, Callable[[], AuditResult]] = -math.inf, lambda: AuditResult(0.0, "none")
    pooled = np.concatenate([feature[:half] for feature in features])
    for column, name in enumerate(names[0]):
        levels = np.unique(np.quantile(pooled[:, column], _LEVELS, method="nearest"))
        for sense, above in ((">=", True), ("<=", False)):
            hits = [_hits(feature[:, column], levels, above) for feature in features]
            for a, b in ((0, 1), (1, 0)):
                scores = _bound(hits[a][:half].sum(axis=0), hits[b][:half].sum(axis=0), half, alpha)
                k = int(np.argmax(scores))
                if scores[k] > best[0]:
                    counts = (hits[a][half:, k].sum(), hits[b][half:, k].sum())
                    text = f"{name} {sense} {levels[k]:g}"
                    best = (
                        float(scores[k]),
                        lambda counts=counts, text=text: AuditResult(
                            float(_bound(*counts, runs - half, alpha)), text
                        ),
                    )
    return best[1]()


def _bound(first: npt.ArrayLike, second: npt.ArrayLike, trials: int, alpha: float) -> FloatMatrix:
    low, _ = clopper_pearson(first, trials, alpha / 2)
    _, high = clopper_pearson(second, trials, alpha / 2)
    return np.log(np.maximum(low, 1e-300)) - np.log(high)


def _hits(values: FloatMatrix, levels: FloatMatrix, above: bool) -> npt.NDArray[np.bool_]:
    return values[:, None] >= levels if above else values[:, None] <= levels


def _features(output: FloatMatrix) -> tuple[FloatMatrix, list[str]]:
    columns = range(output.shape[1])
    pairs = list(itertools.combinations(columns, 2))
    differences = [output[:, i] - output[:, j] for i, j in pairs]
    matrix = np.column_stack([output, np.abs(output), *differences])
    names = [f"y{i}" for i in columns] + [f"|y{i}|" for i in columns]
    return matrix, names + [f"y{i} - y{j}" for i, j in pairs]
