"""Mironov's attack on every number that is released.

A textbook sampler adds floating-point Laplace noise to a floating-point value, and the sum gives
the value away: some floats can be reached from one value and not from its neighbour. Here every
released number must be a whole multiple of a public step that does not depend on the data, and the
noise has every whole number in its support; so each number that comes out of one graph could have
come out of the neighbour. What is said beside it must be computed from it. The inputs are
neighbours that differ in the last binary digit of 0.1 + 0.2, or by as much as is allowed.

Twins that add floats, or whole steps to a value off the grid, must be caught.

Source: Mironov, "On significance of the least significant bits for differential privacy", 2012.
"""

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import CutQuery, ParameterError
from graphcuts_dp.distances.answers import plan_distances
from graphcuts_dp.distances.embeddings import exact_embedding
from graphcuts_dp.distances.learner import L1Learner
from graphcuts_dp.distances.session import InteractiveDistances
from graphcuts_dp.estimate.noises import NOISES, noise_distribution
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.answer_grid import AnswerGrid
from graphcuts_dp.iterative.rank_one import ResponseRankOne
from graphcuts_dp.learn.calibrations import CALIBRATIONS
from graphcuts_dp.measure.statistics import measure_total
from graphcuts_dp.plugins import SeededEntropy, Universe
from graphcuts_dp.queries.linear import MatrixQuery
from graphcuts_dp.results.bundle import KINDS, receipt_path
from graphcuts_dp.session.terms import SessionTerms

learn = gc.release_iteratively

# Worthless accuracy is as private as any.
pytestmark = [
    pytest.mark.usefixtures("no_forecast"),
    pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning"),
]
SEED = 5
DELTA = 1e-6
CUTS = [CutQuery([0]), CutQuery([0, 1], [2, 3, 4]), CutQuery([1, 3, 5], [0, 2])]


EPSILONS = (0.01, 0.03, 0.1, 0.2, 1 / 3, 0.5, math.log(2), 1.0, 2.0, 3.7, 10.0, 20.0)
SOON = (1.0,)  # the others take minutes
# Their binary digits are all different, and the first two differ in the last one.
WEIGHTS = (0.1 + 0.2, 1 / 3, 0.7, math.nextafter(1.0, 0.0), 2.0**-40, 5e-324, 0.1, 1e-17)
PLACES = ((0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (0, 5), (4, 5), (1, 4))


def plain(*more):
    """A graph without weights on 6 vertices, with one edge more or none."""
    return gc.Graph(*zip(*PLACES, *more, strict=True), vertices=6)


def two_sided(*more):
    """The same between 6 vertices and 7."""
    return gc.BipartiteGraph(*zip(*PLACES, *more, strict=True), left=6, right=7)


def weighted(first, *, cap=1.0):
    """WEIGHTS on the places, with another first one."""
    bound = {"max_weight": cap} if cap else {"max_weight_change": 1}
    return gc.Graph(*zip(*PLACES, strict=True), [first, *WEIGHTS[1:]], vertices=6, **bound)


def ratings(first):
    """The same between 6 vertices and 7."""
    ends, masses = zip(*PLACES, strict=True), [first, *WEIGHTS[1:]]
    return gc.BipartiteGraph(*ends, masses, left=6, right=7, max_weight=1.0)


# (first, neighbour); one step in the last binary digit apart, or as far as is allowed
NEIGHBOURS = {
    "plain": (plain(), plain((2, 5))),
    "bipartite": (two_sided(), two_sided((5, 6))),
    "a last digit": (weighted(0.1 + 0.2), weighted(0.3)),
    "no cap": (weighted(0.1 + 0.2, cap=None), weighted(1.3, cap=None)),
    "odd cap": (weighted(0.1 + 0.2, cap=1.7), weighted(1.7, cap=1.7)),
    "ratings": (ratings(0.1 + 0.2), ratings(0.3)),
}
PLAIN = ("plain", "bipartite")
CAPPED = ("a last digit", "odd cap", "ratings")
# Public maps whose lengths are like 0.1 + 0.2.
LENGTHS = WEIGHTS[:4] * 2
PATH = gc.distances.Metric.path(9, LENGTHS)
TREE = gc.distances.Metric([0, 1, 1, 3, 0, 5, 5, 7], range(1, 9), LENGTHS, vertices=9)


def neighbouring_locations(metric, times=1):
    """Where people are on a map of 9 vertices, 40 of them `times` over, and after one has moved."""
    counts = times * np.array([9, 0, 3, 7, 1, 5, 5, 0, 10])
    moved = counts + np.array([-1, 0, 0, 0, 0, 0, 0, 1, 0])
    return [gc.distances.Locations(metric, each) for each in (counts, moved)]


def off_grid(values, step, parts=1):
    """The values that are not k step/parts for a whole k, but for the rounding of that to a float.

    Where parts = 1 nothing is rounded.
    """

    def nearest(value):
        k = round(Fraction(value) / Fraction(step) * parts)
        return k * Fraction(step) if parts == 1 else float(Fraction(k, parts)) * step

    return [value for value in np.ravel(values).tolist() if value != nearest(value)]


@pytest.fixture(
    params=[
        pytest.param(SOON, id="one epsilon"),
        pytest.param(EPSILONS, id="twelve epsilons", marks=pytest.mark.slow),
    ]
)
def epsilons(request):
    return request.param


def released(graph, **options):
    """With noisy degrees where weights have a cap; the fit is post-processing, and cut off."""
    if graph.max_weight is None:
        return gc.release_graph(graph, fit="none", seed=SEED, **options)
    return gc.release_graph(
        graph,
        mechanism="degrees+randomized-response",
        seed=SEED,
        fit=gc.FitOptions(time_limit=1e-9),
        **options,
    )


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(
    ("pair", "noise"),
    [
        *((pair, noise) for pair in PLAIN for noise in NOISES),
        *((pair, "laplace") for pair in NEIGHBOURS if pair not in PLAIN),
        *((pair, "discrete-laplace") for pair in ("a last digit", "no cap", "ratings")),
    ],
)
def test_noisy_matrices_and_degrees(pair, noise, tmp_path, epsilons):
    for epsilon in epsilons:
        stated = []
        for graph in NEIGHBOURS[pair]:
            made = released(graph, epsilon=epsilon, noise=noise)
            file = tmp_path / "x.edges"
            made.save(file, force=True)
            receipt = json.loads(receipt_path(file).read_text())
            with np.load(KINDS["release"].arrays(file)) as archive:
                assert archive["entries/values"].dtype.kind in "iu"
            unit, offset = (receipt["measurements"]["entries"][x] for x in ("unit", "offset"))
            off_diagonal = np.ones(made.noisy.shape, dtype=bool)
            if made.noisy.symmetric:
                np.fill_diagonal(off_diagonal, val=False)
            estimates = made.noisy.estimate()[off_diagonal]
            steps = made.noisy.steps[off_diagonal]
            assert np.array_equal(estimates, (steps - offset) * unit)
            if noise != "binary":
                assert not off_grid(estimates, unit)
                S, T = CUTS[1].masks(graph)
                assert not off_grid(made.noisy.cut_value(S, T), unit)
            if made.degrees is not None:
                assert {each.dtype for each in made.degrees.steps} == {np.dtype(np.int64)}
            degrees = receipt["measurements"].get("degrees", {})
            stated.append((unit, offset, degrees.get("unit"), degrees.get("parameters")))
        assert stated[0] == stated[1]


@pytest.mark.thorough(cases=9)
@pytest.mark.parametrize("distribution", ["gaussian", "laplace"])
@pytest.mark.parametrize("pair", NEIGHBOURS)
def test_answers_with_noise_of_their_own(pair, distribution, tmp_path, epsilons):
    for number, epsilon in enumerate(epsilons):
        for side, graph in enumerate(NEIGHBOURS[pair]):
            unit = Grid.of(NEIGHBOURS[pair][0]).unit
            with gc.open_session(
                graph,
                store=tmp_path / f"{number}{side}.db",
                epsilon=epsilon,
                delta=DELTA if distribution == "gaussian" else 0.0,
                queries=len(CUTS),
                method=distribution,
                seed=SEED,
            ) as session:
                answers = session.ask_all(CUTS)
                radius = session.error_bound
            for query, answer in zip(CUTS, answers, strict=True):
                most = Grid.of(graph).most(Universe.of(graph).pairs_between(query))
                assert answer.value in (0.0, most) or not off_grid([answer.value], unit)
                # The interval is the value and public numbers, whatever the truth is.
                for end in answer.interval:
                    off = abs(end - answer.value)
                    known = math.isclose(off, radius, rel_tol=1e-6, abs_tol=50 * unit)
                    assert known or end in (0.0, most) or answer.value in (0.0, most)


# What is bought, by the graph and epsilon: values, and the public steps that they are multiples of.


def entries_of(graph, epsilon):
    """The noise that entries have by default."""
    noise = "laplace" if graph.weighted else "binary"
    return noise_distribution(noise, epsilon=epsilon, max_weight=graph.max_weight)


def the_total(graph, epsilon):
    noise, source = entries_of(graph, epsilon), SeededEntropy(SEED)
    total = measure_total(graph, noise, epsilon=Fraction(epsilon), source=source).total
    twice = 2 if isinstance(graph, gc.Graph) else 1
    return [total], (noise.unit if graph.weighted else 1) * twice


def constructed(calibration):
    """What a session buys that learns."""
    pure = {"delta": 0.0} if calibration == "dr14" else {"delta": DELTA}
    share = {"value_share": 0.2} if calibration == "tight" else {}
    terms = {"method": "frieze-kannan", "queries": 20, "calibration": calibration} | pure | share

    def bought(graph, epsilon):
        grid, source = Grid.of(graph), SeededEntropy(SEED)
        try:
            made = SessionTerms.of(epsilon=epsilon, **terms).mechanism(Universe.of(graph), grid)
            state = made.start(graph, source)
        except ParameterError:
            return [], 1.0  # no tuning at this epsilon: from public numbers, for both neighbours
        values = [state.total_weight]
        for query in CUTS:
            if not state.stopped:
                state, answer = made.step(state, query, grid.count(query, graph), source)
                values += [each.value for each in answer.updates if each.value is not None]
        return values, 1.0, grid.sensitivity

    return bought


def learnt(distinguisher):
    """What an iterative release buys."""

    def bought(graph, epsilon):
        cuts = CUTS if distinguisher == "exponential" else None
        rule = gc.Learning(distinguisher=distinguisher, rounds=3)
        made = learn(graph, cuts, epsilon=epsilon, delta=DELTA, seed=SEED, construction=rule)
        grid = Grid.of(graph)
        values = [measured.value for measured in made.transcript]
        assert values
        return [*values, made.settings.total], grid.unit * grid.sensitivity, grid.sensitivity

    return bought


def noisy_matrix(graph, epsilon):
    noise = entries_of(graph, epsilon)
    bought = ResponseRankOne(universe=Universe.of(graph), distribution=noise)
    return bought.noisy(graph, SeededEntropy(SEED)) if graph.weighted else [], noise.unit


def sensed(graph, epsilon):
    rng = np.random.default_rng(0)
    queries = [MatrixQuery(rng.normal(size=(6, 7))) for _ in range(4)] + [CutQuery([0, 1], [2, 3])]
    unit = AnswerGrid(Universe(graph.left, graph.right), queries, 1.0).unit
    made = learn(
        graph, queries, epsilon=epsilon, delta=DELTA, seed=SEED, construction="sensing:rounds=4"
    )
    return [measured.value for measured in made.transcript], unit


def of_a_net(graph, epsilon):
    """A member of the net, and no number of the truth."""
    few = graph.rows < 3, graph.columns < 4
    four = gc.Graph(graph.rows[few[0] & few[1]], graph.columns[few[0] & few[1]], vertices=4)
    cuts = [CutQuery([0]), CutQuery([0, 1])]
    made = learn(four, cuts, epsilon=epsilon, seed=SEED, construction="net")
    assert (made.law.unit, made.law.rounding) == (1.0, 0.0)
    return made.graph.weights, 1


BOUGHT = {
    "total": ((*PLAIN, *CAPPED), the_total),
    **{f"session, {name}": ((*PLAIN, *CAPPED), constructed(name)) for name in CALIBRATIONS},
    **{
        f"learnt, {name}": ((*PLAIN, *CAPPED), learnt(name))
        for name in ("exponential", "exact-cuts", "response-rank-one")
    },
    "noisy matrix": ((*PLAIN, *CAPPED), noisy_matrix),
    "sensing": (("ratings",), sensed),
    "net": (("plain",), of_a_net),
}


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("name", BOUGHT)
def test_what_is_bought_lies_on_a_grid_that_is_the_same_for_neighbours(name, epsilons):
    pairs, numbers = BOUGHT[name]
    checked = 0
    for epsilon, pair in product(epsilons, pairs):
        steps = []
        for graph in NEIGHBOURS[pair]:
            values, *step = numbers(graph, epsilon)
            assert not off_grid(values, *step), (pair, epsilon)
            checked += len(values)
            steps.append(step)
        assert steps[0] == steps[1]
    assert checked >= 2 * len(epsilons)


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
def test_distances(distribution, epsilons):
    for epsilon in epsilons:
        for here in neighbouring_locations(TREE):
            for mechanism in ("tree-counts", "histogram", "per-query"):
                built = plan_distances(
                    here.metric,
                    people=here.people,
                    epsilon=epsilon,
                    delta=DELTA if distribution == "gaussian" else 0.0,
                    mechanism=mechanism,
                    noise=distribution,
                ).best.built
                for level in built.noisy(here, SeededEntropy(SEED)):
                    assert level.dtype == np.int64
                if mechanism == "per-query":
                    values, _ = built.answer_all(here, SeededEntropy(SEED), confidence=0.95)
                    step = 2 * built.rounding
                    counts = (values - step / 2) / (step / here.people)
                    # Floats far from 0 hold fewer digits after the point.
                    slack = 1e-9 + np.abs(counts) * 2.0**-51
                    assert (np.abs(counts - np.rint(counts)) <= slack).all()
                    again = np.rint(counts) * (step / here.people) + step / 2
                    assert np.allclose(again, values, rtol=2.0**-51, atol=0)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("delta", [0.0, DELTA])
def test_tangents_of_private_functions(delta, epsilons):
    bought = 0
    pair = neighbouring_locations(PATH, 2000)
    embedding = exact_embedding(pair[0].metric)
    for epsilon in epsilons:
        numbers = {"people": pair[0].people, "epsilon": epsilon, "delta": delta}
        offline = L1Learner(embedding=embedding, queries=None, **numbers)
        online = InteractiveDistances(L1Learner(embedding=embedding, queries=3, **numbers))
        for here in pair:
            source = SeededEntropy(SEED)
            parts = offline.learn(here, source)
            state = online.start(here, source)
            for row in range(3):
                state, _ = online.step(state, row, None, source)
            for part in (*parts, *state.coordinates):
                for line in part.hypothesis.lines:
                    assert all(isinstance(x, int) for x in (line.at, line.value, line.slope))
                    bought += 1
    assert bought > 0


# Broken on purpose.


def test_twins_with_floating_point_noise_are_caught():
    rng = np.random.default_rng(0)
    for epsilon, graph in product(EPSILONS, NEIGHBOURS["ratings"]):
        truth = graph.weights.sum()
        unit = Grid.of(graph).unit
        textbook = truth + rng.laplace(scale=1 / epsilon, size=20)
        assert off_grid(textbook, unit)
        # Whole steps added to a value that is not on the grid.
        steps = truth + unit * rng.integers(-1000, 1000, size=20)
        assert off_grid(steps, unit)


@pytest.mark.thorough
def test_the_textbook_sampler_gives_a_neighbour_away_and_ours_does_not():
    """The attack itself: which of two truths can have led to a released number?"""
    rng = np.random.default_rng(1)
    truths = 0.1 + 0.2, 0.3
    uniform = rng.integers(1, 2**53, size=400) * 2.0**-53
    noise = np.log(uniform)  # one side of Laplace's, scale 1
    told = 0
    for released in (truths[0] + noise).tolist():
        reached = []
        for truth in truths:
            near = math.exp(released - truth) * 2.0**53
            tries = (np.arange(-64, 65) + round(near)) * 2.0**-53
            tries = tries[(tries > 0) & (tries < 1)]
            reached.append(bool((truth + np.log(tries) == released).any()))
        told += reached == [True, False]
    assert told > 20  # each such number proves that the truth was the first

    graph = ratings(truths[0])
    unit = Grid.of(graph).unit
    counts = [Grid.of(each).count(CutQuery([0]), each) for each in NEIGHBOURS["ratings"]]
    for epsilon in EPSILONS:
        mechanism = SessionTerms.of(method="laplace", epsilon=epsilon, queries=1).mechanism(
            Universe.of(graph), Grid.of(graph)
        )
        source = SeededEntropy(SEED)
        state = mechanism.start(graph, source)
        _, answer = mechanism.step(state, CutQuery([0]), counts[0], source)
        # Noise of any whole number of steps has positive probability.
        needed = [Fraction(answer.value) / Fraction(unit) - count for count in counts]
        assert all(steps.denominator == 1 for steps in needed)


def test_the_inputs_are_as_nasty_as_they_claim():
    first, second = NEIGHBOURS["a last digit"]
    assert (first.weights != second.weights).sum() == 1
    assert np.abs(first.weights - second.weights).max() < 1e-16
    assert off_grid(first.weights, Grid.of(first).unit)
    assert len(plain((2, 5)).rows) == len(plain().rows) + 1
