"""Partitions of releases: intervals against true graphs, bounds against true optima, and files.

A partition is found in a release. It has an interval for its value in the private graph, an
interval for the optimum there, and a shortfall that bounds the difference of the two values.
"""

import json
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, GraphError, ParameterError, Partition
from graphcuts_dp.synth import partitions
from graphcuts_dp.synth.partitions import KINDS

KINDS_AND_OPTIONS = [
    ("max-cut", {}),
    ("sparsest", {}),
    ("sparsest", {"smallest": 3}),
    ("balanced", {}),
    ("balanced", {"parts": 3}),
    ("clusters", {}),
    ("clusters", {"resolution": 0.5}),
    ("hierarchy", {"parts": 4}),
]


def true_value(partition: Partition, graph: gc.Graph) -> float:
    """Return the value of a partition in a graph, by the definition of its kind.

    The cost of a hierarchy sums over all merges: the weight between the two clusters, times the
    size of the merged one.
    """
    weights, codes, n = graph.adjacency.toarray(), partition.codes, len(partition.codes)
    is_separated = np.not_equal.outer(codes, codes)
    weight_between, sizes = weights[is_separated].sum() / 2, np.bincount(codes)
    if partition.kind in ("max-cut", "balanced"):
        return weight_between
    if partition.kind == "sparsest":
        return weight_between / (sizes[0] * (n - sizes[0]))
    if partition.kind == "clusters":
        is_within = np.triu(~is_separated, 1)
        return (weights - partition.options.resolution)[is_within].sum()
    clusters = [{vertex} for vertex in range(n)]
    cost = 0.0
    for a, b in partition.tree[:, :2].astype(int):
        clusters.append(clusters[a] | clusters[b])
        between = weights[np.ix_(list(clusters[a]), list(clusters[b]))].sum()
        cost += between * len(clusters[-1])
    return cost


@cache
def search_in_true_graph(kind: str, options: Any, name: str) -> Any:
    """Return what the search finds in one of `GRAPHS` without noise."""
    return KINDS[kind].search(GRAPHS[name].adjacency.toarray().astype(float), options)


def two_planted_halves(n: int, within: float, between: float, seed: int) -> gc.Graph:
    """Return a random graph whose edges have other probabilities within two halves than between."""
    rng = np.random.default_rng(seed)
    half = np.arange(n) < n // 2
    probabilities = np.where(np.equal.outer(half, half), within, between)
    return gc.Graph(*np.nonzero(np.triu(rng.random((n, n)) < probabilities, 1)), vertices=n)


GRAPHS = {
    "karate": gc.datasets.load("karate"),
    "random": random_graph(24, 2, density=0.4),
    "weights": random_graph(20, 3, density=0.5, largest=4.0, max_weight=4.0),
    "empty": gc.Graph([], [], vertices=15),
}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("epsilon", "seed", "options"),
    [
        pytest.param(1.0, 3, {"fit": "none"}, id="without a fit"),
        pytest.param(3.0, 1, {}, id="with a fit"),
        pytest.param(1.0, 0, {}, id="small epsilon", marks=pytest.mark.slow),
        pytest.param(3.0, 2, {}, id="another seed", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", list(GRAPHS))
def test_the_value_and_the_optimum_lie_in_their_intervals(name, epsilon, seed, options):
    """The optimum is bounded by the value of a partition that is found without noise."""
    graph = GRAPHS[name]
    if graph.weighted:
        options = options | {"noise": "laplace"}
    release = gc.release_graph(graph, epsilon=epsilon, seed=seed, **options)
    for kind, kind_options in KINDS_AND_OPTIONS:
        partition = release.partition(kind, **kind_options)
        value = true_value(partition, graph)
        low, high = partition.interval
        assert low - 1e-9 <= value <= high + 1e-9, (kind, kind_options)
        search = search_in_true_graph(kind, partition.options, name)
        better_value = true_value(replace(partition, codes=search.codes, tree=search.tree), graph)
        optimum_low, optimum_high = partition.optimum
        if KINDS[kind].largest:
            assert better_value <= optimum_high + 1e-9
        else:
            assert better_value >= optimum_low - 1e-9
        assert optimum_low <= optimum_high
        assert abs(better_value - value) <= partition.shortfall + 1e-9


def test_the_interval_of_one_cut_is_wrong_for_a_chosen_one():
    """The incorrect variant: in pure noise the largest cut is far outside of its own interval."""
    release = gc.release_graph(GRAPHS["empty"], epsilon=1.0, seed=5, fit="none")
    partition = release.partition("max-cut")
    masks = gc.CutQuery(partition.codes == 0).masks(release.space)
    noisy_value = release.noisy.cut_value(*masks)
    radius_of_one_cut = release.estimator.estimate_cut(*masks).radius(np.log(20))
    assert noisy_value > radius_of_one_cut  # the true value is 0
    assert partition.interval[0] == 0.0


@pytest.mark.thorough
def test_intervals_of_partitions_of_a_dense_graph_are_informative():
    n = 260
    graph = two_planted_halves(n, 0.85, 0.15, 1)
    release = gc.release_graph(graph, epsilon=3.0, seed=1)
    edges = len(graph.rows)
    for kind in KINDS:
        partition = release.partition(kind)
        low, high = partition.interval
        optimum_low, optimum_high = partition.optimum
        value = true_value(partition, graph)
        assert low <= value <= high
        assert low > 0
        assert high < (edges if kind != "hierarchy" else n * edges)
        assert optimum_low > 0
        assert not partition.is_uninformative
        relative_shortfall = 1.0 if kind in ("max-cut", "clusters") else 4.0
        assert partition.shortfall <= relative_shortfall * value
        assert (optimum_high if KINDS[kind].largest else high) >= value


@pytest.mark.thorough
def test_a_balanced_partition_recovers_planted_halves():
    n = 260
    release = gc.release_graph(two_planted_halves(n, 0.85, 0.15, 1), epsilon=3.0, seed=1)
    codes = release.partition("balanced").codes
    half = np.arange(n) < n // 2
    assert np.array_equal(codes == 0, half) or np.array_equal(codes == 1, half)


@pytest.mark.thorough
def test_a_sparse_release_is_partitioned_in_its_synthetic_graph():
    graph = gc.datasets.load("us-flights", weighted=False)
    release = gc.release_graph(graph, epsilon=3.0, seed=2, mechanism="sparse")
    for kind, kind_options in KINDS_AND_OPTIONS:
        partition = release.partition(kind, **kind_options)
        assert partition.value == pytest.approx(true_value(partition, release.graph))
        low, high = partition.interval
        assert low <= true_value(partition, graph) <= high
        optimum_low, optimum_high = partition.optimum
        if KINDS[kind].largest:
            assert optimum_low >= 0
        else:
            assert optimum_high == high


@pytest.fixture(scope="module")
def karate_release():
    return gc.release_graph(GRAPHS["karate"], epsilon=2.0, seed=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_partition_is_the_same_after_saving_and_loading(karate_release, tmp_path, kind):
    partition = karate_release.partition(kind, confidence=0.9)
    path = tmp_path / f"{kind}.csv"
    files = partition.save(path)
    loaded = gc.load(path)
    assert isinstance(loaded, Partition)
    for field in fields(partition):
        value = getattr(partition, field.name)
        assert np.array_equal(getattr(loaded, field.name), value), field.name
    assert loaded.parts == partition.parts
    assert str(loaded) == str(partition)
    assert "seeded: not private" in str(loaded)
    header, *rows = path.read_text().splitlines()
    assert header == "vertex,part,mark"
    assert len(rows) == 34
    receipt = json.loads((tmp_path / f"{kind}.csv.json").read_text())
    assert receipt["measure"] == partition.measure
    assert receipt["partition"]["shortfall"] == partition.shortfall
    assert len(files) == 3


def test_a_saved_partition_is_not_replaced_and_a_changed_one_is_refused(karate_release, tmp_path):
    partition = karate_release.partition("max-cut")
    path = tmp_path / "parts.csv"
    partition.save(path)
    with pytest.raises(FileFormatError, match="exists"):
        partition.save(path)
    path.write_text(path.read_text().replace("vertex", "node"))
    with pytest.raises(FileFormatError, match="not the file that the receipt names"):
        gc.load(path)
    with pytest.raises(FileFormatError, match=r"must end in .csv: parts are a table"):
        partition.save(tmp_path / "parts.txt")


def test_parts_are_sorted_by_size_and_numbered_from_one(karate_release):
    partition = karate_release.partition("clusters")
    sizes = [len(part) for part in partition.parts]
    assert sizes == sorted(sizes, reverse=True)
    assert sorted(label for part in partition.parts for label in part) == list(range(34))
    assert partition.groups.sizes().tolist() == sizes
    assert partition.part_of(partition.parts[1][0]) == 2
    frame = partition.to_frame("pandas")
    assert frame["part"].tolist() == (partition.codes + 1).tolist()


def test_a_partition_is_shown_with_its_measure_and_that_it_was_chosen_from_noisy_data(
    karate_release,
):
    partition = karate_release.partition("clusters")
    html = partition._repr_html_()
    assert "weight within parts, less the resolution for each pair" in html
    assert "although the partition was chosen after looking" in html
    parts = len(partition.parts)
    assert repr(partition) == (
        f"Partition('clusters', {parts} parts of 34 vertices, seeded: not private)"
    )


def test_the_default_resolution_of_clusters_is_the_mean_weight(karate_release):
    partition = karate_release.partition("clusters")
    mean_weight = partitions.mean_weight(karate_release.expected.adjacency)
    assert partition.options.resolution == pytest.approx(mean_weight)


def test_a_partition_of_pure_noise_is_shown_as_uninformative():
    release = gc.release_graph(GRAPHS["empty"], epsilon=0.8, seed=1)
    partition = release.partition("max-cut")
    assert partition.is_uninformative
    assert "Noise hides it" in partition._repr_html_()


@pytest.fixture(scope="module")
def large_release():
    """Return a release of 300 vertices, more than a picture has rows."""
    return gc.release_graph(two_planted_halves(300, 0.3, 0.02, 2), epsilon=3.0, seed=1)


@pytest.mark.thorough
def test_the_picture_of_a_partition_has_the_weights_between_bins_of_its_parts(large_release):
    partition = large_release.partition("balanced", parts=3)
    figure = partition.plot()
    figure.draw_without_rendering()
    axes, colour_bar = figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "2", "3"]
    assert len(axes.lines) == 4  # two borders between parts, on both axes
    assert colour_bar.get_ylabel() == "noisy number of edges"
    assert axes.get_title(loc="left").startswith("balanced")
    assert partition.bins.tolist() == [73, 73, 74]
    weights = large_release.expected.adjacency.toarray()
    assert partition.picture.sum() == pytest.approx(weights.sum())
    rows_by_part = np.split(partition.picture, np.cumsum(partition.bins)[:-1])
    for part, rows in enumerate(rows_by_part):
        weight_of_part = weights[partition.codes == part].sum()
        # A bin at a border has vertices of two parts.
        assert rows.sum() == pytest.approx(weight_of_part, rel=0.03)


@pytest.mark.thorough
def test_the_picture_of_clusters_of_one_vertex_has_them_together_as_others(large_release):
    partition = large_release.partition("clusters", resolution=1.0)
    assert (len(partition.names), partition.bins.tolist()) == (300, [220])
    assert [tick.get_text() for tick in partition.plot().axes[0].get_xticklabels()] == ["others"]
    weights = large_release.expected.adjacency.toarray()
    assert partition.picture.sum() == pytest.approx(weights.sum())


@pytest.mark.thorough
def test_the_map_of_a_partition_has_the_vertices_with_a_position(large_release):
    partition = large_release.partition("balanced", parts=3)
    positions = {label: (float(label % 20), label / 20) for label in range(200)}
    (axes, *_) = partition.plot(positions, title="Somewhere").axes
    assert sum(len(points.get_offsets()) for points in axes.collections) == 200
    assert axes.get_title(loc="left") == "Somewhere"
    with pytest.raises(GraphError, match="no vertex has a position"):
        partition.plot({"elsewhere": (0.0, 0.0)})


@pytest.mark.parametrize(
    ("shape", "directed"),
    [pytest.param((6, 7), False, id="bipartite"), pytest.param(9, True, id="directed")],
)
def test_a_partition_of_a_bipartite_or_directed_graph_is_refused(shape, directed):
    release = gc.release_graph(random_graph(shape, 1, directed=directed), epsilon=1.0, seed=1)
    with pytest.raises(GraphError, match="one set of vertices; this release has two sides"):
        release.partition("max-cut")


def test_an_unknown_kind_and_a_confidence_of_zero_are_refused(karate_release):
    with pytest.raises(ParameterError, match="unknown kind"):
        karate_release.partition("min-cut")
    with pytest.raises(ParameterError, match="confidence"):
        karate_release.partition("max-cut", confidence=0.0)
