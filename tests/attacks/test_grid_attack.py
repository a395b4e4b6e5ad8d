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
from attack_cases import (
    CAPPED,
    EPSILONS,
    NEIGHBOURS,
    PLAIN,
    SOON,
    neighbouring_locations,
    path,
    plain,
    ratings,
    tree,
)

import graphcuts_dp as gc
from graphcuts_dp.distances.answers import plan_distances
from graphcuts_dp.distances.embeddings import exact_embedding
from graphcuts_dp.distances.learner import L1Learner
from graphcuts_dp.distances.session import InteractiveDistances
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noisy_matrix import NOISES, noise_distribution
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.calibrations import CALIBRATIONS
from graphcuts_dp.measure.statistics import measure_total
from graphcuts_dp.offline.lists import Steps
from graphcuts_dp.offline.rank_one import ResponseRankOne
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import SeededEntropy
from graphcuts_dp.results.bundle import KINDS, receipt_path
from graphcuts_dp.session.terms import SessionTerms
from scripts.benchmark.baselines import density_only, noisy_degrees, noisy_weight
from scripts.figures.gaussian_rank_one import GaussianRankOne

learn = gc.release_iteratively

# Worthless accuracy is as private as any.
pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
SEED = 5
DELTA = 1e-6
CUTS = [CutQuery([0]), CutQuery([0, 1], [2, 3, 4]), CutQuery([1, 3, 5], [0, 2])]


def off_grid(values, step):
    """The values that are no whole multiples of a step, in exact arithmetic."""
    step = Fraction(step)
    return [v for v in np.asarray(values).ravel().tolist() if Fraction(v) % step]


def off_quotients(values, step, parts):
    """Likewise of values that are k step/parts for whole k, rounded to a float once or twice."""
    return [
        value
        for value in values
        if value != float(Fraction(round(Fraction(value) / Fraction(step) * parts), parts)) * step
    ]


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
    if graph.weight_cap is None:
        return gc.release_graph(graph, fit="none", seed=SEED, **options)
    return gc.release_graph(
        graph, mechanism="degrees+response", seed=SEED, fit=gc.Fitting(time_limit=1e-9), **options
    )


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


@pytest.mark.parametrize("pair", [*PLAIN, *CAPPED])
def test_noisy_totals(pair, epsilons):
    noise = "binary" if pair in PLAIN else "laplace"
    for epsilon, graph in product(epsilons, NEIGHBOURS[pair]):
        distribution = noise_distribution(noise, epsilon=epsilon, weight_cap=graph.weight_cap)
        exact = Fraction(epsilon)
        total = measure_total(graph, distribution, epsilon=exact, source=SeededEntropy(SEED))
        twice = 2 if isinstance(graph, gc.Graph) else 1
        assert not off_grid(total.total, (distribution.unit if noise == "laplace" else 1) * twice)


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


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("pair", [*PLAIN, *CAPPED])
def test_answers_that_constructions_buy(pair, calibration, epsilons):
    checked = 0
    for epsilon, graph in product(epsilons, NEIGHBOURS[pair]):
        grid = Grid.of(graph)
        try:
            mechanism = SessionTerms.of(
                method="frieze-kannan",
                epsilon=epsilon,
                delta=0.0 if calibration == "dr14" else DELTA,
                queries=20,
                calibration=calibration,
                value_share=0.2 if calibration == "tight" else 0.0,
            ).mechanism(Universe.of(graph), grid)
            source = SeededEntropy(SEED)
            state = mechanism.start(graph, source)
        except ParameterError:
            continue  # no tuning at this epsilon: from public numbers, for both neighbours
        steps = grid.sensitivity
        values = [state.total_weight]
        for query in CUTS:
            if state.stopped:
                break
            truth = grid.count(query, graph)
            state, answer = mechanism.step(state, query, truth, source)
            values += [made.value for made in answer.updates if made.value is not None]
        assert not off_quotients(values, 1.0, steps)
        checked += len(values)
    assert checked >= len(epsilons)


@pytest.mark.parametrize("distinguisher", ["exponential", "exact-cuts", "response-rank-one"])
@pytest.mark.parametrize("pair", [*PLAIN, *CAPPED])
def test_answers_that_iterative_releases_buy(pair, distinguisher, epsilons):
    checked = 0
    for epsilon, graph in product(epsilons, NEIGHBOURS[pair]):
        made = learn(
            graph,
            CUTS if distinguisher == "exponential" else None,
            epsilon=epsilon,
            delta=DELTA,
            seed=SEED,
            construction=gc.Learning(distinguisher=distinguisher, rounds=3),
        )
        grid = Grid.of(graph)
        unit = grid.unit * grid.sensitivity
        values = [measured.value for measured in made.transcript]
        assert not off_quotients([*values, made.settings.total], unit, grid.sensitivity)
        checked += len(values)
    assert checked > len(epsilons)


def test_what_distinguishers_buy_at_the_start(epsilons):
    for pair in (*PLAIN, *CAPPED):
        for epsilon, graph in product(epsilons, NEIGHBOURS[pair]):
            universe, grid = Universe.of(graph), Grid.of(graph)
            noise = "laplace" if graph.weighted else "binary"
            distribution = noise_distribution(noise, epsilon=epsilon, weight_cap=graph.weight_cap)
            source = SeededEntropy(SEED)
            bought = ResponseRankOne(universe=universe, distribution=distribution)
            if noise == "laplace":
                assert not off_grid(bought.noisy(graph, source), distribution.unit)
            rank_one = GaussianRankOne(universe=universe, rho=epsilon**2 / 2, grid=grid)
            assert not off_grid(rank_one.noisy(graph, source), grid.unit)


def test_sensing_measurements(epsilons):
    rng = np.random.default_rng(0)
    queries = [MatrixQuery(rng.normal(size=(6, 7))) for _ in range(4)]
    queries.append(CutQuery([0, 1], [2, 3]))
    for epsilon, graph in product(epsilons, NEIGHBOURS["ratings"]):
        unit = Steps(Universe(graph.left, graph.right), queries, 1.0).unit
        made = learn(
            graph, queries, epsilon=epsilon, delta=DELTA, seed=SEED, construction="sensing:rounds=4"
        )
        assert not off_grid([measured.value for measured in made.transcript], unit)


def test_the_net_releases_members_and_no_number_of_the_truth(epsilons):
    four = gc.Graph([0, 1], [1, 2], vertices=4), gc.Graph([0, 1, 0], [1, 2, 3], vertices=4)
    for epsilon, graph in product(epsilons, four):
        made = learn(
            graph, [CutQuery([0]), CutQuery([0, 1])], epsilon=epsilon, seed=SEED, construction="net"
        )
        assert not off_grid(made.graph.weights, 1)
        assert (made.law.unit, made.law.rounding) == (1.0, 0.0)


def test_baselines(epsilons):
    for epsilon, graph in product(epsilons, NEIGHBOURS["plain"]):
        exact, source = Fraction(epsilon), SeededEntropy(SEED)
        assert noisy_degrees(graph, exact, source).dtype == np.int64
        assert noisy_weight(graph, exact, source).is_integer()
        density = density_only(graph, epsilon=epsilon, seed=SEED).matrix[0, 1]
        assert not off_quotients([density], 1.0, 15)


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
def test_distances(distribution, epsilons):
    for epsilon in epsilons:
        for here in neighbouring_locations(tree()):
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
                    values, _ = built.answered(here, SeededEntropy(SEED), confidence=0.95)
                    step = 2 * built.rounding
                    counts = (values - step / 2) / (step / here.people)
                    # Floats far from 0 hold fewer digits after the point.
                    slack = 1e-9 + np.abs(counts) * 2.0**-51
                    assert (np.abs(counts - np.rint(counts)) <= slack).all()
                    again = np.rint(counts) * (step / here.people) + step / 2
                    assert np.allclose(again, values, rtol=2.0**-51, atol=0)


@pytest.mark.parametrize("delta", [0.0, DELTA])
def test_tangents_of_private_functions(delta, epsilons):
    bought = 0
    pair = neighbouring_locations(path(), 2000)
    embedding = exact_embedding(pair[0].metric)
    for epsilon in epsilons:
        numbers = {"people": pair[0].people, "epsilon": epsilon, "delta": delta}
        offline = L1Learner(embedding=embedding, queries=None, **numbers)
        online = InteractiveDistances(L1Learner(embedding=embedding, queries=3, **numbers))
        for here in pair:
            source = SeededEntropy(SEED)
            parts = offline.learnt(here, source)
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
    assert len(plain(more=True).rows) == len(plain().rows) + 1
