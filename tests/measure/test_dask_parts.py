"""Edges in files, on a Dask cluster of two processes: the same measurements as in one process."""

import os
import signal
from fractions import Fraction

import numpy as np
import pytest
from helpers import make_flat
from test_dask_blocks import cluster  # noqa: F401  # a fixture

import graphcuts_dp as gc
from graphcuts_dp.errors import ClusterError, FileFormatError, GraphError, ParameterError
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.measure import parted
from graphcuts_dp.measure.cells import measure_groups, sides_of_groups
from graphcuts_dp.measure.entries import measure_kept_edges
from graphcuts_dp.measure.parted import DaskParts, _gathered, added, dask_client, public_of
from graphcuts_dp.measure.statistics import measure_degrees, measure_total
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.privacy.entropy import SeededEntropy, SystemEntropy

N, CAP = 300, 50.0


@pytest.fixture(autouse=True)
def few_parts(monkeypatch):
    """Work on a small graph is nearly all that of handing out tasks; one test has all parts."""
    monkeypatch.setattr(parted, "_PARTS", 5)


KINDS = {"plain": {}, "directed": {"directed": True}, "bipartite": {"bipartite": True}}


def files(folder, ending=".csv", count=3, rows=900):
    """Rows of calls in several files; pairs come again within files and across them."""
    draw = np.random.default_rng(0)
    ends = draw.integers(0, N, (2, rows))
    ends[:, rows // 2 :] = ends[:, : rows - rows // 2]  # each pair twice, far apart
    table = np.column_stack([*ends, draw.integers(1, 9, rows)])
    paths = []
    for number, part in enumerate(np.array_split(table, count)):
        path = folder / f"part{number}{ending}"
        if ending == ".parquet":
            parquet = pytest.importorskip("pyarrow.parquet")
            pa = pytest.importorskip("pyarrow")
            names = ["caller", "callee", "minutes"]
            parquet.write_table(pa.table(dict(zip(names, part.T, strict=True))), path)
        else:
            lines = "".join(f"{a},{b},{w}\n" for a, b, w in part.tolist())
            path.write_text("caller,callee,minutes\n" + lines)
        paths.append(path)
    return table, paths


def both(folder, kind="plain", ending=".csv", **options):
    """The graph of all files in one process, and on the cluster."""
    table, paths = files(folder, ending)
    options = {"weight_cap": CAP, "merge": "sum", **KINDS[kind], **options}
    vertices = (N, N) if kind == "bipartite" else N
    here = make_flat(table, vertices=vertices, **options)
    there = DaskParts.read(
        paths, vertices=vertices, source="caller", target="callee", weight="minutes", **options
    )
    return here, there


def measured(graph, source):
    """All measurements that sums and the filter give, as arrays."""
    noise = LaplaceNoise(Fraction(1, 2), CAP)
    total = measure_total(graph, noise, epsilon=Fraction(1, 10), source=source)
    degrees = measure_degrees(graph, noise, epsilon=Fraction(1, 5), source=source)
    kept = measure_kept_edges(graph, noise, threshold=200, source=source)
    public = public_of(graph)
    parts = ["a", "b", "c"]

    def groups_of(vertices):
        return gc.Groups.of({v: parts[v % 3] for v in vertices.labels}, vertices)

    space = public.space
    if hasattr(public, "vertices"):
        groups = groups_of(public.vertices)
    else:
        groups = tuple(groups_of(vertices) for vertices in space)
    sides = sides_of_groups(public, groups)
    sums = measure_groups(
        graph, sides, epsilon=Fraction(1, 5), whole=True, name="groups", source=source
    )
    cells = sums.measured.sums[0]
    return [
        np.array([total.value]), degrees.rows, degrees.columns, cells,
        kept.rows, kept.columns, kept.steps,
    ]  # fmt: skip


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_measurements_wherever_the_edges_are(tmp_path, kind):
    here, there = both(tmp_path, kind)
    for one, other in zip(
        measured(here, SeededEntropy(5)), measured(there, SeededEntropy(5)), strict=True
    ):
        assert np.array_equal(one, other)
    assert len(measured(here, SeededEntropy(5))[4])  # some edges are kept


@pytest.mark.usefixtures("cluster")
def test_parquet_parts_and_the_largest_of_repeated_rows(tmp_path, monkeypatch):
    monkeypatch.undo()  # as many parts as there are otherwise
    here, there = both(tmp_path, ending=".parquet", merge="max")
    ones, others = (measured(graph, SeededEntropy(1)) for graph in (here, there))
    assert all(np.array_equal(one, other) for one, other in zip(ones, others, strict=True))


@pytest.mark.usefixtures("cluster")
def test_a_twin_that_merges_within_files_only_is_seen(tmp_path):
    """Pairs that stand in two files must add up: the noise is the same, so the sums must be."""
    table, paths = files(tmp_path)
    here, _ = both(tmp_path)
    parts = [
        gc.Graph.of(part, vertices=N, weight_cap=CAP, merge="sum")
        for part in np.array_split(table, len(paths))
    ]
    rows, columns, weights = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("rows", "columns", "weights")
    )
    broken = Graph(rows, columns, weights, vertices=N, weight_cap=CAP)  # keeps the largest
    assert not np.array_equal(
        measured(here, SeededEntropy(5))[1], measured(broken, SeededEntropy(5))[1]
    )


@pytest.mark.usefixtures("cluster")
def test_noise_of_the_system_differs_between_parts_and_runs(tmp_path):
    _, there = both(tmp_path)
    first, second = (measured(there, SystemEntropy()) for _ in range(2))
    assert not np.array_equal(first[1], second[1])
    assert not np.array_equal(first[4], second[4])


@pytest.mark.usefixtures("cluster")
def test_each_part_is_asked_for_its_draw_once(tmp_path, monkeypatch):
    """Of a draw that is made again, one result is read: no task of the cluster takes another."""
    _, there = both(tmp_path)
    client = dask_client()
    taken, submitted = [], []
    gather, submit = type(client).gather, type(client).submit

    def gathered(self, futures, *rest, **more):
        taken.extend(future.key for future in futures)
        return gather(self, futures, *rest, **more)

    def noted(self, function, *arguments, **more):
        future = submit(self, function, *arguments, **more)
        keys = [each.key for each in arguments if hasattr(each, "key")]
        submitted.append((getattr(function, "__name__", ""), future.key, keys))
        return future

    monkeypatch.setattr(type(client), "gather", gathered)
    monkeypatch.setattr(type(client), "submit", noted)
    noise = LaplaceNoise(Fraction(1, 2), CAP)
    measure_kept_edges(there, noise, threshold=200, source=SystemEntropy())
    draws = [key for name, key, _ in submitted if name == "keep_part"]
    assert draws
    assert sorted(taken) == sorted(draws)
    assert len(set(draws)) == len(draws)
    assert not any(set(keys) & set(draws) for _, _, keys in submitted)


@pytest.mark.slow
def test_a_lost_worker_costs_time_and_changes_no_sum(tmp_path):
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as local,
        distributed.Client(local) as client,
    ):
        here, there = both(tmp_path)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        found = measured(there, SeededEntropy(5))
    assert all(
        np.array_equal(one, other)
        for one, other in zip(measured(here, SeededEntropy(5)), found, strict=True)
    )


@pytest.mark.usefixtures("cluster")
def test_what_is_wrong_is_told_in_one_line(tmp_path):
    _, paths = files(tmp_path)
    columns = {"source": "caller", "target": "callee", "weight": "minutes"}
    with pytest.raises(ParameterError, match="'sum' or 'max'"):
        DaskParts.read(paths, vertices=N, merge="min", **columns)
    with pytest.raises(GraphError, match="no files"):
        DaskParts.read([], vertices=N)
    with pytest.raises(FileFormatError, match="not in the public vertex set"):
        DaskParts.read(paths, vertices=2, weight_cap=CAP, **columns)
    with pytest.raises(FileFormatError, match="does not exist"):
        DaskParts.read([tmp_path / "no.csv"], vertices=N, weight_cap=CAP, **columns)
    with pytest.raises(ClusterError, match="ZeroDivisionError") as caught:
        _gathered(dask_client(), [dask_client().submit(lambda: 1 // 0, pure=False)])
    assert "\n" not in str(caught.value)


def test_nothing_private_is_shown():
    public = gc.Graph([], [], np.zeros(0), vertices=N, weight_cap=CAP)
    assert repr(DaskParts(public, [])) == f"DaskParts(Graph(n={N}, weighted, cap={CAP:g}))"


def test_sums_over_parts_are_cut_as_one_sum_is():
    large = np.array([2**62, 2**61, 3])
    assert added([large], [large])[0].tolist() == [2**62, 2**62, 6]
    assert added([large], added([large], [large]))[0].tolist() == [2**62, 2**62, 9]


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("kind", KINDS)
def test_a_release_of_parts_is_that_of_the_graph(tmp_path, kind):
    here, there = both(tmp_path, kind, weight_cap=None, hide_change=1)
    vertices = here.space if kind == "bipartite" else (here.vertices,)
    groups = [gc.Groups(side, {"team": [f"t{v % 3}" for v in range(N)]}) for side in vertices]
    options = {
        "epsilon": 2.0,
        "mechanism": "sparse",
        "groups": tuple(groups) if kind == "bipartite" else groups[0],
        "seed": 3,
    }
    ours = gc.release_graph(here, **options)
    theirs = gc.release_graph(there, **options)
    assert theirs.guarantee == ours.guarantee
    assert theirs.graph == ours.graph
    assert theirs.answer("@t0", "@t1") == ours.answer("@t0", "@t1")


@pytest.mark.usefixtures("cluster")
def test_a_store_takes_parts_for_the_graph_that_they_are_of(tmp_path):
    here, there = both(tmp_path)
    store = gc.Store(tmp_path / "calls.db", budget=1.0)
    options = {"epsilon": 0.5, "mechanism": "sparse", "store": store}
    gc.release_graph(there, **options)
    gc.release_graph(here, **options)  # the same private data, and the rest of the budget
    assert gc.store_status(store.path).epsilon == pytest.approx(1.0)
    with pytest.raises(gc.errors.BudgetError):
        gc.release_graph(there, **options)
    columns = {"source": "caller", "target": "callee", "weight": "minutes"}
    other = DaskParts.read([tmp_path / "part0.csv"], vertices=N, weight_cap=CAP, **columns)
    with pytest.raises(gc.errors.LedgerError, match="other private data"):
        gc.release_graph(other, **{**options, "epsilon": 1e-3})


@pytest.mark.usefixtures("cluster")
def test_the_budget_is_spent_before_noise_is_drawn_on_the_workers(tmp_path, monkeypatch):
    _, there = both(tmp_path)

    def lost(*_):
        raise ClusterError("a worker was lost")

    monkeypatch.setattr(DaskParts, "drawn", lost)
    monkeypatch.setattr(DaskParts, "summed", lost)
    store = gc.Store(tmp_path / "calls.db", budget=1.0)
    with pytest.raises(ClusterError):
        gc.release_graph(there, epsilon=0.75, store=store)
    assert gc.store_status(store.path).epsilon == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"mechanism": "response"}, "mechanism='sparse'"),
        ({"protect": "vertex"}, "protect='edges'"),
        ({"fit": "spectral"}, "mechanism='sparse'"),
        ({"blocks": "dask"}, "mechanism='sparse'"),
        ({"degree_share": 0.99}, "degree_share"),
    ],
)
def test_options_that_are_for_one_process_are_refused(options, told, monkeypatch):
    there = DaskParts(Graph([], [], np.zeros(0), vertices=9, weight_cap=2), [])
    monkeypatch.setattr(DaskParts, "each", lambda *_: iter(()))
    with pytest.raises(ParameterError, match=told):
        gc.release_graph(there, epsilon=1.0, **options)
