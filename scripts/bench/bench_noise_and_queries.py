"""Time the samplers, beside OpenDP's exact ones if it is installed, and cut queries.

Run `python -m scripts.bench.bench_noise_and_queries [--quick]`. Medians of five.
"""

import importlib.util
from fractions import Fraction
from functools import partial

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.estimate.noises import NOISES, noise_distribution
from graphcuts_dp.privacy.entropy import SystemEntropy
from graphcuts_dp.privacy.noise import sample_discrete_gaussian
from scripts.bench.harness import median_seconds, run


def opendp_samples_per_second(kind: str, scale: float, count: int, repeats: int) -> float | None:
    """Return samples a second of OpenDP's mechanism on integer zeros; None if not installed."""
    if importlib.util.find_spec("opendp") is None:
        return None
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if kind == "laplace":
        mechanism = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)
    else:
        mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    zeros = [0] * count
    return count / median_seconds(lambda: mechanism(zeros), repeats)


def line(name: str, speed: float, peer: float | None, target: str) -> str:
    """Return the row of one sampler."""
    ratio = "" if peer is None else f"  {speed / peer:>6.0f} x OpenDP"
    return f"{name:<34} {speed / 1e6:>8.2f} M samples/s{ratio}{target}"


def print_gaussian(count: int, repeats: int) -> None:
    """Print the discrete Gaussian at some scales, each beside OpenDP's at that scale."""
    for scale in (0.5, 1.0, 40.0, 300.0, 1e5):
        peer = opendp_samples_per_second("gaussian", scale, count // 50, repeats)
        variance = Fraction(scale) ** 2
        sample = partial(sample_discrete_gaussian, variance, count, SystemEntropy())
        seconds = median_seconds(sample, repeats)
        name = f"discrete Gaussian, scale = {scale:g}"
        print(line(name, count / seconds, peer, "  target >= 10"), flush=True)


def main(quick: bool) -> None:
    """Print both tables."""
    repeats = 3 if quick else 5
    count = 10**6 if quick else 10**7
    nothing = np.empty(0), np.empty(0, dtype=np.int64)
    peer = opendp_samples_per_second("laplace", 1.0, count // 50, repeats)
    if peer is not None:
        print(f"{'OpenDP discrete Laplace, scale 1':<34} {peer / 1e6:>8.2f} M samples/s")
    for name in NOISES:
        for epsilon in (0.1, 1.0, 5.0):
            distribution = noise_distribution(name, epsilon=epsilon, max_weight=1.0)
            respond = partial(distribution.respond, count, *nothing, SystemEntropy())
            draw = median_seconds(respond, repeats)
            target = "  target >= 10" if epsilon == 1 else ""
            print(line(f"{name}, epsilon = {epsilon:g}", count / draw, peer, target))
    print_gaussian(count // 10, repeats)

    print_queries()


def print_queries() -> None:
    """Print one cut query of a large graph, and sets of labels beside truth vectors."""
    rng = np.random.default_rng(0)
    n, m = 100_000, 1_000_000
    ends = rng.integers(0, n, m), rng.integers(0, n, m)
    graph = gc.Graph(*ends, vertices=n)
    query = gc.CutQuery(rng.random(n) < 0.5, rng.random(n) < 0.5)
    milliseconds = 1e3 * median_seconds(lambda: query.value(graph), 20)
    print(f"\none cut query, 10^6 edges: {milliseconds:.1f} ms  target <= 20")
    half = np.sort(rng.choice(n, n // 2, replace=False))
    mask = np.isin(np.arange(n), half)
    print("the same by a list of 50,000 labels, beside a truth vector")
    strings = [f"v{i}" for i in range(n)]
    kinds = {"0..n-1": range(n), "other integers": range(5, n + 5), "strings": strings}
    for name, labels in kinds.items():
        graph = gc.Graph(*ends, vertices=gc.VertexSet(labels))
        chosen = [labels[i] for i in half]
        times = [
            1e3 * median_seconds(lambda S=S, graph=graph: gc.CutQuery(S).value(graph), 20)
            for S in (chosen, mask)
        ]
        print(f"{name:<16} {times[0]:>6.1f} ms {times[1]:>6.1f} ms  "
              f"{times[0] / times[1]:.1f} times  target <= 2", flush=True)  # fmt: skip


if __name__ == "__main__":
    run(main, __doc__)
