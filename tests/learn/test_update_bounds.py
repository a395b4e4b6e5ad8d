"""Formulas of B(alpha) from sizes agree with the constructions themselves."""

import pytest
from helpers import frieze_kannan, multiplicative_weights

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.bounds import (
    frieze_kannan_updates,
    largest_disjoint_cut,
    multiplicative_weights_updates,
    pairs_of,
)
from graphcuts_dp.pairs.universe import Universe

SIZES = [(20, Universe(20)), (21, Universe(21)), ((7, 12), Universe(7, 12))]


@pytest.mark.parametrize(("size", "universe"), SIZES)
@pytest.mark.parametrize("edges", [1.0, 30.5, 80.0])
@pytest.mark.parametrize("rule", ["tight", "as printed"])
def test_formulas_are_the_constructions_own(size, universe, edges, rule):
    assert pairs_of(size) == universe.size
    assert largest_disjoint_cut(size) == universe.disjoint_norm_squared
    shared = {"alpha": 3.0, "total_weight": edges, "rule": rule}
    mw = multiplicative_weights(universe, **shared)
    assert multiplicative_weights_updates(size, edges, rule=rule)(0.5) == pytest.approx(
        mw.update_bound(0.5)
    )
    for disjoint in (False, True):
        fk = frieze_kannan(universe, disjoint=disjoint, **shared)
        found = frieze_kannan_updates(size, edges, rule=rule, disjoint=disjoint)
        assert found(0.5) == pytest.approx(fk.update_bound(0.5))


@pytest.mark.parametrize("build", [frieze_kannan_updates, multiplicative_weights_updates])
@pytest.mark.parametrize(("size", "edges"), [(1, 0), (10, -1.0), (10, 46.0), ((2, 3), 7.0)])
def test_sizes_out_of_range_are_refused(build, size, edges):
    with pytest.raises(ParameterError, match="pairs"):
        build(size, edges)
