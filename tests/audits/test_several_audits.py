"""What audits of several changes run is what users get."""

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import Classes, Degrees
from graphcuts_dp.privacy.noise import entropy_source
from tests.audits.several import HIDDEN, measured_sparse
from tests.audits.together import plain, protected


@pytest.mark.parametrize("whom", HIDDEN)
@pytest.mark.parametrize("at_most", [1, 6])
def test_a_sparse_release_measures_what_is_audited(whom, at_most):
    """The audit leaves the fit out, which reads the measurements alone."""
    data = HIDDEN[whom][0][0].second
    given, protection = protected(data, at_most)
    released = gc.release_graph(
        given, epsilon=1.0, mechanism="sparse", fit="none", **protection, seed=5
    )
    audited = measured_sparse(data, at_most, 1.0, entropy_source(5))
    for kind in (Degrees, Classes):
        (one,), (other,) = (each.all_of(kind) for each in (released.measurements, audited))
        assert one.epsilon == other.epsilon
    (one,), (other,) = (each.all_of(Degrees) for each in (released.measurements, audited))
    np.testing.assert_array_equal(one.steps, other.steps)


def test_all_pairs_change_between_neighbours():
    """Six: of graphs, of owners' rows as they count, and of ratings."""
    for edges, ratings in HIDDEN.values():
        for (pair,) in (edges, ratings):
            first, second = (plain(end) for end in (pair.first, pair.second))
            assert (len(first.rows), len(second.rows)) == (0, 6)
