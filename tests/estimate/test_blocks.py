"""Blocks of rows: the same numbers as the whole matrix, however it is divided and computed."""

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
GRAPHS = {
    "undirected": random_graph(45),
    "bipartite": random_graph((45, 21)),
    "directed": random_graph(45, directed=True),
}
SHAPES = [(1, 1), (2, 2), (37, 37), (64, 64), (61, 23), (5, 90), (129, 16)]
MAX_BLOCK_ENTRIES = 1 << 20  # of a block, but for the rounding up of its rows to a multiple of 8


def noisy_matrix(graph, noise="binary", seed=0, epsilon=1.0):
    return randomized_response(graph, distribution_for(graph, noise, epsilon), SeededEntropy(seed))


@pytest.fixture
def small_blocks(monkeypatch):
    """Divide even tiny matrices into blocks of eight or sixteen rows."""
    monkeypatch.setattr(layout_module, "_SMALL", 0)
    monkeypatch.setattr(layout_module, "_BLOCK_ENTRIES", 600)


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 300, 2000, 10_000])
@pytest.mark.parametrize("columns", [1, 8, 2000, 30_000])
def test_blocks_cover_all_rows_and_start_at_multiples_of_eight(rows, columns):
    bounds = Layout((rows, columns), False).bounds()
    assert bounds[0][0] == 0
    assert bounds[-1][1] == rows
    assert all(stop == next_start for (_, stop), (next_start, _) in itertools.pairwise(bounds))
    assert all(start % 8 == 0 for start, _ in bounds)
    largest = max(stop - start for start, stop in bounds) * columns
    assert largest <= MAX_BLOCK_ENTRIES + 8 * columns
    is_large = rows * columns > 1 << 17 and rows >= 300
    assert len(bounds) >= 7 or not is_large


def pairs_in_order(layout, kind):
    """Return rows and columns of all pairs of a layout, in the order of their indices."""
    if kind == "symmetric":
        return np.triu_indices(layout.shape[0], 1)
    rows, columns = np.indices(layout.shape).reshape(2, -1)
    is_pair = rows != columns if kind == "directed" else np.ones(len(rows), dtype=bool)
    return rows[is_pair], columns[is_pair]


@pytest.mark.thorough(cases=58)
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", ["symmetric", "directed", "bipartite"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("noise", NOISES)
def test_blocks_hold_the_value_that_was_drawn_for_each_pair(noise, shape, kind):
    """The matrix is symmetric for undirected graphs, and its diagonal is 0 for one set."""
    if kind != "bipartite":
        shape = (shape[0], shape[0])
    symmetric = kind == "symmetric"
    layout = Layout(shape, symmetric, kind == "directed")
    distribution = distribution_for(random_graph(4), noise, 1.0)
    pairs, pair_count = pairs_in_order(layout, kind), layout.pairs_before(shape[0])
    assert np.array_equal(layout.places(*pairs), np.arange(pair_count))
    no_edges = np.empty(0), np.empty(0, dtype=np.int64)
    values = distribution.respond(pair_count, *no_edges, SeededEntropy(3))

    block_ends = [layout.pairs_before(stop) for _, stop in layout.bounds()[:-1]]
    values_of_blocks = np.split(values, block_ends)
    blocks = Blocks.from_pairs(distribution, layout, values_of_blocks.__getitem__)

    matrix = np.zeros(shape, dtype=np.int64)
    matrix[pairs] = values
    if symmetric:
        matrix += matrix.T
    assert np.array_equal(np.concatenate(blocks.map(RowBlock.steps)), matrix)
    assert len(blocks.map(RowBlock.steps)) == len(layout.bounds())
    estimate, evidence = distribution.estimate(matrix), distribution.evidence(matrix)
    if layout.hollow:
        np.fill_diagonal(estimate, 0)
        np.fill_diagonal(evidence, 0)
    assert np.array_equal(blocks.estimate(), estimate)
    assert np.array_equal(np.concatenate(blocks.map(RowBlock.evidence, np.float64)), evidence)
    assert blocks.estimate(np.float32).dtype == np.float32
    vectors = np.random.default_rng(0).standard_normal((shape[1], 3))
    assert np.allclose(blocks.times(vectors), estimate @ vectors)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kind", GRAPHS)
def test_edges_count_for_their_pairs(noise, kind):
    """At epsilon = 50 a value errs by half or more with probability 1e-21."""
    graph = GRAPHS[kind]
    estimate = noisy_matrix(graph, noise, epsilon=50.0).estimate()
    assert (np.abs(estimate - graph.dense()) < 0.5).all()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kind", GRAPHS)
def test_a_seed_draws_the_same_matrix_on_any_number_of_processors(noise, kind, monkeypatch):
    graph, matrices = GRAPHS[kind], []
    for processors in (1, 2, 5):
        monkeypatch.setattr(resources, "_processors", lambda count=processors: count)
        matrices.append(noisy_matrix(graph, noise, seed=4).steps)
    assert np.array_equal(matrices[0], matrices[1])
    assert np.array_equal(matrices[0], matrices[2])
    assert not np.array_equal(matrices[0], noisy_matrix(graph, noise, seed=5).steps)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kind", GRAPHS)
def test_cuts_and_files_do_not_depend_on_the_blocks(noise, kind, monkeypatch):
    graph = GRAPHS[kind]
    in_one_block = noisy_matrix(graph, noise)
    fields, arrays = in_one_block.parts()
    monkeypatch.setattr(layout_module, "_SMALL", 0)

    in_blocks = NoisyMatrix.from_parts(fields, arrays, graph.space)

    assert len(in_blocks.blocks.layout.bounds()) == 6
    assert np.array_equal(in_blocks.steps, in_one_block.steps)
    assert in_blocks.space == graph.space
    rng = np.random.default_rng(1)
    for _ in range(10):
        S, T = rng.random(45) < 0.5, rng.random(in_one_block.shape[1]) < 0.5
        assert in_one_block.cut_value(S, T) == in_blocks.cut_value(S, T)
    estimate = in_one_block.estimate()
    for sums, sums_by_blocks, axis in zip(
        in_one_block.vertex_sums(), in_blocks.vertex_sums(), (1, 0), strict=False
    ):
        assert np.array_equal(sums, sums_by_blocks)
        assert sums == pytest.approx(estimate.sum(axis=axis))
    new_fields, new_arrays = in_blocks.parts()
    assert new_fields == fields
    assert np.array_equal(new_arrays["values"], arrays["values"])


@pytest.mark.usefixtures("small_blocks")
def test_each_draw_from_one_source_has_new_noise():
    graph, source = random_graph(90), SeededEntropy(0)
    distribution = distribution_for(graph, "binary", 1.0)
    first, second = (randomized_response(graph, distribution, source).steps for _ in range(2))
    # Two fair draws differ in 2q(1-q) = 39 % of 4005 pairs.
    assert 0.3 < (first != second)[np.triu_indices(90, 1)].mean() < 0.5


@pytest.mark.usefixtures("small_blocks")
def test_each_block_has_noise_of_its_own():
    steps = noisy_matrix(Graph([], [], vertices=160), "laplace").steps
    first_values = [
        steps[start + 1, start + 2 : start + 10].tobytes() for start in range(0, 144, 8)
    ]
    assert len(set(first_values)) == len(first_values)


@pytest.mark.usefixtures("small_blocks")
def test_bits_of_blocks_stay_packed():
    matrix = noisy_matrix(random_graph(90))
    bytes_of_row = 12  # 90 bits
    assert sum(matrix.blocks.map(lambda block: block.data.nbytes)) == 90 * bytes_of_row


@pytest.mark.usefixtures("small_blocks")
def test_an_error_in_one_block_is_raised():
    matrix = noisy_matrix(random_graph(90))
    with pytest.raises(ZeroDivisionError):
        matrix.blocks.map(lambda block: 1 // (block.start - 16))


def test_bits_are_saved_and_read_a_few_blocks_at_a_time(monkeypatch):
    """A release may need all memory that there is, and its budget is spent before it is saved."""
    monkeypatch.setattr(layout_module, "_BLOCK_ENTRIES", 1 << 16)
    n = 3000
    matrix = noisy_matrix(Graph([0], [1], vertices=n))
    matrix_bytes, pairs = n**2 // 8, n * (n - 1) // 2
    tracemalloc.start()
    fields, arrays = matrix.parts()
    peak_of_saving = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    loaded = NoisyMatrix.from_parts(fields, arrays, matrix.space)
    peak_of_reading = tracemalloc.get_traced_memory()[1] - matrix_bytes
    tracemalloc.stop()
    assert max(peak_of_saving, peak_of_reading) < pairs  # one byte for each pair would be too much
    assert (loaded.steps == matrix.steps).all()
