"""Every form of hypothesis against the dense one, and their bytes."""

import numpy as np
import pytest
from idc_cases import SHAPES, every_kind, extreme_cuts, random_cut, universe_of

from graphcuts_dp.errors import (
    FileFormatError,
    HypothesisError,
    QueryError,
)
from graphcuts_dp.learn import cut_sum
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.blocks import BlockHypothesis
from graphcuts_dp.learn.cut_sum import BitSets, CutSum, pack_bits
from graphcuts_dp.learn.median import DatabaseFamily, all_graphs
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, RankOneQuery
from graphcuts_dp.pairs.universe import Universe


def random_start(universe, rng):
    """Three blocks on each side, of any weights; fewer where there are fewer vertices."""
    labels = [np.arange(n) % 3 for n in universe.shape]
    weights = rng.normal(size=[len(np.unique(each)) for each in labels])
    if universe.symmetric:
        return BlockHypothesis(universe, labels[0], weights + weights.T)
    return BlockHypothesis(universe, labels[0], weights, labels[1])


# Sums of cuts.


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_cuts_agree_with_the_dense_form(shape):
    """A hundred updates of three starts for all shapes, overlapping sets included."""
    universe, rng = universe_of(shape), np.random.default_rng(1)
    for _ in range(3):
        start = random_start(universe, rng)
        implicit, dense = CutSum(universe, start), DenseHypothesis(universe, start.dense())
        for _ in range(100):
            cut, weight = random_cut(universe, rng), rng.normal()
            implicit, dense = implicit.plus(cut, weight), dense.plus(cut, weight)
            asked = [random_cut(universe, rng) for _ in range(3)]
            assert np.allclose(
                implicit.estimate_all(asked), dense.estimate_all(asked), rtol=0, atol=1e-9
            )
        asked = every_kind(universe, rng) + extreme_cuts(universe)
        found = implicit.estimate_all(asked)
        assert np.allclose(found, dense.estimate_all(asked), rtol=0, atol=1e-9)
        assert np.allclose(implicit.dense(), dense.dense(), rtol=0, atol=1e-10)


def test_sums_of_cuts_grow_without_changing_older_ones():
    """Rows are shared; two sequences that part must not write over each other."""
    universe, rng = Universe(100), np.random.default_rng(3)
    asked = [random_cut(universe, rng) for _ in range(5)]
    chain, before = [CutSum.constant(universe, 0.25)], []
    for _ in range(40):
        parent = chain[rng.integers(max(0, len(chain) - 3), len(chain))]  # mostly the last
        chain.append(parent.plus(random_cut(universe, rng), rng.normal()))
        before.append(chain[-1].estimate_all(asked))
    for hypothesis, answers in zip(chain[1:], before, strict=True):
        assert np.array_equal(hypothesis.estimate_all(asked), answers)
        dense = DenseHypothesis(universe, hypothesis.dense())
        assert np.allclose(answers, dense.estimate_all(asked), atol=1e-9)


@pytest.mark.parametrize("words", [1, 7, 1 << 15])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_bit_sets_count(n, words, monkeypatch):
    monkeypatch.setattr(cut_sum, "_BLOCK_WORDS", words)
    rng = np.random.default_rng(n)
    masks = rng.random((23, n)) < 0.5
    sets = BitSets(n)
    for mask in masks:
        sets = sets.appended(pack_bits(mask))
    other = rng.random(n) < 0.5
    assert np.array_equal(sets.masks(), masks)
    assert np.array_equal(sets.sizes, masks.sum(axis=1))
    shared = sets.shared(pack_bits(other), pack_bits(~other))
    assert np.array_equal(shared, [(masks & other).sum(axis=1), (masks & ~other).sum(axis=1)])
    assert len(BitSets(n)) == 0
    assert BitSets(n).shared(pack_bits(other)).shape == (1, 0)


def test_sums_of_cuts_and_blocks_learn_from_cuts_only():
    start = BlockHypothesis.constant(Universe(3), 0.5)
    for query in (RankOneQuery([1, 0, 0], [0, 1, 0]), MatrixQuery(np.eye(3))):
        with pytest.raises(QueryError, match="DenseHypothesis"):
            CutSum(Universe(3), start).plus(query, 1.0)
        with pytest.raises(QueryError, match="DenseHypothesis"):
            start.tilted(query, 1.0)
    with pytest.raises(HypothesisError, match="does not fit"):
        CutSum(Universe(4), start)


# Blocks.


@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_agree_with_the_dense_form(shape):
    universe, rng = universe_of(shape), np.random.default_rng(5)
    for _ in range(2):
        blocks = BlockHypothesis.constant(universe, 0.3)
        dense = DenseHypothesis.constant(universe, 0.3)
        for _ in range(25):
            cut, exponent = random_cut(universe, rng), rng.normal()
            blocks, dense = blocks.tilted(cut, exponent), dense.tilted(cut, exponent)
            asked = every_kind(universe, rng) + extreme_cuts(universe)
            found = blocks.estimate_all(asked)
            assert np.allclose(found, dense.estimate_all(asked), rtol=0, atol=1e-9)
        assert np.allclose(blocks.dense(), dense.dense(), rtol=0, atol=1e-12)
        assert blocks.total() == pytest.approx(0.3 * universe.size)
        assert dense.total() == pytest.approx(0.3 * universe.size)


def test_the_partition_has_one_block_for_each_kind_of_vertex():
    universe, rng = Universe(200), np.random.default_rng(6)
    hypothesis = BlockHypothesis.constant(universe, 0.5)
    codes = np.zeros(200, dtype=int)
    for _ in range(4):
        S, T = rng.random(200) < 0.5, rng.random(200) < 0.5
        hypothesis = hypothesis.tilted(CutQuery(S, T), 0.1)
        codes = codes * 4 + S * 2 + T
        assert len(hypothesis.weights) == len(np.unique(codes))
    same = hypothesis.tilted(CutQuery(S, T), 0.1)
    assert same.weights.shape == hypothesis.weights.shape


def test_blocks_that_fit_nothing():
    plain, both = Universe(3), Universe(3, 2)
    for universe, arguments, message in [
        (plain, ([0, 1], [[1.0]]), "3 integers"),
        (plain, ([0.0, 1, 1], [[1.0]]), "3 integers"),
        (plain, ([0, 2, 2], np.ones((3, 3))), "none left out"),
        (plain, ([0, -1, 0], [[1.0]]), "none left out"),
        (plain, ([0, 99, 0], [[1.0]]), "none left out"),
        (plain, ([0, 1, 1], [[1.0]]), r"shape \(2, 2\)"),
        (plain, ([0, 1, 1], [[1, 2], [3, 4]]), "symmetric"),
        (plain, ([0, 0, 0], [[np.nan]]), "finite"),
        (plain, ([0, 0, 0], [[1.0]], [0, 0]), "bipartite"),
        (both, ([0, 0, 0], [[1.0]]), "bipartite"),
    ]:
        with pytest.raises(HypothesisError, match=message):
            BlockHypothesis(universe, *arguments)


def test_tilting_far_leaves_weights_positive():
    universe = Universe(4)
    for hypothesis in (
        BlockHypothesis.constant(universe, 0.5),
        DenseHypothesis.constant(universe, 0.5),
    ):
        low = hypothesis
        for _ in range(20):
            low = low.tilted(CutQuery([0]), -100.0)
        assert 0 < low.estimate(CutQuery([0])) < 1e-100
        assert low.total() == pytest.approx(3)


# Dense.


def test_matrices_that_are_no_hypothesis():
    for matrix, message in [
        (np.ones((2, 2)), "finite numbers"),
        (np.full((3, 3), np.inf), "finite numbers"),
        ([[0, 1, 0], [0, 0, 0], [0, 0, 0]], "symmetric"),
    ]:
        with pytest.raises(HypothesisError, match=message):
            DenseHypothesis(Universe(3), matrix)
    with pytest.raises(HypothesisError, match="negative"):
        DenseHypothesis.constant(Universe(3), -1.0).tilted(CutQuery([0]), 1.0)


# Bytes.


def learnt(kind, universe, rng):
    """A hypothesis of a kind after a few updates."""
    if kind is DatabaseFamily:
        return DatabaseFamily(universe, rng.random((5, universe.size)) < 0.5)
    if kind is CutSum:
        hypothesis = CutSum(universe, random_start(universe, rng))
        for _ in range(9):
            hypothesis = hypothesis.plus(random_cut(universe, rng), rng.normal())
        return hypothesis
    hypothesis = kind.constant(universe, 0.25)
    for _ in range(5):
        hypothesis = hypothesis.tilted(random_cut(universe, rng), rng.normal())
    return hypothesis


KINDS = [DenseHypothesis, CutSum, BlockHypothesis, DatabaseFamily]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_bytes_round_trip(kind, shape):
    universe, rng = universe_of(shape), np.random.default_rng(8)
    hypothesis = learnt(kind, universe, rng)
    data = hypothesis.to_bytes()
    read = kind.from_bytes(data, universe)
    assert read.to_bytes() == data
    asked = every_kind(universe, rng) + extreme_cuts(universe)
    assert np.array_equal(read.estimate_all(asked), hypothesis.estimate_all(asked))
    assert read.universe == universe
    if kind is CutSum:
        cut = random_cut(universe, rng)
        longer = read.plus(cut, 1.0).estimate_all(asked)
        assert np.array_equal(longer, hypothesis.plus(cut, 1.0).estimate_all(asked))


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_bytes_are_refused(kind):
    universe, rng = Universe(12), np.random.default_rng(9)
    data = learnt(kind, universe, rng).to_bytes()
    other = learnt(KINDS[KINDS.index(kind) - 1], universe, rng).to_bytes()
    for broken in (b"", b"nonsense", data[:-30], data + b"0", other):
        with pytest.raises(FileFormatError) as caught:
            kind.from_bytes(broken, universe)
        assert "\n" not in str(caught.value)
    for wrong in (Universe(13), Universe(12, 12)):
        with pytest.raises(FileFormatError, match="another universe"):
            kind.from_bytes(data, wrong)
    for place in rng.integers(0, len(data), 60):
        flipped = bytearray(data)
        flipped[place] ^= 0x5A
        with pytest.raises(FileFormatError):
            kind.from_bytes(bytes(flipped), universe)


def test_families_of_graphs_alone_are_kept():
    with pytest.raises(HypothesisError, match="without weights"):
        DatabaseFamily(Universe(3), np.full((2, 3), 0.5)).to_bytes()


def test_unfitting_queries_are_refused_by_all_forms():
    universe = Universe(4)
    forms = [
        DenseHypothesis.constant(universe, 0.5),
        CutSum.constant(universe, 0.5),
        BlockHypothesis.constant(universe, 0.5),
        all_graphs(universe),
    ]
    asked = [CutQuery([7]), RankOneQuery([1.0], [1.0]), MatrixQuery([[1.0]])]
    for hypothesis in forms:
        for query in asked:
            with pytest.raises(QueryError):
                hypothesis.estimate(query)
        assert hypothesis.estimate_all([]).shape == (0,)
