"""Blocks of rows: the same numbers as the whole matrix, however they are cut and computed."""

import itertools
import tracemalloc

import numpy as np
import pytest
from helpers import random_graph

from graphcuts_dp import Graph, resources
from graphcuts_dp.estimate.blocks import Blocks, RowBlock
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.schema import layout as layout_module
from graphcuts_dp.schema.layout import Layout

NOISES = ["binary", "laplace", "discrete-laplace", "staircase"]
KINDS = [random_graph(45), random_graph((45, 21)), random_graph(45, directed=True)]
SHAPES = [(1, 1), (2, 2), (37, 37), (64, 64), (61, 23), (5, 90), (129, 16)]


def noisy_matrix(graph, noise="binary", seed=0, epsilon=1.0):
    return randomized_response(graph, distribution_for(graph, noise, epsilon), SeededEntropy(seed))


@pytest.fixture
def small_blocks(monkeypatch):
    """Cut even tiny matrices into blocks of eight or sixteen rows."""
    monkeypatch.setattr(layout_module, "_SMALL", 0)
    monkeypatch.setattr(layout_module, "_BLOCK_ENTRIES", 600)


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 300, 2000, 10_000])
@pytest.mark.parametrize("columns", [1, 8, 2000, 30_000])
def test_bounds_cover_all_rows_at_multiples_of_eight(rows, columns):
    bounds = Layout((rows, columns), False).bounds()
    assert bounds[0][0] == 0
    assert bounds[-1][1] == rows
    assert all(stop == start for (_, stop), (start, _) in itertools.pairwise(bounds))
    assert all(start % 8 == 0 for start, _ in bounds)
    assert all((stop - start) * columns <= (1 << 20) + 8 * columns for start, stop in bounds)
    if rows * columns > 1 << 17 and rows >= 300:
        assert len(bounds) >= 7


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", ["symmetric", "directed", "bipartite"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", NOISES)
def test_blocks_are_the_matrix_that_the_distribution_drew(noise, shape, kind):
    """Each pair is what `respond` gave for it; symmetric, zero diagonal, and as cut."""
    if kind != "bipartite" and shape[0] != shape[1]:
        shape = (shape[0], shape[0])
    symmetric = kind == "symmetric"
    layout = Layout(shape, symmetric, kind == "directed")
    distribution = distribution_for(random_graph(4), noise, 1.0)
    drawn, pairs = np.zeros(shape, dtype=np.int64), layout.pairs_before(shape[0])
    places = np.triu_indices(shape[0], 1) if symmetric else np.indices(shape).reshape(2, -1)
    if kind == "directed":
        places = places[:, places[0] != places[1]]
    assert np.array_equal(layout.places(*places), np.arange(pairs))
    nothing = np.empty(0), np.empty(0, dtype=np.int64)
    drawn[tuple(places)] = distribution.respond(pairs, *nothing, SeededEntropy(3))
    if symmetric:
        drawn += drawn.T
    values = drawn[tuple(places)]

    ends = [layout.pairs_before(stop) for _, stop in layout.bounds()[:-1]]
    parts = np.split(values, ends)
    made = Blocks.from_pairs(distribution, layout, parts.__getitem__)
    assert np.array_equal(np.concatenate(made.map(RowBlock.steps)), drawn)
    assert len(made.map(RowBlock.steps)) == len(layout.bounds())
    z = distribution.estimate(drawn)
    evidence = distribution.evidence(drawn)
    if layout.hollow:
        np.fill_diagonal(z, 0)
        np.fill_diagonal(evidence, 0)
    assert np.array_equal(made.estimate(), z)
    assert np.array_equal(np.concatenate(made.map(RowBlock.evidence, np.float64)), evidence)
    assert made.estimate(np.float32).dtype == np.float32
    V = np.random.default_rng(0).standard_normal((shape[1], 3))
    assert np.allclose(made.times(V), z @ V)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("graph", KINDS)
def test_edges_land_on_their_pairs_on_any_number_of_processors(noise, graph, monkeypatch):
    """At epsilon = 50 a value is wrong by half or more with probability 1e-21."""
    z = noisy_matrix(graph, noise, epsilon=50.0).estimate()
    assert (np.abs(z - graph.dense()) < 0.5).all()
    drawn = []
    for processors in (1, 2, 5):
        monkeypatch.setattr(resources, "_processors", lambda count=processors: count)
        drawn.append(noisy_matrix(graph, noise, seed=4).steps)
    assert np.array_equal(drawn[0], drawn[1])
    assert np.array_equal(drawn[0], drawn[2])
    assert not np.array_equal(drawn[0], noisy_matrix(graph, noise, seed=5).steps)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("graph", KINDS)
def test_cuts_and_files_do_not_depend_on_the_blocks(noise, graph, monkeypatch):
    whole = noisy_matrix(graph, noise)
    fields, arrays = whole.parts()
    monkeypatch.setattr(layout_module, "_SMALL", 0)
    cut = NoisyMatrix.from_parts(fields, arrays, graph.space)
    assert len(cut.blocks.layout.bounds()) == 6
    assert np.array_equal(cut.steps, whole.steps)
    assert cut.space == graph.space
    rng = np.random.default_rng(1)
    for _ in range(10):
        S, T = rng.random(45) < 0.5, rng.random(whole.shape[1]) < 0.5
        assert whole.cut_value(S, T) == cut.cut_value(S, T)
    z = whole.estimate()
    for sums, again, axis in zip(whole.vertex_sums(), cut.vertex_sums(), (1, 0), strict=False):
        assert np.array_equal(sums, again)
        assert sums == pytest.approx(z.sum(axis=axis))
    assert cut.parts()[0] == fields
    assert np.array_equal(cut.parts()[1]["values"], arrays["values"])


@pytest.mark.usefixtures("small_blocks")
def test_noise_is_new_for_each_draw_and_each_block_and_bits_stay_packed():
    graph, source = random_graph(90), SeededEntropy(0)
    distribution = distribution_for(graph, "binary", 1.0)
    first, second = (randomized_response(graph, distribution, source) for _ in range(2))
    # Two fair draws differ in 2q(1-q) = 39 % of 4005 pairs.
    assert 0.3 < (first.steps != second.steps)[np.triu_indices(90, 1)].mean() < 0.5
    assert sum(first.blocks.map(lambda block: block.data.nbytes)) == 90 * 12
    steps = noisy_matrix(Graph([], [], vertices=160), "laplace").steps
    rows = [steps[start + 1, start + 2 : start + 10].tobytes() for start in range(0, 144, 8)]
    assert len(set(rows)) == len(rows)
    with pytest.raises(ZeroDivisionError):  # errors come through
        first.blocks.map(lambda block: 1 // (block.start - 16))


def test_bits_are_saved_and_read_a_few_blocks_at_once(monkeypatch):
    """A release may need all the memory that there is, and has been paid for when it is saved."""
    monkeypatch.setattr(layout_module, "_BLOCK_ENTRIES", 1 << 16)
    made = noisy_matrix(Graph([0], [1], vertices=3000))
    pairs = 3000 * 2999 // 2
    tracemalloc.start()
    fields, arrays = made.parts()
    saving = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    back = NoisyMatrix.from_parts(fields, arrays, made.space)
    reading = tracemalloc.get_traced_memory()[1] - 3000**2 // 8  # but for the matrix itself
    tracemalloc.stop()
    assert max(saving, reading) < pairs
    assert (back.steps == made.steps).all()
