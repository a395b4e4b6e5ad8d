"""Weights far above the change that is hidden: exact answers, or a refusal before it costs."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy

import graphcuts_dp as gc
from graphcuts_dp import GraphError, ParameterError
from graphcuts_dp.estimate.measurement import CountMeasurement
from graphcuts_dp.graph.grid import Grid, joined_digits
from graphcuts_dp.io.edge_store import LARGEST_OPEN
from graphcuts_dp.measure.cells import grid_of_cells
from graphcuts_dp.queries.linear import MatrixQuery

V = ["DE", "FR", "IT", "ES"]
HEAVY = [4e6, 5e6, 9.1e7, 4.2e9, 4.4e9, 9.1e10, LARGEST_OPEN]
COLUMNS = ["source", "target", "weight"]


def trade(weight, kind=gc.Graph, **options):
    rows = pd.DataFrame([("DE", "FR", weight), ("DE", "IT", 3.0)], columns=COLUMNS)
    return kind.of(rows, vertices=V, **{"max_weight_change": 1, **options})


def answers(graph, weight, path):
    """All that was answered about the edge, each with the truth, and its interval."""
    groups = gc.Groups.of({each: each for each in V}, graph)
    found = {}
    for epsilon in (1.0, 50.0):
        for whole in (False, True):
            work = gc.FlowWorkload(expected_cell=0, whole=whole)
            flows = gc.release_flows(graph, groups, epsilon=epsilon, workload=work, seed=1)
            found["flows", epsilon, whole] = weight, flows.between("DE", "FR").interval
            found["total", epsilon, whole] = weight + 3, flows.total.interval
            file = path / f"{epsilon}{whole}.csv"
            flows.save(file)
            assert gc.Flows.load(file).total == flows.total
        for mechanism in ("randomized-response", "sparse"):
            for noise in ("laplace", "discrete-laplace"):
                how = {"mechanism": mechanism, "noise": noise, "fit": "none", "seed": 2}
                made = gc.release_graph(graph, epsilon=epsilon, **how)
                found[mechanism, noise, epsilon] = weight + 3, made.answer(["DE"]).interval
    for method, delta in (("laplace", 0.0), ("gaussian", 1e-6)):
        terms = {"epsilon": 1.0, "delta": delta, "queries": 5, "method": method, "seed": 2}
        with gc.open_session(graph, store=path / f"{method}.db", **terms) as session:
            found[method] = weight + 3, session.ask(["DE"]).interval
            some = np.zeros((4, 4))
            some[0, 1], some[0, 2] = 1.0, -0.5
            some = some + some.T if isinstance(graph, gc.Graph) else some
            twice = 2 if isinstance(graph, gc.Graph) else 1
            asked = session.ask(MatrixQuery(some))
            found[method, "linear"] = twice * (weight - 1.5), asked.interval
    return found


def missed(found):
    return [name for name, (true, (low, high)) in found.items() if not low <= true <= high]


@pytest.mark.thorough(cases=1)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [gc.Graph, gc.DirectedGraph])
@pytest.mark.parametrize("weight", [4.4e9, 9.1e10, LARGEST_OPEN])
def test_intervals_of_heavy_weights_hold(weight, kind, tmp_path):
    """With the noise of a fixed seed, in which nothing is missed of light weights either."""
    assert missed(answers(trade(weight, kind), weight, tmp_path)) == []


@pytest.mark.filterwarnings("ignore")
def test_a_twin_that_cuts_weights_misses(tmp_path, monkeypatch):
    """What was in use: weights cut to 2^52 steps without a word."""
    exact = Grid.digits_of

    def cut(self, weights):
        return exact(self, np.minimum(weights, self.unit * 2.0**52))

    monkeypatch.setattr(Grid, "digits_of", cut)
    found = missed(answers(trade(9.1e10), 9.1e10, tmp_path))
    assert {"laplace", "gaussian", ("flows", 1.0, False), ("total", 1.0, False)} <= set(found)


@pytest.mark.parametrize("weight", HEAVY)
def test_counts_are_exact_and_neighbours_differ_by_the_sensitivity(weight):
    """Noise suits the change by 1, however large weights are."""
    query = gc.CutQuery(["DE"])
    for make in (Grid.of, lambda graph: grid_of_cells(graph, epsilon=50.0)):
        graphs = [trade(weight - change) for change in (0, 1)]
        grid = make(graphs[0])
        assert grid == make(trade(2.0))
        counts = [grid.count(query, graph) for graph in graphs]
        assert counts[0] == (int(weight) + 3) * 2 ** round(-math.log2(grid.unit))
        assert counts[0] - counts[1] == grid.sensitivity


def test_noisy_numbers_of_any_size_are_kept_and_read_back():
    wide = [each.tolist() for each in (np.arange(3), np.arange(3), np.array([-5, 0, 2**20]))]
    digits = [np.array(each, dtype=np.int64) for each in wide]
    true = [sum(d[i] << 30 * p for p, d in enumerate(wide)) for i in range(3)]
    assert joined_digits(digits).tolist() == true
    small = joined_digits(
        [np.array([-3, 7]), np.array([2, 0]), np.array([0, -1]), np.zeros(2, int)]
    )
    assert small.tolist() == [2**31 - 3, 7 - 2**60]
    assert small.dtype == np.int64
    groups = gc.Groups.of({each: each for each in V}, trade(1.0))
    work = gc.FlowWorkload(expected_cell=0)
    how = {"epsilon": 50.0, "workload": work, "seed": 2}
    noisy = gc.release_flows(trade(LARGEST_OPEN), groups, **how).noisy
    assert max(int(each.max()) for each in noisy.steps) > 2**63
    fields, arrays = noisy.parts()
    told = json.loads(json.dumps({name: each.tolist() for name, each in arrays.items()}))
    for read in (arrays, told):
        again = CountMeasurement.from_parts("flows", fields, read)
        for one, other in zip(again.steps, noisy.steps, strict=True):
            assert one.tolist() == other.tolist()


@pytest.mark.parametrize("weight", [1.2e12, 1e15, 1e18, 1e300])
def test_rows_above_the_public_largest_weight_are_refused_or_put_down_to_it(weight):
    """Whether a table is read depends on no row where bad rows are skipped."""
    with pytest.raises(GraphError, match=r"row 0.*above 2\^40.*pass max_weight=, or divide"):
        trade(weight)
    with pytest.raises(GraphError, match=r"above 2\^40"):
        gc.Graph([0], [1], [weight], vertices=2, max_weight_change=1)
    skip = gc.Columns(on_bad="skip")
    assert trade(weight, columns=skip) == trade(LARGEST_OPEN)  # as sums of rows are put down
    assert (
        trade(weight, max_weight_change=None).weights.max() == weight
    )  # nothing draws noise of it
    assert trade(weight, max_weight=7.0).weights.max() == 7.0
    rows = pd.DataFrame([("DE", "FR", 2.0**40), ("FR", "DE", 1.0)], columns=COLUMNS)
    how = {"vertices": V, "max_weight_change": 1, "merge": "sum"}
    with pytest.raises(GraphError, match=r"above 2\^40"):
        gc.Graph.of(rows, **how)
    assert gc.Graph.of(rows, **how, columns=skip).weights.tolist() == [2.0**40]


@pytest.mark.parametrize("method", ["multiplicative-weights", "mirror-descent", "frieze-kannan"])
def test_what_learns_needs_a_cap_and_refuses_before_it_charges(method, tmp_path):
    store = gc.Store(tmp_path / "s.db", budget=(5.0, 1e-5))
    terms = {"epsilon": 1.0, "delta": 1e-6, "queries": 5}
    with pytest.raises(ParameterError, match="max_weight"):
        gc.open_session(trade(9.1e10), store=store, method=method, **terms)
    with pytest.raises(ParameterError, match="public bound"):
        gc.release_iteratively(trade(9.1e10), epsilon=1.0, store=store)
    assert not (tmp_path / "s.db").exists() or not gc.store_status(tmp_path / "s.db").uses


@pytest.mark.filterwarnings("ignore")
def test_heavy_weights_become_a_synthetic_graph():
    """Without as many residual edges as the weight is times a light one."""
    how = {"epsilon": 0.1, "mechanism": "sparse", "seed": 3}
    made = gc.release_graph(trade(9.1e10), **how).graph
    assert made.weights.sum() == pytest.approx(9.1e10, rel=0.5)


def test_old_files_of_dense_releases_keep_their_steps():
    made = gc.release_graph(
        trade(9.0),
        epsilon=2.0,
        mechanism="randomized-response",
        noise="laplace",
        fit="none",
        seed=1,
    )
    matrix = made.measurements.matrix
    fields, arrays = matrix.parts()
    old = {**fields, "unit": fields["unit"] / 8}
    read = type(matrix).from_parts(old, arrays, matrix.space)
    assert read.distribution.unit == fields["unit"] / 8
    with pytest.raises(ValueError, match="power of two"):
        type(matrix).from_parts({**fields, "unit": 0.3}, arrays, matrix.space)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int32])
@pytest.mark.parametrize("kind", [gc.Graph, gc.DirectedGraph])
def test_entries_of_a_matrix_are_added_without_wrapping_around(dtype, kind, tmp_path):
    """In bits of its own type, 200 and 56 would be 0: one more in a weight moved it by 255."""
    largest = int(np.iinfo(dtype).max)
    for more in (0, 1):
        values = np.array([largest, more], dtype=dtype)
        matrix = scipy.sparse.coo_array((values, ([0, 0], [1, 1])), shape=(3, 3))
        path = tmp_path / f"{more}.npz"
        scipy.sparse.save_npz(path, matrix)
        for graph in (
            kind.of(matrix, max_weight_change=1),
            kind.read(path, max_weight_change=1),
        ):
            assert graph.weights.tolist() == [float(largest) + more]


@pytest.mark.parametrize("more", [[], [5.0]])
@pytest.mark.parametrize("source", ["table", "file"])
def test_a_weight_that_grows_by_one_moves_no_pair_by_more_where_bad_rows_are_skipped(
    more, source, tmp_path
):
    """A row above 2^40 that is left out would move its pair by 2^40."""
    weights = []
    for weight in (LARGEST_OPEN - 1, LARGEST_OPEN, LARGEST_OPEN + 1, LARGEST_OPEN + 2):
        rows = [weight, *more]
        table = pd.DataFrame({"source": "a", "target": "b", "weight": rows})
        options = {"vertices": gc.VertexSet(["a", "b", "c"]), "max_weight_change": 1}
        columns = gc.Columns(on_bad="skip")
        if source == "file":
            table.to_csv(tmp_path / "edges.csv", index=False)
            graph = gc.Graph.read(tmp_path / "edges.csv", columns=columns, **options)
        else:
            graph = gc.Graph.of(table, columns=columns, **options)
        weights.append(graph.weights.sum())
    assert np.abs(np.diff(weights)).max() <= 1
