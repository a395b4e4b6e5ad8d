"""What the room refuses: numbers out of range, matrices that are none, queries nobody announced."""

import math
from functools import partial

import numpy as np
import pytest
from helpers import frieze_kannan, multiplicative_weights

import graphcuts_dp as gc
from graphcuts_dp import CutQuery, HypothesisError, ParameterError, QueryError, VertexSet
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.blocks import BlockHypothesis
from graphcuts_dp.learn.group_start import MOST_GROUPS, start_from_sums
from graphcuts_dp.learn.learners import FriezeKannanLearner, MirrorDescentLearner
from graphcuts_dp.learn.median import DatabaseFamily, Median, all_graphs, alpha_net
from graphcuts_dp.learn.norms import MOST_VERTICES, parse_norm
from graphcuts_dp.learn.potentials import (
    Box,
    Entropy,
    LpNorm,
    SchattenNorm,
)
from graphcuts_dp.learn.rules import MirrorDescentRule, MultiplicativeWeightsRule, minimal_start
from graphcuts_dp.plugins import CutSum, FriezeKannanRule, Universe
from graphcuts_dp.queries.linear import MatrixQuery, RankOneQuery
from graphcuts_dp.schema.cells import CellTree
from scripts.figures.small_databases import small_databases

SIX, FOUR, PLAIN, BOTH = Universe(6), Universe(4), Universe(3), Universe(3, 2)
RATINGS = Universe(24, 20)
GRAPHS, NO_EDGE = all_graphs(FOUR), DatabaseFamily(Universe(1, 1), [[0.0]])
TERMS = {"start": DenseHypothesis.constant(SIX, 0.5), "alpha": 1.0, "start_potential": 1.0}
EMPTY = DenseHypothesis.constant(SIX, 0.0)
ONE, EVERYTHING, SHARED = CutQuery([0], [0]), CutQuery(range(6), range(6)), CutQuery([0, 1], [1, 2])
EYE, ONES = MatrixQuery(np.eye(24, 20)), MatrixQuery(np.ones((24, 20)))
fk = partial(frieze_kannan, SIX, alpha=1.0, total_weight=3.0)
mw = partial(multiplicative_weights, SIX, alpha=1.0, total_weight=3.0)
fk_rule, mw_rule = partial(FriezeKannanRule, **TERMS), partial(MultiplicativeWeightsRule, **TERMS)
md_rule = partial(MirrorDescentRule, psi=LpNorm(), zeta=100.0, **TERMS)
BIPARTITE = md_rule(start=minimal_start(BOTH, LpNorm()), zeta=2.0)
WEIGHTS = md_rule(start=minimal_start(BOTH, Entropy(4.0)), psi=Entropy(4.0))
PRINTED = mw_rule(rule="as printed")
learner, ratings = MirrorDescentLearner, partial(MirrorDescentLearner, RATINGS)
SPREAD = ratings(norm="schatten", linear=True, max_spectral_norm=6.0)
FEW = ratings(linear=True, max_right_size=3)
dense = partial(DenseHypothesis, PLAIN)
FORMS = [kind.constant(PLAIN, 0.5) for kind in (DenseHypothesis, CutSum, BlockHypothesis)]


def from_many_groups():
    n = MOST_GROUPS + 1
    groups = gc.Groups(VertexSet(n), {"g": [*map(str, range(n))]})
    cells = CellTree(groups.tree)
    sums, codes = np.ones(cells.size(1)), groups.codes()
    start_from_sums(Universe(n), cells, (codes, codes), sums, deviation=1.0, total_weight=5.0)


def update(rule, query):
    return partial(rule.update, rule.initial(), query, 1)


NUMBERS = [
    *(("alpha", partial(make, alpha=x)) for make in (fk, mw, md_rule) for x in (0.0, math.inf)),
    ("pairs", partial(fk.func, Universe(1), alpha=1, total_weight=0)),
    ("larger than", partial(mw_rule, total_error=1.0)),
    ("larger than the shift", partial(md_rule, shift=1.0)),
    *(("exponent", partial(LpNorm, p)) for p in (1.0, 2.1, math.nan)),
    ("no projection on a box", partial(SchattenNorm(1.5).minimise, np.zeros((3, 3)), Box())),
    ("takes no domain", partial(Entropy(4.0).minimise, np.zeros((3, 3)), Box())),
    *(("unknown norm", partial(parse_norm, text)) for text in ("", "l", "2,", "2,x", "max")),
    *(("exponent", partial(parse_norm, text)) for text in ("l1", "l2.5", "2,1", "schatten-0.5")),
    ("for bipartite graphs", partial(learner, SIX, norm="2,p")),
    ("for bipartite graphs", partial(learner, SIX, norm="schatten")),
    ("for bipartite graphs", partial(learner, SIX, linear=True, max_spectral_norm=4.0)),
    ("max_right_size is for bipartite", partial(learner, SIX, max_right_size=3)),
    ("disjoint=True is for cuts", partial(ratings, linear=True, disjoint=True)),
    ("up to 16,777,216 coefficients", partial(learner, Universe(5000, 5000), linear=True)),
    *(
        (f"up to {limit} vertices", partial(learner, Universe(2, limit + 1), norm=norm))
        for norm, limit in MOST_VERTICES.items()
    ),
    ("2,048 groups; give it a coarser level", from_many_groups),
    *(("edges must lie", partial(all_graphs, FOUR, edges)) for edges in (-1, 7)),
    ("alpha must", partial(Median, start=GRAPHS, alpha=0.0)),
]
HYPOTHESES = [
    *(
        ("finite numbers", partial(dense, each))
        for each in (np.ones((2, 2)), np.full((3, 3), np.inf))
    ),
    ("symmetric", partial(dense, np.triu(np.ones((3, 3))))),
    ("negative", partial(DenseHypothesis.constant(PLAIN, -1.0).tilted, CutQuery([0]), 1.0)),
    ("does not fit", partial(CutSum, FOUR, FORMS[2])),
    *(("column", partial(DatabaseFamily, FOUR, np.ones(n))) for n in ((0, 6), (2, 5), 6)),
    ("finite", partial(DatabaseFamily, FOUR, np.full((1, 6), np.nan))),
    ("without weights", DatabaseFamily(PLAIN, np.full((2, 3), 0.5)).to_bytes),
    *(("no pair", update(fk(), query)) for query in (CutQuery([]), ONE, CutQuery(range(6)))),
    ("alike", update(BIPARTITE, CutQuery([], []))),
    ("alike", update(WEIGHTS, CutQuery(range(3), range(2)))),
    ("finer net", update(Median(start=NO_EDGE, alpha=1.0), ONE)),
    ("268435456 databases with 28.*use multiplicative", partial(all_graphs, Universe(8))),
    (r"2\^4999950000.0 databases", partial(all_graphs, Universe(100_000))),
    ("databases with 190", partial(all_graphs, Universe(20), 12)),
    ("databases with 190", partial(small_databases, Universe(20), total_weight=9.0, size=12)),
    ("6435 databases with 10000", partial(alpha_net, all_graphs(SIX, 7), [ONE] * 10_000, 1.0)),
]
QUERIES = [
    ("span=2", update(mw_rule(span=2.0), MatrixQuery(3 * np.ones((6, 6))))),
    ("span=1", update(PRINTED, MatrixQuery(-np.ones((6, 6)) / 2))),
    ("allows 9", update(fk(disjoint=True), EVERYTHING)),
    ("dual norm", update(BIPARTITE, CutQuery(range(3), range(2)))),
    ("disjoint", partial(FriezeKannanLearner(SIX, disjoint=True).check, SHARED)),
    ("disjoint", partial(learner(SIX, disjoint=True).check, SHARED)),
    (
        "only cuts with at most 2 right",
        partial(ratings(max_right_size=2).check, CutQuery([0], range(3))),
    ),
    ("only queries with at most 3 right", partial(FEW.check, EYE)),
    ("only queries with at most 3 right", partial(FEW.check, CutQuery([0], range(4)))),
    ("only cuts were announced", partial(ratings().check, EYE)),
    ("largest singular value", partial(SPREAD.check, ONES)),
    ("largest singular value", partial(SPREAD.check, RankOneQuery(np.ones(24), np.ones(20)))),
    ("largest singular value", partial(SPREAD.check, CutQuery(range(20), range(10)))),
    *(
        ("DenseHypothesis", partial(learn, query, 1.0))
        for query in (RankOneQuery([1, 0, 0], [0, 1, 0]), MatrixQuery(np.eye(3)))
        for learn in (FORMS[1].plus, FORMS[2].tilted)
    ),
    *(
        (words, partial(hypothesis.estimate, query))
        for words, query in (
            ("unknown vertex", CutQuery([7])),
            ("the vertex sets", RankOneQuery([1.0], [1.0])),
            ("the vertex sets", MatrixQuery([[1.0]])),
        )
        for hypothesis in (all_graphs(PLAIN), *FORMS)
    ),
]


@pytest.mark.parametrize(
    ("error", "words", "make"),
    [
        (error, *row)
        for error, rows in [
            (ParameterError, NUMBERS),
            (HypothesisError, HYPOTHESES),
            (QueryError, QUERIES),
        ]
        for row in rows
    ],
)
def test_what_will_not_do_is_refused_in_a_line(error, words, make):
    with pytest.raises(error, match=words) as told:
        make()
    assert "\n" not in str(told.value)


def test_what_was_announced_is_taken():
    for each, query in [
        (SPREAD, EYE),
        (SPREAD, CutQuery([0, 1], [0, 1, 2])),
        (FEW, MatrixQuery(np.eye(24, 20) * (np.arange(20) < 3))),
        (ratings(max_right_size=2), CutQuery([0, 1, 2], [0, 1])),
        (learner(SIX, disjoint=True), CutQuery([0, 1], [2])),
    ]:
        assert each.check(query) is None
