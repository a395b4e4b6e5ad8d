"""Every form of hypothesis against the dense one, and their bytes."""

import numpy as np
import pytest

from graphcuts_dp import CutQuery, FileFormatError
from graphcuts_dp.learn import cut_sum
from graphcuts_dp.learn.base import DenseHypothesis, pack
from graphcuts_dp.learn.blocks import BlockHypothesis
from graphcuts_dp.learn.cut_sum import BitSets, pack_bits
from graphcuts_dp.learn.median import DatabaseFamily
from graphcuts_dp.plugins import CutSum, Universe
from graphcuts_dp.queries.linear import MatrixQuery, RankOneQuery

UNIVERSES = [
    *(Universe(n) for n in (2, 3, 9, 64, 70)),
    *(Universe(*sides) for sides in ((1, 1), (1, 6), (65, 40))),
    *(Universe(n, directed=True) for n in (2, 9, 65)),
]
EACH = pytest.mark.parametrize("universe", UNIVERSES, ids=str)


def random_cut(universe, rng):
    """Any two sets, overlapping or not; every fourth with the second set left out."""
    n_left, n_right = universe.shape
    share = rng.choice([0, 0.2, 0.5, 0.8, 1], 2)
    S = rng.random(n_left) < share[0]
    return CutQuery(S) if rng.random() < 0.25 else CutQuery(S, rng.random(n_right) < share[1])


def every_kind(universe, rng):
    """One query of each class; then nothing, everything, one vertex against itself."""
    left, right = universe.shape
    return [
        random_cut(universe, rng),
        RankOneQuery(rng.random(left), rng.random(right)),
        MatrixQuery(rng.normal(size=universe.shape)),
        CutQuery([], range(right)),
        CutQuery(range(left), range(right)),
        CutQuery(range(left), []),
        CutQuery([0], [0]),
        CutQuery(range(left)),
    ]


def random_start(universe, rng):
    """Three blocks on each side, of any weights; fewer where there are fewer vertices."""
    labels = [np.arange(n) % 3 for n in universe.shape]
    weights = rng.normal(size=[len(np.unique(each)) for each in labels])
    if universe.symmetric:
        return BlockHypothesis(universe, labels[0], weights + weights.T)
    return BlockHypothesis(universe, labels[0], weights, labels[1])


@pytest.mark.thorough(cases=7)
@EACH
@pytest.mark.parametrize("kind", [CutSum, BlockHypothesis])
def test_updates_agree_with_those_of_the_dense_form(universe, kind):
    """Fifty of them, of two starts, overlapping sets included."""
    rng, learn = np.random.default_rng(1), "plus" if kind is CutSum else "tilted"
    for _ in range(2):
        start = BlockHypothesis.constant(universe, 0.3)
        if kind is CutSum:
            start = CutSum(universe, random_start(universe, rng))
        short, dense = start, DenseHypothesis(universe, start.dense())
        for number in range(50):
            step = random_cut(universe, rng), rng.normal()
            short, dense = getattr(short, learn)(*step), getattr(dense, learn)(*step)
            if number % 5:  # what an update gets wrong stays wrong
                continue
            asked = every_kind(universe, rng)
            expected = dense.estimate_all(asked)
            assert np.allclose(short.estimate_all(asked), expected, rtol=0, atol=1e-9)
        assert np.allclose(short.dense(), dense.dense(), rtol=0, atol=1e-10)
        if kind is BlockHypothesis:
            assert short.total() == pytest.approx(0.3 * universe.size)
            assert dense.total() == pytest.approx(0.3 * universe.size)


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
@EACH
def test_bytes_round_trip(kind, universe):
    rng = np.random.default_rng(8)
    hypothesis = learnt(kind, universe, rng)
    data = hypothesis.to_bytes()
    read = kind.from_bytes(data, universe)
    assert read.to_bytes() == data
    asked = every_kind(universe, rng)
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


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_that_do_not_belong_together_are_refused(kind):
    """With a digest that fits: whoever forges one could ask for any amount of memory else."""
    universe = Universe(12, 9)
    whole = learnt(kind, universe, np.random.default_rng(10)).arrays()
    for name, array in whole.items():
        others = [array[None], array.astype(complex), None]
        if name != "graphs":  # any number of them is a family
            others.append(array[:-1])
        if array.dtype in (np.int32, np.float64):  # bits may be any
            others.append(np.full_like(array, np.nan if array.dtype == float else 2**30))
        for other in others:
            arrays = {key: value for key, value in whole.items() if key != name}
            forged = arrays if other is None else arrays | {name: other}
            with pytest.raises(FileFormatError, match="damaged"):
                kind.from_bytes(pack(kind.kind, universe, forged), universe)
