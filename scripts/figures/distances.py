"""The largest error of distance answers on a path against the number of people n.

The mechanisms run, HR12's learner with our constants among them; HR12's own bounds are formulas
with its constants. Distances are scaled to a diameter of 1. People are made: a third live
anywhere, the others in three towns.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.distances.answers import plan_distances
from graphcuts_dp.distances.counts import NoisySums
from graphcuts_dp.distances.embeddings import exact_embedding
from graphcuts_dp.distances.learner import L1Learner
from graphcuts_dp.distances.locations import Locations, all_distances
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.plotting.style import COLOURS, PAGE, house_style
from graphcuts_dp.privacy.entropy import EntropySource, SeededEntropy
from graphcuts_dp.resources import Progress
from scripts.figures.base import Finding, Table, at_most, exponent, finding
from scripts.figures.distance_bounds import hr12_offline_error
from scripts.figures.style import draw_each, label_ends, log_log, look, trivial_look

METHODS = {
    "tree counts": ("tree-counts", "laplace"),
    "histogram": ("histogram", "laplace"),
    "Gaussian per query": ("per-query", "gaussian"),
    "Laplace per query": ("per-query", "laplace"),
}
LEARNERS = {"HR12 learner": 0.0, "HR12 learner, delta": 1e-6}  # and its delta
BOUNDS = {"HR12 Theorem 2, pure": 0.0, "HR12 Theorem 2, delta": 1e-6}
_Run = Callable[[Locations, EntropySource], FloatVector]
DEFAULT, TRIVIAL = "tree counts", "trivial"
_VERTICES, _EPSILON, _DELTA, _BETA = 1024, 1.0, 1e-6, 0.05
_TOWNS = ((0.2, 0.02), (0.45, 0.05), (0.8, 0.01))  # places and widths on a path of length 1
_QUICK_REPETITIONS = 3
_TARGET_PEOPLE, _TARGET = 10_000, 0.004
_PEOPLE = (300, 1000, 3000, 10_000, 30_000, 100_000, 1_000_000)
_QUICK_PEOPLE = (300, 1000, 10_000, 100_000)
_GUARANTEED = tuple(round(10 ** (quarter / 4)) for quarter in range(8, 37))
_BOUNDS = {
    "HR12 Theorem 2, pure": "HR12 as printed",
    "HR12 Theorem 2, delta": "HR12 as printed, delta",
}


def measure(*, quick: bool, seed: int, progress: Progress) -> Table:
    """Largest error of average distances on a path against the number of people.

    Rows of part "measured": for each repetition, the largest error of all vertices, the guaranteed
    one, and whether any vertex lay outside its interval. Rows of part "guaranteed": the guarantees
    of the default, HR12's bounds, and the answer of half the diameter for everything.

    Tests: HR12 Theorem 2.
    """
    people = _QUICK_PEOPLE if quick else _PEOPLE
    repetitions, learner_repetitions = (_QUICK_REPETITIONS, 1) if quick else (10, 3)
    length = 1 / (_VERTICES - 1)
    metric = Metric.path(_VERTICES, np.full(_VERTICES - 1, length))
    rows: list[tuple[Any, ...]] = []
    for size_index, n in enumerate(people):
        progress(size_index / len(people), f"{n:,} people")
        located = Locations(metric, _made_people(n, seed))
        truth = all_distances(located)
        for number, method in enumerate((*METHODS, *LEARNERS)):
            run, guaranteed = _runner(metric, method, n)
            for repetition in range(repetitions if method in METHODS else learner_repetitions):
                key = np.random.SeedSequence([seed, size_index, number, repetition])
                source = SeededEntropy(int(key.generate_state(1)[0]))
                errors = np.abs(run(located, source) - truth)
                wrong = int((errors > guaranteed).any())
                measured = float(errors.max()), float(guaranteed.max()), wrong
                rows.append(("measured", method, n, repetition, *measured))
    rows += _guaranteed(metric)
    columns = ("part", "method", "people", "repetition", "largest error", "guaranteed", "wrong")
    parameters = {
        "vertices": _VERTICES,
        "epsilon": _EPSILON,
        "delta": _DELTA,
        "beta": _BETA,
        "towns": [list(town) for town in _TOWNS],
        "repetitions": repetitions,
        "repetitions of the learner": learner_repetitions,
    }
    return Table.of(columns, rows, parameters, _findings)


def _made_people(n: int, seed: int) -> IntVector:
    random = np.random.default_rng([seed, n])
    positions = np.linspace(0, 1, _VERTICES)
    shares = np.full(_VERTICES, 1 / 3 / _VERTICES)
    for middle, width in _TOWNS:
        town = np.exp(-(((positions - middle) / width) ** 2) / 2)
        shares += town / town.sum() * 2 / 9
    return random.multinomial(n, shares / shares.sum())


def _runner(metric: Metric, method: str, n: int) -> tuple[_Run, FloatVector]:
    """Return the mechanism that answers all vertices, and the error that it guarantees."""
    if method in METHODS:
        mechanism = _mechanism(metric, method, n)

        def noisy(located: Locations, source: EntropySource) -> FloatVector:
            return mechanism.answer_all(located, source, confidence=1 - _BETA)[0]

        return noisy, mechanism.radii(confidence=1 - _BETA)
    terms: dict[str, Any] = {"epsilon": _EPSILON, "delta": LEARNERS[method], "beta": _BETA}
    planned = L1Learner(embedding=exact_embedding(metric), people=n, queries=None, **terms)

    def run(located: Locations, source: EntropySource) -> FloatVector:
        return planned.values(planned.learn(located, source))

    return run, np.array([planned.error])


def _mechanism(metric: Metric, method: str, n: int) -> NoisySums | L1Learner:
    name, noise = METHODS[method]
    delta = _DELTA if noise == "gaussian" else 0.0
    planned = plan_distances(
        metric, people=n, epsilon=_EPSILON, delta=delta, mechanism=name, noise=noise
    )
    return planned.best.built


def _guaranteed(metric: Metric) -> list[tuple[Any, ...]]:
    least = _GUARANTEED[0]
    default = _mechanism(metric, DEFAULT, least).radii(confidence=1 - _BETA).max()
    rows: list[tuple[Any, ...]] = []
    for n in _GUARANTEED:
        # Noise is that of counts, whatever n is: the guarantee is 1/n times that for one person.
        guarantees = {DEFAULT: float(default) * least / n, TRIVIAL: metric.diameter / 2}
        for name, delta in BOUNDS.items():
            guarantees[name] = hr12_offline_error(
                people=n, dimensions=1, epsilon=_EPSILON, delta=delta, beta=_BETA
            )
        rows += [
            ("guaranteed", name, n, 0, None, error, None) for name, error in guarantees.items()
        ]
    return rows


# Findings


def _findings(table: Table) -> tuple[Finding, ...]:
    errors: dict[str, float] = {}
    for row in table.where(part="measured", people=_TARGET_PEOPLE):
        errors[row["method"]] = max(errors.get(row["method"], 0.0), row["largest error"])
    best_other = min(error for method, error in errors.items() if method != DEFAULT)
    (wrong,) = table.line("wrong", part="measured")
    people, errors_by_people = table.series(
        "people", "largest error", part="measured", method=DEFAULT
    )
    return (
        finding(
            "Target: largest error of the default at n = 10^4, at most",
            errors[DEFAULT],
            agrees=errors[DEFAULT] <= _TARGET,
            claimed=_TARGET,
        ),
        finding(
            "Target: the best other mechanism's largest error over the default's, above",
            best_other / errors[DEFAULT],
            agrees=best_other > errors[DEFAULT],
            claimed=1.0,
        ),
        exponent("Default: error ~ n^-1", (people, errors_by_people.mean(axis=1)), -1.0, 0.2),
        at_most(
            "Intervals at 95 %: runs in which any vertex lay outside", sum(wrong), 0.05 * len(wrong)
        ),
        _bound_exponent(table, "HR12 learner", -2 / 3),
        _bound_exponent(table, "HR12 learner, delta", -4 / 5),
        *(_first_use(table, name) for name in BOUNDS),
    )


def _bound_exponent(table: Table, name: str, claimed: float) -> Finding:
    """Fit the exponent of the guaranteed error of the learner, where that is no trivial answer."""
    points = zip(*table.line("people", "guaranteed", part="measured", method=name), strict=True)
    return exponent(
        f"HR12 Theorem 2, as tuned here ({name}): guaranteed error ~ n^({claimed:.3g})",
        tuple(zip(*(point for point in points if point[0] >= 10_000), strict=True)),
        claimed,
        0.05,
    )


def _first_use(table: Table, name: str) -> Finding:
    """Find the number of people from which the bound is below the trivial answer's."""
    people, guaranteed = table.line("people", "guaranteed", part="guaranteed", method=name)
    ((trivial, *_),) = table.line("guaranteed", part="guaranteed", method=TRIVIAL)
    useful = [n for n, error in zip(people, guaranteed, strict=True) if error < trivial]
    first = float(min(useful, default=math.inf))
    return finding(
        f"{name}, with its constants: no better than half the diameter below n",
        first,
        agrees=first > 10**6,
    )


def draw(table: Table) -> Figure:
    """Draw the table.

    Args:
        table: of the experiment `distances`.

    Returns:
        A figure: the largest error of all vertices against n, measured with its range over
        repetitions (coloured), HR12's learner with the constants of this package among it;
        guaranteed for the default (thin blue) and by HR12 with its own constants (grey); and the
        trivial answer (dotted).
    """
    with house_style():
        figure = Figure(figsize=(PAGE, 4.4))
        axes = figure.subplots()
        names = {name: name for name in (*METHODS, *LEARNERS)}
        lines = draw_each(axes, table, names, "people", "largest error", part="measured")
        lines += _drawn_guarantees(axes, table)
        axes.set_ylim(2e-6, 40)
        axes.set_xlim(80, 1.3e9)
        log_log(axes)
        axes.set(xlabel="people n", ylabel="largest error of all vertices (diameter 1)")
        about = table.parameters
        axes.set_title(
            f"Average distances on a path of {about['vertices']:,} vertices, "
            f"epsilon = {about['epsilon']:g}"
        )
        label_ends(axes, lines)
    return figure


def _drawn_guarantees(axes: Axes, table: Table) -> list[Line2D]:
    def points(method: str) -> tuple[list[Any], ...]:
        return table.line("people", "guaranteed", part="guaranteed", method=method)

    lines = []
    grey, blue = COLOURS["all zero"], look(0)["color"]
    for style, (name, label) in zip(("-", "--"), _BOUNDS.items(), strict=True):
        lines += axes.plot(*points(name), style, color=grey, linewidth=0.9, label=label)
    most = max(*table.line("people", part="measured"))
    people, guaranteed = points(DEFAULT)
    shown = slice(sum(n <= most for n in people))
    label = "tree counts, guaranteed (95 %)"
    lines += axes.plot(people[shown], guaranteed[shown], color=blue, linewidth=0.7, label=label)
    return lines + axes.plot(*points(TRIVIAL), label="half the diameter", **trivial_look())
