"""Partitions of releases: intervals against true graphs, bounds against true optima, and files."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, GraphError, ParameterError, Partition
from graphcuts_dp.synth import partitions
from graphcuts_dp.synth.partitions import KINDS

ASKED = [
    ("max-cut", {}),
    ("sparsest", {}),
    ("sparsest", {"smallest": 3}),
    ("balanced", {}),
    ("balanced", {"parts": 3}),
    ("clusters", {}),
    ("clusters", {"resolution": 0.5}),
    ("hierarchy", {"parts": 4}),
]


def true_value(found, graph):
    """What a partition is worth in a graph, by its definition."""
    weights, codes, n = graph.adjacency.toarray(), found.codes, len(found.codes)
    apart = np.not_equal.outer(codes, codes)
    between, sizes = weights[apart].sum() / 2, np.bincount(codes)
    if found.kind in ("max-cut", "balanced"):
        return between
    if found.kind == "sparsest":
        return between / (sizes[0] * (n - sizes[0]))
    if found.kind == "clusters":
        inside = np.triu(~apart, 1)
        return (weights - found.options.resolution)[inside].sum()
    below = [{i} for i in range(n)]
    cost = 0.0
    for a, b in found.tree[:, :2].astype(int):
        below.append(below[a] | below[b])
        cost += weights[np.ix_(list(below[a]), list(below[b]))].sum() * len(below[-1])
    return cost


@cache
def near_best(kind, options, name):
    """What the search finds in the true graph, which is one for all releases of it."""
    return KINDS[kind].search(GRAPHS[name].adjacency.toarray().astype(float), options)


def vars_of(found):
    return {name: getattr(found, name) for name in found.__dataclass_fields__}


def planted(n, inside, across, seed):
    rng = np.random.default_rng(seed)
    side = np.arange(n) < n // 2
    chances = np.where(np.equal.outer(side, side), inside, across)
    return gc.Graph(*np.nonzero(np.triu(rng.random((n, n)) < chances, 1)), vertices=n)


GRAPHS = {
    "karate": gc.datasets.load("karate"),
    "random": random_graph(24, 2, density=0.4),
    "weights": random_graph(20, 3, density=0.5, largest=4.0, max_weight=4.0),
    "empty": gc.Graph([], [], vertices=15),
}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("epsilon", "seeds"),
    [
        (1.0, (3,)),
        (3.0, (1,)),
        pytest.param(1.0, (0,), marks=pytest.mark.slow),
        pytest.param(3.0, (2,), marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", list(GRAPHS))
def test_the_truth_and_the_best_lie_in_their_intervals(name, epsilon, seeds):
    """Seeded; the slow script asks 200 releases of each of larger graphs."""
    graph = GRAPHS[name]
    for seed in seeds:
        options = {"fit": "none"} if seed == 3 else {}
        options |= {"noise": "laplace"} if graph.weighted else {}
        release = gc.release_graph(graph, epsilon=epsilon, seed=seed, **options)
        for kind, asked in ASKED:
            found = release.partition(kind, **asked)
            low, high = found.interval
            assert low - 1e-9 <= true_value(found, graph) <= high + 1e-9, (kind, asked, seed)
            least, most = found.optimum
            near = near_best(kind, found.options, name)
            best = true_value(replace(found, codes=near.codes, tree=near.tree), graph)
            assert (best <= most + 1e-9) if KINDS[kind].largest else (best >= least - 1e-9)
            assert least <= most
            short = abs(best - true_value(found, graph))
            assert short <= found.shortfall + 1e-9


def test_the_interval_of_one_cut_is_wrong_for_a_chosen_one():
    """The incorrect variant: in pure noise the largest cut is far outside of its own interval."""
    release = gc.release_graph(GRAPHS["empty"], epsilon=1.0, seed=5, fit="none")
    found = release.partition("max-cut")
    cut = gc.CutQuery(found.codes == 0)
    noise = release.noisy.cut_value(*cut.masks(release.space))
    alone = release.estimator.estimate_cut(*cut.masks(release.space)).radius(np.log(20))
    assert noise > alone  # so its own interval leaves out the truth, which is 0
    assert found.interval[0] == 0.0


@pytest.mark.thorough
def test_a_dense_graph_has_proven_numbers_that_tell_something():
    graph = planted(260, 0.85, 0.15, 1)
    release = gc.release_graph(graph, epsilon=3.0, seed=1)
    total = len(graph.rows)
    for kind in KINDS:
        found = release.partition(kind)
        (low, high), (least, most) = found.interval, found.optimum
        truth = true_value(found, graph)
        assert low <= truth <= high
        assert low > 0
        assert high < (total if kind != "hierarchy" else 260 * total)
        assert least > 0
        assert not found.is_uninformative
        near = 1.0 if kind in ("max-cut", "clusters") else 4.0
        assert found.shortfall <= near * truth
        assert (most if KINDS[kind].largest else high) >= truth
    halves = release.partition("balanced")
    side = np.arange(260) < 130
    assert max(np.mean((halves.codes == 0) == side), np.mean((halves.codes == 1) == side)) == 1.0


@pytest.mark.thorough
def test_a_sparse_release_is_partitioned_in_its_synthetic_graph():
    graph = gc.datasets.load("us-flights", weighted=False)
    release = gc.release_graph(graph, epsilon=3.0, seed=2, mechanism="sparse")
    for kind, asked in ASKED:
        found = release.partition(kind, **asked)
        assert found.value == pytest.approx(true_value(found, release.graph))
        assert found.interval[0] <= true_value(found, graph) <= found.interval[1]
        least, most = found.optimum
        assert (most == found.interval[1]) if not KINDS[kind].largest else least >= 0


def test_a_partition_is_saved_and_loaded(tmp_path):
    release = gc.release_graph(GRAPHS["karate"], epsilon=2.0, seed=1)
    for kind in KINDS:
        found = release.partition(kind, confidence=0.9)
        path = tmp_path / f"{kind}.csv"
        written = found.save(path)
        read = gc.load(path)
        assert isinstance(read, Partition)
        for name, each in vars_of(found).items():
            assert np.array_equal(getattr(read, name), each), name
        assert read.parts == found.parts
        assert str(read) == str(found)
        assert "seeded: not private" in str(read)
        lines = path.read_text().splitlines()
        assert lines[0] == "vertex,part,mark"
        assert len(lines) == 35
        receipt = json.loads((tmp_path / f"{kind}.csv.json").read_text())
        assert receipt["measure"] == found.measure
        assert receipt["partition"]["shortfall"] == found.shortfall
        assert len(written) == 3
        with pytest.raises(FileFormatError, match="exists"):
            found.save(path)
    path.write_text(path.read_text().replace("vertex", "node"))
    with pytest.raises(FileFormatError, match="not the file that the receipt names"):
        gc.load(path)
    with pytest.raises(FileFormatError, match=r"must end in .csv: parts are a table"):
        found.save(tmp_path / "parts.txt")


def test_what_is_shown_of_it():
    release = gc.release_graph(GRAPHS["karate"], epsilon=2.0, seed=1)
    found = release.partition("clusters")
    sizes = [len(part) for part in found.parts]
    assert sizes == sorted(sizes, reverse=True)
    assert sorted(label for part in found.parts for label in part) == list(range(34))
    html = found._repr_html_()
    assert "weight within parts, less the resolution for each pair" in html
    assert found.groups.sizes().tolist() == sizes
    assert found.part_of(found.parts[1][0]) == 2
    assert "although the partition was chosen after looking" in html
    frame = found.to_frame("pandas")
    assert frame["part"].tolist() == (found.codes + 1).tolist()
    assert (
        repr(found)
        == f"Partition('clusters', {len(sizes)} parts of 34 vertices, seeded: not private)"
    )
    assert found.options.resolution == pytest.approx(
        partitions.mean_weight(release.expected.adjacency)
    )
    hidden = gc.release_graph(GRAPHS["empty"], epsilon=0.8, seed=1).partition("max-cut")
    assert hidden.is_uninformative
    assert "Noise hides it" in hidden._repr_html_()


@pytest.mark.thorough
def test_the_pictures_show_matrix_and_map():
    release = gc.release_graph(planted(300, 0.3, 0.02, 2), epsilon=3.0, seed=1)
    found = release.partition("balanced", parts=3)
    figure = found.plot()
    axes, bar = figure.axes
    figure.draw_without_rendering()
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "2", "3"]
    assert len(axes.lines) == 4  # two between the parts, on both axes
    assert bar.get_ylabel() == "noisy number of edges"
    assert axes.get_title(loc="left").startswith("balanced")
    assert found.bins.tolist() == [73, 73, 74]
    weights = release.expected.adjacency.toarray()
    assert found.picture.sum() == pytest.approx(weights.sum())
    members = [found.codes == part for part in range(3)]
    parts = np.split(found.picture, np.cumsum(found.bins)[:-1])
    for part, rows in zip(members, parts, strict=True):  # a bin may have vertices of two parts
        assert rows.sum() == pytest.approx(weights[part].sum(), rel=0.03)
    single = release.partition("clusters", resolution=1.0)
    assert (len(single.names), single.bins.tolist()) == (300, [220])
    assert [tick.get_text() for tick in single.plot().axes[0].get_xticklabels()] == ["others"]
    assert single.picture.sum() == pytest.approx(weights.sum())
    some = {label: (float(label % 20), label / 20) for label in range(200)}
    drawn = found.plot(some, title="Somewhere")
    assert sum(len(each.get_offsets()) for each in drawn.axes[0].collections) == 200
    assert drawn.axes[0].get_title(loc="left") == "Somewhere"
    with pytest.raises(GraphError, match="no vertex has a position"):
        found.plot({"elsewhere": (0.0, 0.0)})


@pytest.mark.parametrize(("shape", "directed"), [((6, 7), False), (9, True)])
def test_graphs_of_two_sides_and_with_directions_are_refused(shape, directed):
    release = gc.release_graph(random_graph(shape, 1, directed=directed), epsilon=1.0, seed=1)
    with pytest.raises(GraphError, match="one set of vertices; this release has two sides"):
        release.partition("max-cut")


def test_unknown_kinds_and_options_are_refused():
    release = gc.release_graph(GRAPHS["karate"], epsilon=1.0, seed=1)
    with pytest.raises(ParameterError, match="unknown kind"):
        release.partition("min-cut")
    with pytest.raises(ParameterError, match="confidence"):
        release.partition("max-cut", confidence=0.0)
