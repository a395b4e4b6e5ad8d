"""Synthetic graphs that are held to measured sums between public groups."""

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import NoisyDegrees, NoisyGroups
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.release.allocation import measure
from graphcuts_dp.release.group_shares import group_plan
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.credible_sums import credible_sums
from graphcuts_dp.synth.group_targets import CellEstimates, _shrunk

SIZES = (30, 20, 25, 15)
LABELS = np.repeat(np.arange(4), SIZES)


def made(kind, seed=0):
    """A graph whose blocks differ, and groups that are these blocks."""
    random = np.random.default_rng(seed)
    chances = np.array([[0.5, 0.1, 0.02, 0.3], [0.1, 0.2, 0.4, 0.05], [0.02, 0.4, 0.3, 0.1],
                        [0.3, 0.05, 0.1, 0.6]])  # fmt: skip
    if kind == "two sides":
        columns = LABELS[::2]
        rows, ends = np.nonzero(random.random((90, 45)) < chances[LABELS][:, columns])
        graph = gc.BipartiteGraph(rows, ends, left=90, right=45)
        sides = (graph.left, LABELS), (graph.right, columns)
        return graph, tuple(Groups(each, {"g": own.tolist()}) for each, own in sides)
    rows, ends = np.nonzero(np.triu(random.random((90, 90)) < chances[LABELS][:, LABELS], 1))
    weights = None if kind == "graph" else np.full(len(rows), 1.5)
    cap = None if kind == "graph" else 2.0
    graph = gc.Graph(rows, ends, weights, vertices=90, weight_cap=cap)
    return graph, Groups(graph.vertices, {"g": LABELS.tolist()})


def bought(kind, how, epsilon=8.0):
    graph, groups = made(kind)
    noise = "laplace" if kind == "weights" else "binary"
    found = measure(
        graph,
        epsilon=epsilon,
        noise=noise,
        source=SeededEntropy(5),
        groups=group_plan(graph, groups),
        response=gc.Response(how),
    )
    noisy = found.values[-1]
    cap = noisy.distribution.weight_cap
    degrees, looks = found.find(NoisyDegrees), found.all_of(NoisyGroups)
    return (
        graph,
        noisy,
        FitProblem(noisy.blocks, cap, () if degrees is None else (degrees,), None, looks),
    )


@pytest.mark.parametrize("kind", ["graph", "weights", "two sides"])
@pytest.mark.parametrize("how", ["response", "degrees+response"])
def test_degrees_and_sums_between_groups_agree_and_are_near_the_truth(kind, how):
    graph, noisy, problem = bought(kind, how)
    sums = credible_sums(problem, noisy.distribution)
    cells = CellEstimates.of(problem.groups)
    left, right = cells.indicators
    lengths = [np.sqrt(each.sum(axis=0)) for each in (left, right)]
    count = cells.shape
    wanted = sums.groups[: count[0], : count[1]] * np.outer(*lengths)
    # The frame begins with the groups, and degrees have the volumes of the groups as their sums.
    assert np.allclose(sums.left[:, : count[0]] * lengths[0], left)
    assert np.allclose(wanted.sum(axis=1), left.T @ sums.rows)
    assert np.allclose(wanted.sum(axis=0), right.T @ sums.columns)
    assert (sums.slack[: count[0], : count[1]] < sums.slack.max()).all()
    truth = left.T @ graph.dense() @ right
    spread = 2 * np.sqrt(cells.variances.max())
    assert np.abs(wanted - truth).max() <= 6 * spread


@pytest.mark.parametrize("kind", ["graph", "weights", "two sides"])
def test_the_synthetic_graph_has_the_sums(kind):
    graph, groups = made(kind)
    noise = "laplace" if kind == "weights" else "binary"
    release = gc.release_graph(graph, epsilon=2.0, noise=noise, groups=groups, seed=2)
    plain = gc.release_graph(graph, epsilon=2.0, noise=noise, seed=2)
    cells = CellEstimates.of(release.measurements.all_of(NoisyGroups))
    left, right = cells.indicators
    errors = [
        np.abs(left.T @ (each.graph.dense() - graph.dense()) @ right).mean()
        for each in (release, plain)
    ]
    assert errors[0] <= 6 * np.sqrt(cells.variances.max())
    assert errors[0] < errors[1]


def test_generalised_least_squares_of_cells_sums_of_entries_and_degrees():
    """Against the dense formula, with the variances that were promised."""
    for kind in ("graph", "two sides"):
        _, _, problem = bought(kind, "degrees+response")
        cells = CellEstimates.of(problem.groups)
        random = np.random.default_rng(1)
        seen = random.normal(size=len(cells.values)) * 50
        volumes = tuple(random.normal(size=count) * 50 for count in cells.shape)
        spreads = tuple(random.random(count) + 1 for count in cells.shape)
        both = cells.with_entries(seen, 0.9).with_volumes(volumes, spreads)
        ends = np.zeros((sum(cells.shape), len(cells.a)))
        for cell, (a, b) in enumerate(zip(cells.a, cells.b, strict=True)):
            ends[a, cell] += 1
            ends[b if cells.symmetric else cells.shape[0] + b, cell] += 1
        if cells.symmetric:
            ends, volumes, spreads = ends[: cells.shape[0]], volumes[:1], spreads[:1]
        patterns = np.vstack([np.eye(len(seen)), np.eye(len(seen)), ends])
        values = np.concatenate([cells.values, seen, *volumes])
        variances = np.concatenate([cells.variances, 0.9 * cells.pairs, *spreads])
        inverse = np.linalg.inv(patterns.T @ (patterns / variances[:, None]))
        assert np.allclose(both.values, inverse @ patterns.T @ (values / variances))
        assert np.allclose(both.variances, np.diag(inverse))


def test_what_noise_explains_is_drawn_to_what_degrees_expect():
    random = np.random.default_rng(8)
    expected = random.random(300) * 50 + 20
    variances = np.full(300, 900.0)
    noise = random.normal(size=300) * 30
    quiet = _shrunk(expected + noise, expected, variances, cap=1.0)
    assert np.abs(quiet - expected).mean() < 0.15 * np.abs(noise).mean()
    structure = expected * (1 + 3 * random.normal(size=300))
    loud = _shrunk(structure + noise, expected, variances, cap=1.0)
    assert np.abs(loud - structure).mean() < 1.05 * np.abs(noise).mean()
