"""Learning on blocks is learning on all pairs, in fewer numbers."""

import numpy as np
import pytest

from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.potentials import LpNorm, SchattenNorm
from graphcuts_dp.learn.rules import MirrorDescentRule, minimal_start
from graphcuts_dp.offline.lists import QueryBlocks
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery
from graphcuts_dp.pairs.universe import Universe

SHAPE = (9, 7)
RNG = np.random.default_rng(5)
CUTS = [CutQuery(RNG.random(9) < 0.4, RNG.random(7) < 0.5) for _ in range(2)] + [
    CutQuery(np.arange(9) < 3, np.arange(7) > 2)
]


def learnt(queries, universe, psi, moves):
    """The hypothesis after some moves, and its answers before each."""
    start = hypothesis = minimal_start(universe, psi)
    answers = []
    for index, length, sign in moves:
        answers.append(hypothesis.estimate(queries[index]))
        rule = MirrorDescentRule(
            start=start, psi=psi, alpha=length, zeta=100.0, start_potential=0.0
        )
        hypothesis = rule.update(hypothesis, queries[index], sign)
    return hypothesis, answers


# Singular values that are 0 but for rounding, 1e-16, become 1e-16^(p-1) in the dual.
@pytest.mark.parametrize(
    ("psi", "tolerance"),
    [(SchattenNorm(1.2), 3e-3), (SchattenNorm(1.7), 1e-8), (LpNorm(2.0), 1e-8)],
    ids=("1.2", "1.7", "2"),
)
def test_mirror_descent_is_the_same_on_blocks(psi, tolerance):
    universe = Universe(*SHAPE)
    blocks = QueryBlocks.of(CUTS, universe)
    assert blocks.universe.size < universe.size
    moves = [(0, 2.0, 1), (1, 1.0, -1), (2, 3.0, 1), (0, 0.5, -1), (1, 2.0, 1)]
    whole, answers = learnt(CUTS, universe, psi, moves)
    small, likewise = learnt(blocks.queries, blocks.universe, psi, moves)
    assert likewise == pytest.approx(answers, abs=tolerance)
    assert np.allclose(blocks.expand(small).matrix, whole.matrix, atol=tolerance)


def test_answers_and_norms_are_kept():
    universe = Universe(*SHAPE)
    blocks = QueryBlocks.of(CUTS, universe)
    small = DenseHypothesis(blocks.universe, RNG.normal(size=blocks.universe.shape))
    whole = blocks.expand(small)
    assert whole.estimate_all(CUTS) == pytest.approx(small.estimate_all(blocks.queries))
    found = np.linalg.svd(whole.matrix, compute_uv=False)
    values = np.linalg.svd(small.matrix, compute_uv=False)
    assert found[: len(values)] == pytest.approx(values)
    assert found[len(values) :] == pytest.approx(0, abs=1e-9)
    for query, other in zip(CUTS, blocks.queries, strict=True):
        assert blocks.universe.norm_squared(other) == pytest.approx(universe.norm_squared(query))


def test_classes_are_as_coarse_as_the_cuts_allow():
    blocks = QueryBlocks.of(CUTS, Universe(*SHAPE))
    for side, codes in enumerate(blocks.sides):
        kinds = {}
        for place, code in enumerate(codes.tolist()):
            held = tuple(bool(cut.masks(Universe(*SHAPE).space)[side][place]) for cut in CUTS)
            assert kinds.setdefault(code, held) == held
        assert len(set(kinds.values())) == len(kinds)


def test_a_query_that_is_no_cut_leaves_everything_as_it_is():
    universe = Universe(*SHAPE)
    queries = [CUTS[0], MatrixQuery(RNG.normal(size=SHAPE))]
    blocks = QueryBlocks.of(queries, universe)
    assert blocks.universe is universe
    assert blocks.queries == tuple(queries)
    given = DenseHypothesis(universe, RNG.normal(size=SHAPE))
    assert blocks.expand(given) is given
