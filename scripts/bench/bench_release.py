"""Accuracy and time of a release: worst cut error after the fit over that of its own noise.

Run `python -m scripts.bench.bench_release [--quick]`. Medians of five seeds. The ratio is a
proven upper bound after the fit over a proven lower bound before it, so it is too large by what
the certificates leave open. The last table has releases with time limits beside those without, and
the certificate's share.
"""

import statistics
from functools import partial

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.estimate.noisy_matrix import NOISES
from scripts.bench.harness import Table, median_seconds, run, timed
from scripts.figures.random_graphs import planted_partition

TARGETS = {"maximum-entropy": 0.6, "first-order": 0.9}
SECONDS = {300: 20.0, 2000: 30.0, 10_000: 360.0}


def accuracy(n: int, noise: str, fit: str, seeds: int) -> tuple[float, ...]:
    """Medians over seeds, each error divided by n^1.5."""
    before, after, ratios, communities = [], [], [], []
    members = [list(range(n * k // 4, n * (k + 1) // 4)) for k in range(4)]
    queries = [gc.CutQuery(members[i], members[j]) for i in range(4) for j in range(i)]
    for seed in range(seeds):
        graph = planted_partition(n, 4, 0.2, 0.02, seed=seed)
        release = gc.release_graph(graph, epsilon=1.0, noise=noise, fit=fit, seed=1000 + seed)
        truth, z = graph.dense(), release.noisy.estimate()
        x = release.graph.dense()
        raw = gc.cut_norm(z - truth)
        fitted = gc.cut_norm(x - truth)
        before.append(raw.lower)
        after.append(fitted.upper)
        ratios.append(fitted.upper / raw.lower)
        true = gc.answer_all(queries, graph)
        raw_error = np.abs(gc.answer_all(queries, z) - true).mean()
        communities.append(np.abs(gc.answer_all(queries, x) - true).mean() / raw_error)
    median = statistics.median
    scale = n**1.5
    return median(before) / scale, median(after) / scale, median(ratios), median(communities)


def print_limited(n: int) -> None:
    """What time limits do, as parts of a release without one, in one run."""
    graph = planted_partition(n, 4, 0.2, 0.02, seed=0)
    table = Table(
        "fit:<16 limit:>9.2f seconds:>9.2f share:>7.2f beyond:>8.2f certificate:>13.2f",
        f"\ntime limits, n = {n}, epsilon = 1: seconds, over those of a release without limit;\n"
        "beyond the limit, over a release whose time is over at once; the certificate's share",
    )
    for fit in ("maximum-entropy", "first-order"):
        release = partial(gc.release_graph, graph, epsilon=1.0, fit=fit, seed=0)
        shortest, _ = timed(partial(release, time_limit=1e-9))
        whole, made = timed(release)
        x, z = made.graph.dense(), made.noisy.estimate()
        share = timed(partial(gc.cut_norm, x - z))[0] / whole
        for limit in (1e-9, whole / 4, whole / 2, None):
            seconds, _ = timed(partial(release, time_limit=limit))
            beyond = None if limit is None else (seconds - limit) / shortest
            shown = "none" if limit is None else limit
            table.row(fit, shown, seconds, seconds / whole, beyond, share)


def main(quick: bool) -> None:
    """Print all tables."""
    seeds = 2 if quick else 5
    table = Table(
        "n:>5 _noise:<19 fit:<16 before:>8.3f after:>8.3f ratio:>7.3f communities:>13.1f target:>8",
        "worst cut error over n^1.5: noise (lower bound) and fit (upper bound); epsilon = 1",
    )
    for n in (400,) if quick else (400, 1000):
        for noise in NOISES:
            for fit in ("maximum-entropy", "first-order", "spectral"):
                target = f"<= {TARGETS[fit]}" if fit in TARGETS else ""
                table.row(n, f" {noise}", fit, *accuracy(n, noise, fit, seeds), target)
    print("\nseconds for one release, default options, epsilon = 1")
    for n, limit in SECONDS.items():
        if quick and n > 2000:
            continue
        graph = planted_partition(n, 4, 0.2, 0.02, seed=0)
        for noise in NOISES if n <= 2000 else NOISES[:1]:
            release = partial(gc.release_graph, graph, epsilon=1.0, noise=noise)
            seconds = median_seconds(release, 1 if quick or n > 2000 else 5, warm=False)
            print(f"{n:>5} {noise:<17} {seconds:>7.2f}  target < {limit:.0f}", flush=True)
    print_limited(1000 if quick else 2000)


if __name__ == "__main__":
    run(main, __doc__)
