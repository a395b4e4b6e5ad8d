"""Measure one call of each rank-one distinguisher, on planted partitions against their density.

GRU12 section 7 leaves the distinguisher for rank-one queries open. Here R = A - density, for graphs
of two planted blocks: "strong", with edge probabilities 0.6 and 0.4; "weak", where the blocks stand
out by sigma_1(R) of about 2.5 sqrt(n); and "sparse", with 20 edges a vertex. The whole budget,
epsilon = 1 (with delta = 1e-6, except for randomised response, which is pure), goes into one call.

The exponential mechanism on the sphere is a reference in floats. So is Gaussian noise on the whole
matrix above a size from which exact noise takes minutes: normal numbers of the same variance.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.iterative.power_method import PowerRankOne
from graphcuts_dp.iterative.rank_one import ResponseRankOne, heavier_sign, matrix_search, top_pair
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.resources import Progress
from scripts.figures.base import Table, at_most
from scripts.figures.bingham import bingham_samples
from scripts.figures.gaussian_rank_one import GaussianRankOne
from scripts.figures.noise_norms import response_norm
from scripts.figures.random_graphs import planted_partition

EPSILON, DELTA, GAMMA = 1.0, 1e-6, 0.05
COLUMNS = (
    "case",
    "n",
    "method",
    "sigma_1",
    "unit gap",
    "short",
    "proven short",
    "cut gap",
    "best known cut gap",
    "part of best",
)
_EXACT_GAUSSIAN = 300  # vertices up to which Gaussian noise on all pairs is drawn exactly
_QUICK_SIZES = (40, 80)
_FULL_SPHERE = 2000  # largest n for the exponential mechanism: all eigenvectors are needed

# (u'Rv, the cut found); the first argument is what is known in the experiment.
Found = tuple[float, CutQuery]
Method = Callable[["RankOneSetting", SeededEntropy], Found]


class RankOneSetting:
    """A graph, its residual, and what all methods share. Not private.

    Args:
        graph: two planted blocks.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.universe = Universe(graph.vertices)
        density = len(graph.rows) / self.universe.size
        self.hypothesis = DenseHypothesis.constant(self.universe, density)
        self.residual: FloatMatrix = graph.dense() - self.hypothesis.dense()
        self.rho = zcdp_rho(epsilon=EPSILON, delta=DELTA)
        self.block = np.arange(graph.n) < graph.n // 2

    def gap(self, query: CutQuery) -> float:
        """Return the absolute true gap of a cut."""
        return abs(float(self.universe.answers([query], self.residual)[0]))

    def form(self, left: FloatVector, right: FloatVector) -> float:
        """Return the value u'Rv."""
        return float(left @ self.residual @ right)


def response_of(setting: RankOneSetting) -> ResponseRankOne:
    """Return randomised response with the whole budget."""
    return ResponseRankOne(
        universe=setting.universe, distribution=noise_distribution("binary", epsilon=EPSILON)
    )


def gaussian_of(setting: RankOneSetting) -> GaussianRankOne:
    """Return Gaussian noise on the matrix with the whole budget."""
    return GaussianRankOne(universe=setting.universe, rho=setting.rho)


def _on_matrix(setting: RankOneSetting, noisy: FloatMatrix, source: SeededEntropy) -> Found:
    pair = top_pair(noisy - setting.hypothesis.dense(), symmetric=True)
    query = matrix_search(setting.universe, noisy).find(setting.hypothesis, source).query
    return setting.form(pair.left, pair.right), cast(CutQuery, query)


def _response(setting: RankOneSetting, source: SeededEntropy) -> Found:
    return _on_matrix(setting, response_of(setting).noisy(setting.graph, source), source)


def _gaussian(setting: RankOneSetting, source: SeededEntropy) -> Found:
    of, n = gaussian_of(setting), setting.graph.n
    if n <= _EXACT_GAUSSIAN:
        return _on_matrix(setting, of.noisy(setting.graph, source), source)
    seed = np.frombuffer(source.bytes(8), dtype=np.uint64)
    noise = np.triu(np.random.default_rng(seed).standard_normal((n, n)), 1)
    noise *= math.sqrt(of.variance)
    return _on_matrix(setting, noise + noise.T + setting.graph.dense(), source)


def _power(setting: RankOneSetting, source: SeededEntropy) -> Found:
    """Find the pair and the cut by two calls: only the cut has to pay for one more product."""
    of = PowerRankOne(universe=setting.universe, rho=setting.rho, delta=DELTA)
    query = of.begin(setting.graph, source).find(setting.hypothesis, source).query
    search = replace(of, rho=of.rho * of.products / of.steps).begin(setting.graph, source)
    pair = search.pair(setting.hypothesis.dense(), source)
    return setting.form(pair.left, pair.right), cast(CutQuery, query)


def _sphere(setting: RankOneSetting, source: SeededEntropy) -> Found:
    """Make one call of sensitivity 1, of exponent epsilon/2 times the form; cut by signs."""
    seed = np.frombuffer(source.bytes(8), dtype=np.uint64)
    x = bingham_samples(setting.residual, EPSILON / 2, 1, np.random.default_rng(seed))[0]
    side = heavier_sign(x)
    return setting.form(x, x), CutQuery(side, ~side)


METHODS: dict[str, Method] = {
    "response": _response,
    "power": _power,
    "gaussian": _gaussian,
    "sphere": _sphere,
}


def probabilities(case: str, n: int) -> tuple[float, float]:
    """Return the probabilities of an edge inside a block and between blocks."""
    if case == "strong":
        return 0.6, 0.4
    if case == "weak":
        return 0.5 + 2.5 / math.sqrt(n), 0.5 - 2.5 / math.sqrt(n)
    return 36 / n, 4 / n


def measure(*, quick: bool, seed: int, progress: Progress) -> Table:
    """One row for each case, size and method, means over repetitions; see `Experiment`.

    Columns: `sigma_1` of R; `unit gap` u'Rv of the pair found, and by how much that is `short`;
    `proven short`, F at probability 0.05, None where nothing is proven; `cut gap`, and what part it
    is of the largest gap of any cut that anybody found, blocks and a search without noise included.
    """
    sizes, repetitions = (_QUICK_SIZES, 1) if quick else ((500, 1000, 2000, 4000), 3)
    cases = [(case, n) for n in sizes for case in ("strong", "weak", "sparse")]
    rows: list[tuple[Any, ...]] = []
    worst = 0.0
    for case_index, (case, n) in enumerate(cases):
        progress(case_index / len(cases), f"{case}, n = {n}")
        p_in, p_out = probabilities(case, n)
        setting = RankOneSetting(planted_partition(n, 2, p_in, p_out, seed=seed + case_index))
        sigma = top_pair(setting.residual, symmetric=True).gap
        noiseless = matrix_search(setting.universe, setting.graph.dense())
        cut = cast(CutQuery, noiseless.find(setting.hypothesis, SeededEntropy(0)).query)
        best = max(setting.gap(cut), setting.gap(CutQuery(setting.block, ~setting.block)))
        results: dict[str, tuple[float, list[float]]] = {}
        for number, (name, method) in enumerate(METHODS.items()):
            if name == "sphere" and n > _FULL_SPHERE:
                continue
            source = SeededEntropy(seed * 1000 + case_index * 10 + number)
            runs = [method(setting, source) for _ in range(repetitions)]
            forms = [form for form, _ in runs]
            results[name] = float(np.mean(forms)), [setting.gap(query) for _, query in runs]
            if name == "response":
                bound = _proven(name, setting) or math.inf
                worst = max(worst, *((sigma - form) / bound for form in forms))
        best = max([best, *(gap for _, gaps in results.values() for gap in gaps)])
        for name, (form, gaps) in results.items():
            mean = float(np.mean(gaps))
            rows.append((case, n, name, sigma, form, sigma - form, _proven(name, setting), mean,
                         best, mean / best))  # fmt: skip
    parameters = {"epsilon": EPSILON, "delta": DELTA, "gamma": GAMMA, "repetitions": repetitions}
    used = "F of response-rank-one, 2 ||E|| at probability 0.05: largest part used"
    return Table(columns=COLUMNS, rows=rows, parameters=parameters, findings=[at_most(used, worst)])


def _proven(name: str, setting: RankOneSetting) -> float | None:
    """Return F for unit pairs: u'Rv >= sigma_1(R) - F at all calls, but for probability GAMMA."""
    if name == "response":
        return 2 * response_norm(response_of(setting).distribution, setting.graph.n, failure=GAMMA)
    return gaussian_of(setting).unit_shortfall(GAMMA) if name == "gaussian" else None
