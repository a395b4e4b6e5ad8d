"""Speed of the samplers, beside OpenDP's exact one if it is installed, and of one cut query.

Run `python tests/benchmarks/bench_noise_and_queries.py [--quick]`. Medians of five.
"""

import importlib.util
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.privacy.entropy import SystemEntropy
from graphcuts_dp.privacy.noises import NOISES, noise_distribution


def median_seconds(action: Callable[[], object], repeats: int) -> float:
    """Median time of an action, after one run to warm up."""
    action()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def opendp_samples_per_second(count: int, repeats: int) -> float:
    """OpenDP's discrete Laplace mechanism on a vector of zeros, scale 1."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    mechanism = dp.m.make_laplace(*space, scale=1.0)
    zeros = [0] * count
    return count / median_seconds(lambda: mechanism(zeros), repeats)


def main(quick: bool) -> None:
    """Print both tables."""
    repeats = 3 if quick else 5
    count = 10**6 if quick else 10**7
    nothing = np.empty(0), np.empty(0, dtype=np.int64)
    peer = None
    if importlib.util.find_spec("opendp") is not None:
        peer = opendp_samples_per_second(count // 50, repeats)
        print(f"{'OpenDP discrete Laplace, scale 1':<34} {peer / 1e6:>8.2f} M samples/s")
    for name in NOISES:
        for epsilon in (0.1, 1.0, 5.0):
            distribution = noise_distribution(name, epsilon=epsilon)
            draw = median_seconds(
                lambda distribution=distribution: distribution.respond(
                    count, *nothing, SystemEntropy()
                ),
                repeats,
            )
            speed = count / draw
            ratio = "" if peer is None else f"  {speed / peer:>6.0f} x OpenDP"
            target = "  target >= 10" if epsilon == 1 else ""
            row = f"{name + f', epsilon = {epsilon:g}':<34} {speed / 1e6:>8.2f} M samples/s"
            print(row + ratio + target)

    rng = np.random.default_rng(0)
    n, m = 100_000, 1_000_000
    graph = gc.Graph(rng.integers(0, n, m), rng.integers(0, n, m), vertices=n)
    query = gc.CutQuery(rng.random(n) < 0.5, rng.random(n) < 0.5)
    milliseconds = 1e3 * median_seconds(lambda: query.value(graph), 20)
    print(f"\none cut query, 10^6 edges: {milliseconds:.1f} ms  target <= 20")


if __name__ == "__main__":
    main("--quick" in sys.argv)
