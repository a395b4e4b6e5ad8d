"""Weights far above the change that noise hides: exact answers, or a refusal before any cost.

With `max_weight_change=1` neighbours differ in one weight by 1, and a weight is at most 2^40.
"""

import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import CountMeasurement
from graphcuts_dp.graph.grid import Grid, joined_digits
from graphcuts_dp.io.edge_store import LARGEST_OPEN
from graphcuts_dp.measure.cells import grid_of_cells

COUNTRIES = ["DE", "FR", "IT", "ES"]
HEAVY_WEIGHTS = [4e6, 5e6, 9.1e7, 4.2e9, 4.4e9, 9.1e10, LARGEST_OPEN]
COLUMNS = ["source", "target", "weight"]
NO_EXPECTATION = gc.FlowWorkload(expected_cell=0)  # to release although noise exceeds the cells


def trade_graph(weight, graph_class=gc.Graph, **options):
    """Return a graph with an edge of this weight from DE to FR, and one of weight 3 to IT."""
    rows = pd.DataFrame([("DE", "FR", weight), ("DE", "IT", 3.0)], columns=COLUMNS)
    return graph_class.of(rows, vertices=COUNTRIES, **{"max_weight_change": 1, **options})


def truths_and_intervals_of_flows(graph, weight, folder):
    """Return, by release, the true value and the interval of the edge and of the total."""
    results = {}
    groups = gc.Groups.of({country: country for country in COUNTRIES}, graph)
    for epsilon in (1.0, 50.0):
        for whole in (False, True):
            workload = gc.FlowWorkload(expected_cell=0, whole=whole)
            flows = gc.release_flows(graph, groups, epsilon=epsilon, workload=workload, seed=1)
            results["flows", epsilon, whole] = weight, flows.between("DE", "FR").interval
            results["total", epsilon, whole] = weight + 3, flows.total.interval
            path = folder / f"{epsilon}{whole}.csv"
            flows.save(path)
            assert gc.Flows.load(path).total == flows.total
    return results


def truths_and_intervals_of_releases(graph, weight):
    """Return, by release, the true value and the interval of the cut of DE."""
    results = {}
    for epsilon in (1.0, 50.0):
        for mechanism in ("randomized-response", "sparse"):
            for noise in ("laplace", "discrete-laplace"):
                release = gc.release_graph(
                    graph, epsilon=epsilon, mechanism=mechanism, noise=noise, fit="none", seed=2
                )
                results[mechanism, noise, epsilon] = weight + 3, release.answer(["DE"]).interval
    return results


def truths_and_intervals_of_sessions(graph, weight, folder):
    """Return, by method, true values and intervals of the cut of DE and of a linear query."""
    results = {}
    coefficients = np.zeros((4, 4))
    coefficients[0, 1], coefficients[0, 2] = 1.0, -0.5
    linear_truth = weight - 1.5
    if isinstance(graph, gc.Graph):  # each edge counts in both directions
        coefficients, linear_truth = coefficients + coefficients.T, 2 * linear_truth
    for method, delta in (("laplace", 0.0), ("gaussian", 1e-6)):
        terms = {"epsilon": 1.0, "delta": delta, "queries": 5, "method": method, "seed": 2}
        with gc.open_session(graph, store=folder / f"{method}.db", **terms) as session:
            results[method] = weight + 3, session.ask(["DE"]).interval
            answer = session.ask(gc.Query.matrix(coefficients))
            results[method, "linear"] = linear_truth, answer.interval
    return results


def names_of_wrong_intervals(weight, graph_class, folder):
    graph = trade_graph(weight, graph_class)
    results = truths_and_intervals_of_flows(graph, weight, folder)
    results |= truths_and_intervals_of_releases(graph, weight)
    results |= truths_and_intervals_of_sessions(graph, weight, folder)
    return [name for name, (truth, (low, high)) in results.items() if not low <= truth <= high]


@pytest.mark.thorough(cases=1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("graph_class", [gc.Graph, gc.DirectedGraph])
@pytest.mark.parametrize("weight", [4.4e9, 9.1e10, LARGEST_OPEN])
def test_intervals_of_heavy_weights_hold(weight, graph_class, tmp_path):
    """With fixed seeds, with which all intervals of light weights hold as well."""
    assert names_of_wrong_intervals(weight, graph_class, tmp_path) == []


@pytest.mark.filterwarnings("ignore")
def test_intervals_do_not_hold_if_weights_are_clipped(tmp_path, monkeypatch):
    """The incorrect variant, once in use: weights above 2^52 grid units are clipped silently."""
    digits_of = Grid.digits_of

    def digits_of_clipped_weights(self, weights):
        return digits_of(self, np.minimum(weights, self.unit * 2.0**52))

    monkeypatch.setattr(Grid, "digits_of", digits_of_clipped_weights)
    wrong = names_of_wrong_intervals(9.1e10, gc.Graph, tmp_path)
    assert {"laplace", "gaussian", ("flows", 1.0, False), ("total", 1.0, False)} <= set(wrong)


@pytest.mark.parametrize("weight", HEAVY_WEIGHTS)
@pytest.mark.parametrize(
    "grid_of",
    [
        pytest.param(Grid.of, id="grid of cuts"),
        pytest.param(lambda graph: grid_of_cells(graph, epsilon=50.0), id="grid of cells"),
    ],
)
def test_counts_are_exact_and_neighbours_differ_by_the_sensitivity(weight, grid_of):
    """The grid suits a change by 1, however large the weights are."""
    graph, neighbour = trade_graph(weight), trade_graph(weight - 1)
    grid = grid_of(graph)
    assert grid == grid_of(trade_graph(2.0))
    query = gc.CutQuery(["DE"])
    units_of_one = 2 ** round(-math.log2(grid.unit))
    assert grid.count(query, graph) == (int(weight) + 3) * units_of_one
    assert grid.count(query, graph) - grid.count(query, neighbour) == grid.sensitivity


def test_digits_of_base_2_to_the_30_are_joined_exactly():
    wide = [np.array([0, 1, 2]), np.array([0, 1, 2]), np.array([-5, 0, 2**20])]
    expected = [-5 << 60, (1 << 30) + 1, (2**20 << 60) + (2 << 30) + 2]
    assert joined_digits(wide).tolist() == expected


def test_joined_digits_that_fit_are_64_bit_integers():
    narrow = [np.array([-3, 7]), np.array([2, 0]), np.array([0, -1]), np.zeros(2, int)]
    joined = joined_digits(narrow)
    assert joined.tolist() == [2**31 - 3, 7 - 2**60]
    assert joined.dtype == np.int64


@pytest.mark.parametrize("as_json", [False, True], ids=["arrays", "JSON"])
def test_noisy_sums_beyond_64_bits_are_stored_exactly(as_json):
    groups = gc.Groups.of({country: country for country in COUNTRIES}, trade_graph(1.0))
    noisy = gc.release_flows(
        trade_graph(LARGEST_OPEN), groups, epsilon=50.0, workload=NO_EXPECTATION, seed=2
    ).noisy
    assert max(int(values.max()) for values in noisy.steps) > 2**63
    fields, arrays = noisy.parts()
    if as_json:
        lists = {name: array.tolist() for name, array in arrays.items()}
        arrays = json.loads(json.dumps(lists))

    loaded = CountMeasurement.from_parts("flows", fields, arrays)

    for loaded_values, values in zip(loaded.steps, noisy.steps, strict=True):
        assert loaded_values.tolist() == values.tolist()


TOO_HEAVY = pytest.mark.parametrize("weight", [1.2e12, 1e15, 1e18, 1e300])
SKIP_BAD_ROWS = gc.Columns(on_bad="skip")


@TOO_HEAVY
def test_rows_above_the_public_largest_weight_are_refused_or_put_down_to_it(weight):
    """If bad rows are skipped, no single row may decide whether a table is read."""
    with pytest.raises(gc.GraphError, match=r"row 0.*above 2\^40.*pass max_weight=, or divide"):
        trade_graph(weight)
    with pytest.raises(gc.GraphError, match=r"above 2\^40"):
        gc.Graph([0], [1], [weight], vertices=2, max_weight_change=1)
    assert trade_graph(weight, columns=SKIP_BAD_ROWS) == trade_graph(LARGEST_OPEN)


@TOO_HEAVY
def test_weights_without_noise_or_with_a_maximum_may_be_of_any_size(weight):
    assert trade_graph(weight, max_weight_change=None).weights.max() == weight
    assert trade_graph(weight, max_weight=7.0).weights.max() == 7.0


def test_sums_of_rows_above_the_largest_weight_are_refused_or_put_down_to_it():
    rows = pd.DataFrame([("DE", "FR", 2.0**40), ("FR", "DE", 1.0)], columns=COLUMNS)
    options = {"vertices": COUNTRIES, "max_weight_change": 1, "merge": "sum"}
    with pytest.raises(gc.GraphError, match=r"above 2\^40"):
        gc.Graph.of(rows, **options)
    assert gc.Graph.of(rows, **options, columns=SKIP_BAD_ROWS).weights.tolist() == [2.0**40]


def budget_is_untouched(path):
    return not path.exists() or not gc.store_status(path).uses


@pytest.mark.parametrize("method", ["multiplicative-weights", "mirror-descent", "frieze-kannan"])
def test_a_session_that_learns_refuses_weights_without_a_maximum_before_it_charges(
    method, tmp_path
):
    store = gc.Store(tmp_path / "s.db", budget=(5.0, 1e-5))
    with pytest.raises(gc.ParameterError, match="max_weight"):
        gc.open_session(
            trade_graph(9.1e10), store=store, method=method, epsilon=1.0, delta=1e-6, queries=5
        )
    assert budget_is_untouched(tmp_path / "s.db")


def test_an_iterative_release_refuses_weights_without_a_maximum_before_it_charges(tmp_path):
    store = gc.Store(tmp_path / "s.db", budget=(5.0, 1e-5))
    with pytest.raises(gc.ParameterError, match="public bound"):
        gc.release_iteratively(trade_graph(9.1e10), epsilon=1.0, store=store)
    assert budget_is_untouched(tmp_path / "s.db")


@pytest.mark.filterwarnings("ignore")
def test_the_synthetic_graph_of_a_heavy_weight_has_about_its_total_weight():
    """And not as many edges as the weight is times a light one."""
    release = gc.release_graph(trade_graph(9.1e10), epsilon=0.1, mechanism="sparse", seed=3)
    assert release.graph.weights.sum() == pytest.approx(9.1e10, rel=0.5)


@pytest.fixture
def dense_matrix():
    release = gc.release_graph(
        trade_graph(9.0),
        epsilon=2.0,
        mechanism="randomized-response",
        noise="laplace",
        fit="none",
        seed=1,
    )
    return release.measurements.matrix


def test_stored_dense_releases_keep_the_finer_grid_units_of_older_versions(dense_matrix):
    fields, arrays = dense_matrix.parts()
    older_fields = {**fields, "unit": fields["unit"] / 8}
    loaded = type(dense_matrix).from_parts(older_fields, arrays, dense_matrix.space)
    assert loaded.distribution.unit == fields["unit"] / 8


def test_stored_grid_units_that_are_no_powers_of_two_are_refused(dense_matrix):
    fields, arrays = dense_matrix.parts()
    with pytest.raises(ValueError, match="power of two"):
        type(dense_matrix).from_parts({**fields, "unit": 0.3}, arrays, dense_matrix.space)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int32])
@pytest.mark.parametrize("kind", [gc.Graph, gc.DirectedGraph])
def test_entries_of_a_matrix_are_added_without_wrapping_around(dtype, kind, tmp_path):
    """In 8 bits 255 + 1 is 0, so one more in a weight would change it by 255."""
    largest = int(np.iinfo(dtype).max)
    for summand in (0, 1):
        values = np.array([largest, summand], dtype=dtype)
        matrix = scipy.sparse.coo_array((values, ([0, 0], [1, 1])), shape=(3, 3))
        path = tmp_path / f"{summand}.npz"
        scipy.sparse.save_npz(path, matrix)
        for graph in (
            kind.of(matrix, max_weight_change=1),
            kind.read(path, max_weight_change=1),
        ):
            assert graph.weights.tolist() == [float(largest) + summand]


@pytest.mark.parametrize(
    "other_weights",
    [pytest.param([], id="one row of the pair"), pytest.param([5.0], id="two rows of the pair")],
)
@pytest.mark.parametrize("source", ["table", "file"])
def test_a_weight_that_grows_by_one_changes_its_pair_by_one_if_bad_rows_are_skipped(
    other_weights, source, tmp_path
):
    """A row above 2^40 that is left out would change its pair by 2^40."""
    weights_of_pair = []
    for weight in (LARGEST_OPEN - 1, LARGEST_OPEN, LARGEST_OPEN + 1, LARGEST_OPEN + 2):
        table = pd.DataFrame({"source": "a", "target": "b", "weight": [weight, *other_weights]})
        options = {"vertices": gc.VertexSet(["a", "b", "c"]), "max_weight_change": 1}
        if source == "file":
            table.to_csv(tmp_path / "edges.csv", index=False)
            graph = gc.Graph.read(tmp_path / "edges.csv", columns=SKIP_BAD_ROWS, **options)
        else:
            graph = gc.Graph.of(table, columns=SKIP_BAD_ROWS, **options)
        weights_of_pair.append(graph.weights.sum())
    assert np.abs(np.diff(weights_of_pair)).max() <= 1
