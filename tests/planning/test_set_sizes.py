"""Expected errors of cuts between two small sets, and several epsilons on the command line."""

import math

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.planning.set_sizes import held, size_table
from graphcuts_dp.privacy.value_noise import noise_distribution
from graphcuts_dp.session.choice import Setting

NUMBERS = {"edges": 400, "queries": 20, "epsilon": 1.0, "delta": 0.0}


def table(plan, *sizes):
    return dict(size_table(plan, sizes))


def test_what_random_graphs_say():
    """Errors of "answer 0" and "density only" are those in random graphs with so many edges."""
    n, m, size, tries = 40, 400, 8, 4000
    plan = gc.plan(n, **{**NUMBERS, "epsilon": 50.0})  # noise on the number of edges is next to 0
    generator = np.random.default_rng(0)
    pairs = n * (n - 1) // 2
    cuts = generator.hypergeometric(size * size, pairs - size * size, m, tries)
    mean = m * size * size / pairs
    for name, errors in {"answer 0": cuts, "density only": np.abs(cuts - mean)}.items():
        (expected,) = table(plan, size)[name]
        # five deviations of the mean, and the normal approximation of whole numbers
        tolerance = 5 * errors.std() / math.sqrt(tries) + 0.02 * expected
        assert errors.mean() == pytest.approx(expected, abs=tolerance)
    assert held(plan.setting, size) == pytest.approx(mean)


def test_noise_on_entries_grows_with_the_sets_and_noise_on_answers_does_not():
    found = table(gc.plan(100, **NUMBERS), 10, 40)
    deviation = noise_distribution("binary", epsilon=1.0, weight_cap=1.0).standard_deviation
    assert found["binary"] == pytest.approx(
        [d * deviation * math.sqrt(2 / math.pi) for d in (10, 40)]
    )
    assert found["laplace"][0] == found["laplace"][1]
    assert "gaussian" not in found  # delta is 0


@pytest.mark.parametrize(("n", "most"), [(9, 4), ((6, 4), 4)])
def test_sets_that_do_not_fit_are_refused(n, most):
    plan = gc.plan(n, **{**NUMBERS, "edges": 10})
    assert isinstance(plan.setting, Setting)
    assert table(plan, most)
    for size in (0, most + 1):
        with pytest.raises(ParameterError, match="set sizes must be from 1 to 4"):
            size_table(plan, (size,))
    arcs = gc.plan(9, directed=True, **{**NUMBERS, "edges": 10})
    with pytest.raises(ParameterError, match="from 1 to 4"):
        size_table(arcs, (5,))
