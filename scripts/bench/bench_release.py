"""Accuracy and time of a release: worst cut error after the fit over that of its own noise.

Run `python scripts/bench/bench_release.py [--quick]`. Medians of five seeds. The ratio is a
proven upper bound after the fit over a proven lower bound before it, so it is too large by what
the certificates leave open. The last table has releases with time limits beside those without, and
the certificate's share.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.privacy.value_noise import NOISES
from scripts.figures.random_graphs import planted_partition

TARGETS = {"maximum-entropy": 0.6, "first-order": 0.9}
SECONDS = {300: 20.0, 2000: 30.0, 10_000: 360.0}


class Accuracy(NamedTuple):
    """One line of the table of accuracies."""

    n: int
    noise: str
    fit: str
    before: float
    after: float
    ratio: float
    communities: float


def accuracy(n: int, noise: str, fit: str, seeds: int) -> Accuracy:
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
    return Accuracy(
        n, noise, fit, median(before) / scale, median(after) / scale, median(ratios),
        median(communities),
    )  # fmt: skip


def timed(action: Callable[[], object]) -> float:
    """Seconds of one run."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def print_limited(n: int) -> None:
    """What time limits do, as parts of a release without one, in one run."""
    graph = planted_partition(n, 4, 0.2, 0.02, seed=0)
    print(f"\ntime limits, n = {n}, epsilon = 1: seconds, over those of a release without limit;\n"
          "beyond the limit, over a release whose time is over at once; the certificate's share\n"
          f"{'fit':<16} {'limit':>8} {'seconds':>8} {'share':>6} {'beyond':>7}"
          f" {'certificate':>12}")  # fmt: skip
    for fit in ("maximum-entropy", "first-order"):
        release = partial(gc.release_graph, graph, epsilon=1.0, fit=fit, seed=0)
        shortest = timed(partial(release, time_limit=1e-9))
        made: list[gc.Release] = []
        whole = timed(lambda release=release, made=made: made.append(release()))
        x, z = made[0].graph.dense(), made[0].noisy.estimate()
        share = timed(partial(gc.cut_norm, x - z)) / whole
        for limit in (1e-9, whole / 4, whole / 2, None):
            seconds = timed(partial(release, time_limit=limit))
            beyond = "" if limit is None else f"{(seconds - limit) / shortest:.2f}"
            print(f"{fit:<16} {'none' if limit is None else f'{limit:.2f}':>8} {seconds:>8.2f} "
                  f"{seconds / whole:>6.2f} {beyond:>7} {share:>12.2f}", flush=True)  # fmt: skip


def main(quick: bool) -> None:
    """Print all tables."""
    seeds = 2 if quick else 5
    print("worst cut error over n^1.5: noise (lower bound) and fit (upper bound); epsilon = 1")
    names = f"{'before':>7} {'after':>7} {'ratio':>6} {'target':>7} {'communities':>12}"
    print(f"{'n':>5} {'noise':<17} {'fit':<16} {names}")
    for n in (400,) if quick else (400, 1000):
        for noise in NOISES:
            for fit in ("maximum-entropy", "first-order", "spectral"):
                row = accuracy(n, noise, fit, seeds)
                target = f"<= {TARGETS[fit]}" if fit in TARGETS else ""
                print(f"{row.n:>5} {row.noise:<17} {row.fit:<16} {row.before:>7.3f} "
                      f"{row.after:>7.3f} {row.ratio:>6.3f} {target:>7} {row.communities:>12.1f}",
                      flush=True)  # fmt: skip
    print("\nseconds for one release, default options, epsilon = 1")
    for n, limit in SECONDS.items():
        if quick and n > 2000:
            continue
        graph = planted_partition(n, 4, 0.2, 0.02, seed=0)
        for noise in NOISES if n <= 2000 else NOISES[:1]:
            times = []
            for _ in range(1 if quick or n > 2000 else 5):
                started = time.perf_counter()
                gc.release_graph(graph, epsilon=1.0, noise=noise)
                times.append(time.perf_counter() - started)
            print(f"{n:>5} {noise:<17} {statistics.median(times):>7.2f}  target < {limit:.0f}",
                  flush=True)  # fmt: skip
    print_limited(1000 if quick else 2000)


if __name__ == "__main__":
    main("--quick" in sys.argv)
