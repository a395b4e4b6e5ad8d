"""HR12, Lemmas 4, 5 and 6: mistake bounds against adversaries, and the tolerance of Lemma 6."""

import math

import numpy as np
import pytest

from graphcuts_dp.distances.coordinate import Line, PiecewiseLinear
from scripts.figures.distance_bounds import (
    decomposable_mistakes,
    decomposable_tolerance,
    learner_mistakes,
    mistake_bound_error,
)

POINTS = np.linspace(0, 1, 1001)


def average_distance(places):
    """Average distance to some places, with a subgradient, on the grid."""
    values = np.abs(POINTS[:, None] - places).mean(axis=1)
    slopes = 2 * (POINTS[:, None] >= places).mean(axis=1) - 1
    return values, slopes


def functions():
    """1-Lipschitz convex functions [0, 1] -> [0, 1]: a parabola is the hardest."""
    rng = np.random.default_rng(1)
    yield POINTS**2 / 2, POINTS
    yield (POINTS - 0.5) ** 2, 2 * POINTS - 1
    for _ in range(6):
        yield average_distance(rng.beta(*rng.uniform(0.2, 3, 2), rng.integers(1, 300)))


def play(values, slopes, alpha, noise, pick, rng):
    """Mistakes that an adversary can force, with values and slopes off by up to `noise`."""
    found, count = np.zeros_like(POINTS), 0
    while True:
        gaps = values - found
        assert gaps.min() >= -2 * noise - 1e-12  # never above by more than a line may be off
        wrong = np.flatnonzero(np.abs(gaps) > alpha)
        if not len(wrong):
            return count
        at = pick(wrong, gaps, rng)
        off = noise * (rng.choice([-1, 1], 2) if noise else np.zeros(2))
        line = Line(float(POINTS[at]), float(values[at] + off[0]), float(slopes[at] + off[1]))
        found = np.maximum(found, PiecewiseLinear((line,))(POINTS))
        count += 1
        assert count <= 1000


PICKS = {
    "smallest mistake": lambda wrong, gaps, _: wrong[np.argmin(gaps[wrong])],
    "leftmost": lambda wrong, gaps, _: wrong[0],  # noqa: ARG005
    "any": lambda wrong, _, rng: rng.choice(wrong),
}


@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.1])
def test_lemmas_4_and_5_mistake_bounds(alpha, pick):
    rng = np.random.default_rng(2)
    most = 0
    for values, slopes in functions():
        exact = play(values, slopes, alpha, 0, PICKS[pick], rng)
        assert exact <= learner_mistakes(alpha) < 3 / math.sqrt(alpha)
        noisy = play(values, slopes, alpha, alpha / 4, PICKS[pick], rng)
        assert noisy <= learner_mistakes(alpha, line_error=alpha / 2) < 3 / math.sqrt(alpha / 2)
        most = max(most, exact)
    assert most >= 0.2 / math.sqrt(alpha)  # the bound is of the right order


def test_a_tolerance_above_half_breaks_the_learner():
    """Lines that are off by more than alpha lie above: then mistakes never end."""
    values, slopes = next(functions())
    rng = np.random.default_rng(3)
    with pytest.raises(AssertionError):
        play(values, slopes, 0.01, 0.02, PICKS["any"], rng)


def sums(dimensions, rng):
    return [average_distance(rng.beta(0.6, 0.6, 80)) for _ in range(dimensions)]


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_lemma_6_mistake_bound_with_tangents_in_all_coordinates(dimensions):
    """Errors of alpha/(4 l) in every number do: HR12's alpha_1/(4 l) = alpha/(4 l^2) is a slip."""
    rng = np.random.default_rng(4)
    alpha = 0.05 * dimensions
    noise = decomposable_tolerance(alpha, dimensions)
    parts = sums(dimensions, rng)
    hypothesis, mistakes = [PiecewiseLinear()] * dimensions, 0
    queries = rng.integers(0, len(POINTS), (600, dimensions))
    for query in queries:
        truth = sum(values[at] for (values, _), at in zip(parts, query, strict=True))
        gap = truth - sum(part(x) for part, x in zip(hypothesis, POINTS[query], strict=True))
        assert gap >= -alpha / 2 - 1e-12
        if gap > alpha:
            lines = [
                Line(
                    float(POINTS[at]),
                    float(values[at] + noise * rng.choice([-1, 1])),
                    float(slopes[at] + noise * rng.choice([-1, 1])),
                )
                for (values, slopes), at in zip(parts, query, strict=True)
            ]
            pairs = zip(hypothesis, lines, strict=True)
            hypothesis, mistakes = [part.with_line(line) for part, line in pairs], mistakes + 1
    assert 1 <= mistakes <= decomposable_mistakes(alpha, dimensions)


def exponent(tolerance, delta):
    """By which power of l the error of Lemma 3 grows, given c as a function of l."""

    def error(dimensions):
        return mistake_bound_error(
            tolerance=tolerance(dimensions),
            functions=2 * dimensions,
            mistakes=dimensions**1.5,
            sensitivity=2,
            people=1e9,
            queries=1e3,
            epsilon=1,
            delta=delta,
            beta=0.05,
        )

    return math.log(error(8) / error(4)) / math.log(2)


@pytest.mark.parametrize(("delta", "printed"), [(1e-6, 9 / 5), (0.0, 7 / 3)])
def test_erratum_the_tolerance_of_lemma_6(delta, printed):
    """c alpha = alpha/(4 l) = alpha_1/4 gives Theorem 1's powers of l; alpha_1/(4 l) does not."""
    alpha, dimensions = 0.6, 3
    share = alpha / dimensions
    assert decomposable_tolerance(alpha, dimensions) == pytest.approx(share / 4)
    assert decomposable_tolerance(alpha, dimensions) != pytest.approx(share / (4 * dimensions))
    assert exponent(lambda size: 1 / (4 * size), delta) == pytest.approx(printed)
    assert exponent(lambda size: 1 / (4 * size**2), delta) > printed + 0.5
