"""Graphs with groups, their true tables, and many quick releases of them."""

import dataclasses

import networkx as nx
import numpy as np
from flow_cases import fast_noise

from graphcuts_dp import Flows, Graph, Groups, release_flows

EXACT = 50.0  # epsilon at which a cell of one level has noise with a chance of 2 e^-50


def planted(n=60, parts=3, inside=0.3, outside=0.08, seed=0):
    """A graph with uneven groups of consecutive vertices, as networkx and as ours, and groups."""
    rng = np.random.default_rng(seed)
    codes = np.sort(rng.integers(0, parts, size=n) * rng.integers(0, 2, size=n))
    codes[-parts:] = np.arange(parts)
    codes = np.sort(codes)
    a, b = np.triu_indices(n, 1)
    kept = rng.random(len(a)) < np.where(codes[a] == codes[b], inside, outside)
    graph = Graph(a[kept], b[kept], vertices=n)
    same = nx.Graph()
    same.add_nodes_from((v, {"part": int(codes[v])}) for v in range(n))
    same.add_edges_from(zip(a[kept].tolist(), b[kept].tolist(), strict=True))
    levels = {"half": codes // 2, "part": codes}
    return graph, same, Groups(graph.vertices, levels), codes


def exact_flows(graph, groups):
    """Flows whose noise is 0 with a chance above 1 - 1e-8."""
    return release_flows(graph, groups, epsilon=EXACT, seed=0)


def many_flows(graph, groups, *, epsilon, count, delta=0.0, seed=0, told=1.0):
    """Quick releases of one graph, with noise of the same law from a fast generator.

    With `told` above 1 the noise is stated to be that much less than it is: an incorrect variant.
    """
    model = release_flows(graph, groups, epsilon=epsilon, delta=delta, seed=0)
    truth = exact_flows(graph, groups).estimates
    noisy, rng = model.noisy, np.random.default_rng(seed)
    factor = told if noisy.noise.distribution == "laplace" else 1 / told**2
    stated = dataclasses.replace(
        noisy.noise,
        parameters=tuple(parameter * int(factor) if factor >= 1 else parameter / round(1 / factor)
                         for parameter in noisy.noise.parameters),
    )  # fmt: skip
    for _ in range(count):
        sums = []
        for index, place in enumerate(noisy.map.measured_levels):
            drawn = fast_noise(rng, noisy.noise, index, noisy.map.tree.size(place))
            sums.append((np.rint(truth[place]) + drawn).astype(np.int64))
        found = Flows(
            noisy=dataclasses.replace(noisy, steps=tuple(sums), noise=stated),
            strategy=model.strategy,
            guarantee=model.guarantee,
        )
        if told == 1:
            found.__dict__["fit"] = model.fit  # the same for all: it depends on sizes alone
        yield found
