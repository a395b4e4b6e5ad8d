"""Compare errors of flows with other ways to the same numbers, on a hierarchy of groups.

Run `python -m scripts.bench.bench_flows [--quick]`. Root mean squared errors over all cells of each
level, over 40 unions of ten random tracts with ten others, and over 40 random halves; means of a
few draws. A simulated graph of 4 states, 20 counties and 100 tracts of 20 vertices, denser within.

- each query: Gaussian noise on every cell, union and half, none known to be disjoint (a session).
- Laplace each: Laplace noise on every cell, union and half, epsilon split evenly between them.
- finest table: Gaussian noise once on the finest cells, the rest added up; (1, 1e-6).
- SCI: the Social Connectedness Index averages ten tables of subsamples, each with Gaussian noise.
  At the same epsilon its noise is taken for that of one finest table, as if the privacy that
  subsampling adds paid for the factor that it costs; to this comes the error of ten halves.
- response: the noisy matrix (binary), errors from its deviation. Chung-Lu: noisy degrees alone.
"""

import math
import resource
import time
from collections import defaultdict

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.privacy.noise_scales import discrete_gaussian_scale, gaussian_scale
from scripts.bench.harness import Table, run
from scripts.benchmark.baselines import noisy_degrees_chung_lu

DELTA = 1e-6
TRACTS, SIZE = 100, 20
DENSITIES = (0.3, 0.08, 0.02, 0.004)  # within a tract, a county, a state, between states


def hierarchy(seed: int) -> tuple[gc.Graph, gc.Groups]:
    """Return the graph and its groups."""
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
    """Return coefficients of the finest cells, by kind of query, one row a query."""
    tree = cells.cells
    a, b = tree.cells(3)
    coefficients_of = {}
    for level_index, name in ((3, "tract"), (2, "county"), (1, "state")):
        up = np.arange(tree.size(3))
        for at in range(3, level_index, -1):
            up = tree.parents(at)[up]
        coefficients_of[name] = (np.arange(tree.size(level_index))[:, None] == up).astype(float)
    for name, many in (("unions", 10), ("halves", TRACTS // 2)):
        rows = []
        for _ in range(40):
            order = rng.permutation(TRACTS)
            S, T = (
                np.isin(np.arange(TRACTS), group) for group in (order[:many], order[many:][:many])
            )
            rows.append((S[a] & T[b]) | (S[b] & T[a]))
        coefficients_of[name] = np.array(rows, dtype=float)
    return coefficients_of


def main(quick: bool) -> None:
    """Print the table."""
    rows: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for seed in range(2 if quick else 5):
        rng = np.random.default_rng(seed)
        graph, groups = hierarchy(seed)
        releases = {
            f"flows, {work}": gc.release_flows(graph, groups, epsilon=1.0, workload=work, seed=seed)
            for work in ("all cells", "all levels", "tract", "county")
        }
        releases["flows, delta"] = gc.release_flows(
            graph, groups, epsilon=1.0, delta=DELTA, workload="all cells", seed=seed
        )
        exact = gc.release_flows(graph, groups, epsilon=50.0, workload="tract", seed=seed)
        tree, truth = exact.cells, np.rint(exact.estimates[3])
        targets_of_kind = targets(rng, exact)
        queries = sum(len(targets) for targets in targets_of_kind.values())
        estimates = {name: flows.estimates[3] for name, flows in releases.items()}
        deviation = gaussian_scale(epsilon=1.0, delta=DELTA)
        estimates["finest table"] = truth + rng.normal(size=len(truth)) * deviation
        halves = rng.binomial(10 * truth.astype(np.int64), 0.5) / 5
        estimates["SCI"] = halves + rng.normal(size=len(truth)) * deviation
        degrees = noisy_degrees_chung_lu(graph, epsilon=1.0, seed=seed).matrix
        blocks = degrees.reshape(TRACTS, SIZE, TRACTS, SIZE).sum(axis=(1, 3))
        a, b = tree.cells(3)
        estimates["Chung-Lu"] = blocks[a, b] / np.where(a == b, 2, 1)
        per_query = discrete_gaussian_scale(epsilon=1.0, delta=DELTA, queries=queries)
        entry = noise_distribution("binary", epsilon=1.0).standard_deviation
        for kind, coefficients in targets_of_kind.items():
            for name, values in estimates.items():
                error = coefficients @ (values - truth)
                rows[name][kind].append(math.sqrt((error**2).mean()))
            pairs = float((coefficients @ tree.pairs(3)).mean())
            rows["response"][kind].append(entry * math.sqrt(pairs))
            rows["each query"][kind].append(per_query)
            rows["Laplace each"][kind].append(math.sqrt(2) * queries)
    kinds = ("tract", "county", "state", "unions", "halves")
    table = Table(":>18 " + " ".join(f"{kind}:>10,.1f" for kind in kinds))
    for name, errors_of in rows.items():
        table.row(name, *(np.mean(errors_of[kind]) for kind in kinds))
    for kind in ("tract", "county"):
        ours = {
            name: np.mean(errors_of[kind]) for name, errors_of in rows.items() if "flows" in name
        }
        best_other = min(
            np.mean(errors_of[kind]) for name, errors_of in rows.items() if name not in ours
        )
        ratios = ", ".join(f"{name[7:]} {error / best_other:.2f}" for name, error in ours.items())
        print(f"{kind}: ours over the best other way: {ratios} (target: 0.33)")
    if not quick:
        large()


def large() -> None:
    """Time and memory of a million vertices, ten million edges, a thousand groups."""
    rng = np.random.default_rng(0)
    n = 10**6
    graph = gc.Graph(*rng.integers(0, n, size=(2, 10**7)), vertices=n)
    codes = np.arange(n) // 1000
    levels = {"state": codes // 100, "county": codes // 10, "tract": codes}
    groups = gc.Groups(graph.vertices, levels)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for work in ("all cells", "tract"):
        started = time.perf_counter(), time.process_time()
        flows = gc.release_flows(graph, groups, epsilon=1.0, workload=work, seed=0)
        cell = flows.between(0, 1).deviation
        print(f"n = 1e6, m = 1e7, 1,000 groups, {work}: {told(started)}, cell {cell:.2f}")
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
    print(f"{more:.2f} GiB above the peak of making the graph (targets: 10 s, 2 GB)")
    for statistic in (
        flows.share_inside,
        lambda: f"chance of ten in order {flows.top_flows(10).order_chance:.3f}",
        flows.modularity,
    ):
        started = time.perf_counter(), time.process_time()
        print(f"{statistic()}: {told(started)}")


def told(started: tuple[float, float]) -> str:
    """Return the seconds since a moment: on the clock, and of a processor."""
    wall, used = time.perf_counter() - started[0], time.process_time() - started[1]
    return f"{wall:.1f} s ({used:.1f} s of CPU)"


if __name__ == "__main__":
    run(main, __doc__)
