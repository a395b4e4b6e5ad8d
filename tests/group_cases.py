"""Small graphs with public groups, and what a release with them measured, number by number."""

import itertools

import numpy as np
from release_cases import measured

import graphcuts_dp as gc
from graphcuts_dp import Groups, Release
from graphcuts_dp.estimate.usable_sums import UsableMeasurements
from graphcuts_dp.plugins import SeededEntropy


def cliques(sizes=(4, 3, 5), cap=None):
    """A complete graph within each group, nothing between, and its groups."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    rows, columns = np.nonzero(np.triu(labels[:, None] == labels, 1))
    given = None if cap is None else np.full(len(rows), cap)
    graph = gc.Graph(rows, columns, given, vertices=len(labels), max_weight=cap)
    return graph, Groups(graph.vertices, {"club": [f"c{label}" for label in labels]})


def directed(cap=None):
    """Arcs from each group to itself and the next one."""
    labels = np.repeat(np.arange(3), (3, 2, 3))
    rows, columns = np.nonzero((labels[None] - labels[:, None]) % 3 <= 1)
    given = None if cap is None else np.full(len(rows), cap)
    graph = gc.DirectedGraph(rows, columns, given, vertices=len(labels), max_weight=cap)
    return graph, Groups(graph.vertices, {"club": [f"c{label}" for label in labels]})


def two_sided(cap=None):
    """Likewise with two sides; groups of three left and two right ones."""
    left, right = np.repeat([0, 1, 2], [2, 3, 2]), np.repeat([0, 1], [3, 2])
    rows, columns = np.nonzero(left[:, None] % 2 == right)
    given = None if cap is None else np.full(len(rows), cap)
    graph = gc.BipartiteGraph(rows, columns, given, left=7, right=5, max_weight=cap)
    groups = (
        Groups(graph.left, {"kind": [f"l{g}" for g in left]}),
        Groups(graph.right, {"kind": [f"r{g}" for g in right]}),
    )
    return graph, groups


def drawn(graph, groups, how, *, noise="binary", epsilon=2.0, source=None):
    """A release without a synthetic graph; without groups, degrees get a share that they feel."""
    share = 0.4 if groups is None and how != "randomized-response" else None
    source = source or SeededEntropy(1)
    options = {"epsilon": epsilon, "noise": noise, "share": share, "groups": groups}
    return Release(measurements=measured(graph, how, source=source, **options))


def observations(release):
    """Every number that was measured: its pattern over the pairs, its value, its variance."""
    z, noisy = release.noisy.estimate(), release.noisy
    rows, columns = noisy.shape
    if noisy.symmetric:
        pairs = np.array(list(itertools.combinations(range(rows), 2)))
    else:
        every = itertools.product(range(rows), range(columns))
        pairs = np.array([(i, j) for i, j in every if i != j or not noisy.directed])
    i, j = pairs.T
    found = [(np.eye(len(pairs)), z[i, j], noisy.distribution.standard_deviation**2)]
    usable = UsableMeasurements.of(release.measurements).for_values  # what answers are made of
    for degrees in [] if usable.degrees is None else [usable.degrees]:
        of_rows = np.arange(rows)[:, None] == i
        of_columns = np.arange(columns)[:, None] == j
        if noisy.symmetric:
            found.append((of_rows | of_columns, degrees.values[0], degrees.law.variance))
        else:
            found.append((of_rows, degrees.values[0], degrees.law.variance))
            found.append((of_columns, degrees.values[1], degrees.law.variance))
    for total in [] if usable.total is None else [usable.total]:
        twice = 2 if noisy.symmetric else 1
        variance = total.law.variance / twice**2
        found.append((np.ones((1, len(pairs))), total.values[0] / twice, variance))
    for each in [] if usable.groups is None else [usable.groups]:
        ends = np.array([side[k] for side, k in zip(each.map.members, (i, j), strict=True)])
        ends = np.sort(ends, axis=0) if noisy.symmetric else ends
        pattern = [(ends[0] == a) & (ends[1] == b) for a, b in zip(*each.map.ends, strict=True)]
        found.append((np.array(pattern), each.values[0], each.law.variance))
    patterns = np.vstack([np.asarray(pattern, dtype=float) for pattern, _, _ in found])
    values = np.concatenate([np.asarray(values) for _, values, _ in found])
    variances = np.concatenate([np.full(len(values), v) for _, values, v in found])
    return pairs, patterns, values, variances


def coefficients(pairs, S, T, *, symmetric):
    """Of a cut, for each pair."""
    i, j = pairs.T
    found = S[i] & T[j]
    return (found | (S[j] & T[i]) if symmetric else found).astype(float)
