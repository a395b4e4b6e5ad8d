"""Errors of flows beside other ways to the same numbers, at epsilon = 1, on a hierarchy of groups.

Run `python tests/benchmarks/bench_flows.py [--quick]`. Root mean squared errors over all cells of
each level, over 40 unions of ten random tracts with ten others, and over 40 random halves; means of
a few draws. A made graph of 4 states, 20 counties and 100 tracts of 20 vertices, denser within.

- each query: Gaussian noise on every cell, union and half, none known to be disjoint (a session).
- finest table: Gaussian noise once on the finest cells, the rest added up; (1, 1e-6). The Social
  Connectedness Index averages ten noisy tables of subsamples: at the same epsilon its noise is this
  one's, to which the error of subsampling comes, not counted here.
- response: the noisy matrix (binary), errors from its deviation. Chung-Lu: noisy degrees alone.
"""

import math
import sys

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.evaluation.baselines import noisy_degrees_chung_lu
from graphcuts_dp.privacy.calibration import discrete_gaussian_scale, gaussian_scale
from graphcuts_dp.privacy.noises import noise_distribution

DELTA = 1e-6
TRACTS, SIZE = 100, 20
DENSITIES = (0.3, 0.08, 0.02, 0.004)  # within a tract, a county, a state, between states


def hierarchy(seed: int) -> tuple[gc.Graph, gc.Groups]:
    """The graph and its groups."""
    n = TRACTS * SIZE
    tract = np.arange(n) // SIZE
    county, state = tract // 5, tract // 25
    chance = np.full((n, n), DENSITIES[3])
    for codes, density in zip((state, county, tract), DENSITIES[2::-1], strict=True):
        chance[codes[:, None] == codes] = density
    rng = np.random.default_rng(seed)
    ends = np.nonzero(np.triu(rng.random((n, n)) < chance, 1))
    graph = gc.Graph(*ends, vertices=n)
    return graph, gc.Groups(graph.vertices, {"state": state, "county": county, "tract": tract})


def targets(rng: np.random.Generator, cells: gc.Flows) -> dict[str, np.ndarray]:
    """Coefficients of the finest cells, by kind of query, one row a query."""
    tree = cells.cells
    a, b = tree.cells(3)
    found = {}
    for place, name in ((3, "tract"), (2, "county"), (1, "state")):
        up = np.arange(tree.size(3))
        for at in range(3, place, -1):
            up = tree.parents(at)[up]
        found[name] = (np.arange(tree.size(place))[:, None] == up).astype(float)
    for name, many in (("unions", 10), ("halves", TRACTS // 2)):
        rows = []
        for _ in range(40):
            order = rng.permutation(TRACTS)
            S, T = (
                np.isin(np.arange(TRACTS), order[:many]),
                np.isin(np.arange(TRACTS), order[many : 2 * many]),
            )
            rows.append((S[a] & T[b]) | (S[b] & T[a]))
        found[name] = np.array(rows, dtype=float)
    return found


def main(quick: bool) -> None:
    """Print the table."""
    rows: dict[str, dict[str, list[float]]] = {}
    for seed in range(2 if quick else 5):
        rng = np.random.default_rng(seed)
        graph, groups = hierarchy(seed)
        made = {
            f"flows, {work}": gc.release_flows(graph, groups, epsilon=1.0, workload=work, seed=seed)
            for work in ("all cells", "tract", "county")
        }
        exact = gc.release_flows(graph, groups, epsilon=50.0, workload="tract", seed=seed)
        tree, truth = exact.cells, np.rint(exact.estimates[3])
        wanted = targets(rng, exact)
        queries = sum(len(each) for each in wanted.values())
        estimates = {name: flows.estimates[3] for name, flows in made.items()}
        deviation = gaussian_scale(epsilon=1.0, delta=DELTA)
        estimates["finest table"] = truth + rng.normal(size=len(truth)) * deviation
        degrees = noisy_degrees_chung_lu(graph, epsilon=1.0, seed=seed).matrix
        blocks = degrees.reshape(TRACTS, SIZE, TRACTS, SIZE).sum(axis=(1, 3))
        a, b = tree.cells(3)
        estimates["Chung-Lu"] = blocks[a, b] / np.where(a == b, 2, 1)
        per_query = discrete_gaussian_scale(epsilon=1.0, delta=DELTA, queries=queries)
        entry = noise_distribution("binary", epsilon=1.0).standard_deviation
        for kind, coefficients in wanted.items():
            for name, values in estimates.items():
                error = coefficients @ (values - truth)
                rows.setdefault(name, {}).setdefault(kind, []).append(math.sqrt((error**2).mean()))
            pairs = float((coefficients @ tree.pairs(3)).mean())
            rows.setdefault("response", {}).setdefault(kind, []).append(entry * math.sqrt(pairs))
            rows.setdefault("each query", {}).setdefault(kind, []).append(per_query)
    kinds = ("tract", "county", "state", "unions", "halves")
    print(f"{'':>18}" + "".join(f"{kind:>10}" for kind in kinds))
    for name, found in rows.items():
        print(f"{name:>18}" + "".join(f"{np.mean(found[kind]):>10,.1f}" for kind in kinds))


if __name__ == "__main__":
    main("--quick" in sys.argv)
