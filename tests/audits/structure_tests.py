"""Audits of the noisy structure test and of the noisy unevenness of degrees.

Neighbours are two cliques, or two parts, of ten vertices each, without an edge and with it: their
values differ by nine tenths of what is proven. The cliques are also directed ones, cliques between
two sides, and of edges of the largest weight.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.structure_test import (
    STRUCTURE_CHANGE,
    STRUCTURE_STEPS,
    degrees_of_sides,
    draw_structure,
    measure_unevenness,
    structure_count,
    unevenness,
)
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.synth.detected_structure import StructureSetting
from tests.audits.base import audited_runs
from tests.audits.graphs import Side, one_more, sides
from tests.audits.losses import laplace_gain
from tests.audits.users import once

_VERTICES = 20
_EARLY = 0.9  # deviation of the diagonal at which a careless solver stops


def _with_last(edges: list[tuple[int, int]], last: tuple[int, int]) -> tuple[list[int], list[int]]:
    ordered = [pair for pair in edges if pair != last] + [last]
    return [pair[0] for pair in ordered], [pair[1] for pair in ordered]


_PAIRS_OF = [(a, b) for b in range(_VERTICES) for a in range(b)]
_CLIQUES = [(a, b) for a, b in _PAIRS_OF if (a + b) % 2 == 0]
_PARTS = [(a, b) for a, b in _PAIRS_OF if (a + b) % 2]
_ARCS = [(a, b) for a in range(_VERTICES) for b in range(_VERTICES) if a != b and (a + b) % 2 == 0]
_BETWEEN = [(a, b) for a in range(10) for b in range(10) if (a + b) % 2 == 0]
_LARGEST = 5.0
_PAIRS = tuple(
    sides(one_more(name, *_with_last(edges, last), vertices=_VERTICES))
    for name, edges, last in (
        ("two cliques", _CLIQUES, (0, 14)),
        ("two parts", _PARTS, (2, 3)),
    )
)
_OTHER_KINDS = (
    sides(one_more("two cliques of arcs", *_with_last(_ARCS, (0, 14)), kind=gc.DirectedGraph,
                   vertices=_VERTICES)),
    sides(one_more("two cliques between sides", *_with_last(_BETWEEN, (0, 4)),
                   kind=gc.BipartiteGraph, left=10, right=10)),
)  # fmt: skip
_HEAVY = sides(
    one_more(
        "two heavy cliques",
        *_with_last(_CLIQUES, (0, 14)),
        [_LARGEST] * len(_CLIQUES),
        vertices=_VERTICES,
        max_weight=_LARGEST,
    )
)
_EDGE = (sides(one_more("one edge", [0], [1], vertices=5)),)


def _setting(graph: AnyGraph) -> StructureSetting:
    layout = Layout.of(graph.space)
    n, m = layout.shape
    return StructureSetting.of(layout, 0.2 * n * (m - layout.hollow))


@once
def _counted(graph: AnyGraph) -> int:
    return structure_count(graph, _setting(graph))


@once
def _undivided(graph: gc.Graph) -> int:
    """Weights that are not divided by their maximum."""
    setting = _setting(graph)
    centred: FloatMatrix = np.where(np.eye(_VERTICES) > 0, 0, graph.dense() - setting.density)
    y = np.full(_VERTICES, np.linalg.eigvalsh(centred)[-1] + 2 * setting.tau)
    for _ in range(100):
        X = setting.tau * np.linalg.inv(np.diag(y) - centred)
        gradient = 1 - X.diagonal()
        step = -setting.tau * np.linalg.solve(X * X, gradient)
        y = y + step / (1 + np.sqrt(max(-float(gradient @ step) / setting.tau, 0.0)))
    log_determinant = np.linalg.slogdet(np.diag(y) - centred)[1]
    return int(np.floor(float(y.sum() - setting.tau * log_determinant) * STRUCTURE_STEPS))


@once
def _stopped_early(graph: gc.Graph) -> int:
    """The objective where Newton's method has come near the minimum, whatever is left of it."""
    setting = _setting(graph)
    centred: FloatMatrix = np.where(np.eye(_VERTICES) > 0, 0, graph.dense() - setting.density)
    values = []
    for matrix in (centred, -centred):
        tau = setting.tau
        y = np.full(_VERTICES, np.linalg.eigvalsh(matrix)[-1] + 2 * tau)
        for _ in range(100):
            X = tau * np.linalg.inv(np.diag(y) - matrix)
            gradient = 1 - X.diagonal()
            if np.abs(gradient).max() < _EARLY:
                break
            step = -tau * np.linalg.solve(X * X, gradient)
            y = y + step / (1 + np.sqrt(max(-float(gradient @ step) / tau, 0.0)))
        values.append(float(y.sum() - tau * np.linalg.slogdet(np.diag(y) - matrix)[1]))
    return int(np.floor(max(values) * STRUCTURE_STEPS))


def _noisy_count(
    epsilon: float,
    side: Side,
    source: EntropySource,
    counted: Callable[[gc.Graph], int],
    change: int,
) -> list[float]:
    """What noise for a change makes of a count."""
    rate = Fraction(epsilon) / change
    noisy = counted(side.graph) + int(sample_discrete_laplace(rate, 1, source)[0])
    before, after = counted(side.first), counted(side.second)
    return [laplace_gain([noisy], [before], [after], rate), float(noisy - before)]


def _sensitivity_one(epsilon: float, side: Side, source: EntropySource) -> list[float]:
    """An edge has two entries of the matrix; noise is that for one."""
    return _noisy_count(epsilon, side, source, _counted, STRUCTURE_CHANGE // 2)


def _gap_ignored(epsilon: float, side: Side, source: EntropySource) -> list[float]:
    """The value of a solver that stops early, with noise for the minimum."""
    return _noisy_count(epsilon, side, source, _stopped_early, STRUCTURE_CHANGE)


def _weights_undivided(epsilon: float, side: Side, source: EntropySource) -> list[float]:
    """A pair changes the matrix by 5; noise is that for 1."""
    return _noisy_count(epsilon, side, source, _undivided, STRUCTURE_CHANGE)


def _structure(epsilon: float, side: Side, source: EntropySource) -> list[float]:
    measured = draw_structure(_counted(side.graph), epsilon=Fraction(epsilon), source=source)
    before, after = _counted(side.first), _counted(side.second)
    noisy = int(measured.steps[0][0])
    gain = laplace_gain([noisy], [before], [after], Fraction(epsilon) / STRUCTURE_CHANGE)
    return [gain, float(noisy - before)]


audited_runs(
    "structure test",
    pairs=_PAIRS,
    incorrect_variants={"sensitivity 1 for 2": _sensitivity_one, "gap ignored": _gap_ignored},
    variant_pairs=_PAIRS[:1],
    runs=6000,
    slow=True,
)(_structure)
audited_runs(
    "structure test, arcs and two sides",
    pairs=_OTHER_KINDS,
    incorrect_variants={"sensitivity 1 for 2": _sensitivity_one},
    runs=6000,
    slow=True,
)(_structure)
audited_runs(
    "structure test, weights",
    pairs=(_HEAVY,),
    incorrect_variants={
        "sensitivity 1 for 2": _sensitivity_one,
        "weights undivided": _weights_undivided,
    },
    runs=6000,
    slow=True,
)(_structure)


def _unevenness_of(graph: AnyGraph) -> int:
    return unevenness(degrees_of_sides(graph))


def _one_degree(epsilon: float, side: Side, source: EntropySource) -> list[float]:
    """An edge changes two degrees; noise is that for one."""
    return _noisy_count(epsilon, side, source, _unevenness_of, 1)


@audited_runs(
    "unevenness", pairs=_EDGE, incorrect_variants={"sensitivity 1 for 2": _one_degree}, runs=6000
)
def _unevenness(epsilon: float, side: Side, source: EntropySource) -> list[float]:
    measured = measure_unevenness(side.graph, epsilon=Fraction(epsilon), source=source)
    before, after = _unevenness_of(side.first), _unevenness_of(side.second)
    noisy = int(measured.steps[0][0])
    gain = laplace_gain([noisy], [before], [after], Fraction(epsilon) / 2)
    return [gain, float(noisy - before)]
