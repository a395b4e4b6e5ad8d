"""Classes of users that would make noise too small: they are refused, or nothing rests on them."""
# ruff: noqa: ARG001, ARG002  # functions that stand for others have their arguments

import inspect
import math
from dataclasses import dataclass
from itertools import product
from typing import get_args

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import GraphCutsError, GraphError, ParameterError, PrivacyUnit
from graphcuts_dp.estimate.strategy import FlowStrategy
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.methods import construction_of
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.calibrations import CALIBRATIONS
from graphcuts_dp.learn.learners import MirrorDescentLearner
from graphcuts_dp.learn.own_learner import OwnLearner
from graphcuts_dp.plugins import CutSum, Fit, FitMethod, FriezeKannanRule, SeededEntropy, Universe
from graphcuts_dp.privacy.composition import check_spent, compose
from graphcuts_dp.privacy.privacy_unit import UnitKind
from graphcuts_dp.schema.vertices import Arcs
from graphcuts_dp.session.counts import EdgeCounter
from graphcuts_dp.session.online import OnlineMechanism

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")

GRAPH = gc.Graph([0, 1, 2, 4, 5], [1, 2, 3, 5, 6], vertices=8)
GROUPS = gc.Groups(GRAPH.vertices, {"half": ["a"] * 4 + ["b"] * 4})
CUTS = [gc.CutQuery([0, 1], [v]) for v in range(2, 8)]
# What users may derive classes from, and what privacy rests on there.
OPEN = {
    "CutList": "read query by query, see tests/queries/test_plain_queries.py",
    "CutQuery": "read once from the public vertices, likewise",
    "Query": "likewise",
    "Columns": "names of columns: they are looked up in the header, and hold no bound",
}
# Results hold noisy numbers only: whoever derives a class from them can lose no privacy.
RESULTS = {"Release", "Flows", "IterativeRelease", "RemoteSession", "Session", "Plan"}


def public_classes():
    found = {name: getattr(gc, name) for name in gc.__all__}
    return {name: kind for name, kind in found.items() if inspect.isclass(kind)}


@pytest.mark.parametrize("name", sorted(set(public_classes()) - RESULTS))
def test_public_classes_are_final_or_privacy_does_not_rest_on_them(name):
    kind = public_classes()[name]
    if name in OPEN:
        type("Derived", (kind,), {})
        return
    with pytest.raises(ParameterError, match=f"{kind.__name__} cannot have subclasses"):
        type("Derived", (kind,), {})


@pytest.mark.parametrize("kind", [Arcs, FlowStrategy, Grid, MirrorDescentLearner, Universe])
def test_inner_classes_that_noise_follows_from_are_final(kind):
    with pytest.raises(ParameterError, match="cannot have subclasses"):
        type("Derived", (kind,), {})


class Disguised:
    """Calls itself a privacy unit: ten edges in the guarantee, and one where noise is made."""

    __class__ = PrivacyUnit
    kind, max_degree, per_period = "edge", None, False

    def __init__(self):
        self.reads = 0

    @property
    def group_size(self):
        self.reads += 1
        return 10 if self.reads % 2 else 1

    def __getattr__(self, name):
        member = inspect.getattr_static(PrivacyUnit, name)
        return member.__get__(self) if hasattr(member, "__get__") else member


RELEASES = {
    "flows": lambda unit: gc.release_flows(GRAPH, GROUPS, epsilon=1.0, privacy_unit=unit),
    "graph": lambda unit: gc.release_graph(GRAPH, epsilon=1.0, privacy_unit=unit),
    "iterative": lambda unit: gc.release_iteratively(
        GRAPH, CUTS, epsilon=1.0, construction="answers", privacy_unit=unit
    ),
    "least cut": lambda unit: gc.least_cut(GRAPH, 0, 5, epsilon=1.0, privacy_unit=unit),
}


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_what_only_calls_itself_a_privacy_unit_is_refused(release):
    unit = Disguised()
    assert isinstance(unit, PrivacyUnit)
    with pytest.raises(ParameterError, match="privacy_unit is a name or a PrivacyUnit"):
        release(unit)
    assert unit.reads <= 1  # for the message alone


def test_what_only_calls_itself_groups_is_refused():
    class Regrouped:
        __class__ = gc.Groups
        vertices, tree = GRAPH.vertices, GROUPS.tree

        def codes(self, level=None):
            return np.random.default_rng().integers(0, 2, size=8)

    with pytest.raises(GraphError, match="make them with Groups"):
        gc.release_flows(GRAPH, Regrouped(), epsilon=1.0)
    with pytest.raises(GraphError, match="make them with Groups"):
        gc.release_graph(GRAPH, epsilon=1.0, groups=Regrouped())


@pytest.mark.parametrize("kind", get_args(UnitKind))
def test_a_unit_in_a_message_or_a_store_is_the_same_unit(kind):
    if kind == "person":
        return
    bound = {"user": {"max_contributions": 7}, "vertex": {"max_degree": 7}}.get(kind, {})
    unit = getattr(PrivacyUnit, kind)(**bound)
    assert PrivacyUnit.of(unit.typed) == unit == PrivacyUnit.of(unit)


@dataclass(frozen=True)
class LyingRule(FriezeKannanRule):
    """A rule whose bound on updates, and whose steps, are whatever somebody says."""

    claim: float = 0.0
    answer: float | None = None

    def update_bound(self, alpha):
        claim = self.claim
        return float(np.random.default_rng().uniform(0, 50)) if claim == -math.inf else claim

    def update(self, hypothesis, query, sign, value=None):
        if self.answer is None:
            return super().update(hypothesis, query, sign, value)
        return DenseHypothesis(hypothesis.universe, np.full((8, 8), self.answer))


@dataclass(frozen=True)
class Liar:
    """A learner of one's own, whose claims are wrong; -inf claims something else each time."""

    universe: Universe
    claim: float
    answer: float | None
    name: str = "liar"
    version: int = 1
    measured_norm = None

    def construction(self, *, alpha, total_weight, total_error, value_error=None):
        return LyingRule(
            start=CutSum.constant(self.universe, total_weight / self.universe.size),
            alpha=alpha,
            start_potential=0.0,
            claim=self.claim,
            answer=self.answer,
        )


CLAIMS = (0.0, 1e-300, -5.0, 1.0, 3.5, 1e9, math.inf, -math.inf, math.nan)
ANSWERS = (None, 0.0, 1e6, math.nan)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", CALIBRATIONS)
def test_no_learner_makes_a_session_cost_more(name):
    """Noise is for the updates that are made at most, and no more are made, whatever B is."""
    claims = [claim for claim in CLAIMS if claim != 1e9]  # so many updates would be made
    begun = [asked_until_it_ends(name, *lie) for lie in product(claims, ANSWERS)]
    assert any(begun)  # others claim what no noise is small enough for
    assert not all(begun)


def asked_until_it_ends(name, claim, answer):
    """Whether a session with such a learner begins; what it costs is checked."""
    delta = 0.0 if CALIBRATIONS[name].pure else 1e-6
    budget = CALIBRATIONS[name](epsilon=1.0, delta=delta, queries=30, beta=0.05)
    universe, grid = Universe.of(GRAPH), Grid.of(GRAPH)
    learner = OwnLearner.of(Liar(universe, claim, answer))
    mechanism = OnlineMechanism(learner=learner, calibration=budget, grid=grid)
    source = SeededEntropy(1)
    try:
        state = mechanism.start(GRAPH, source)
    except (GraphCutsError, ValueError, OverflowError):
        return False  # no noise is small enough for such a claim
    tests = state.tuning.cost(grid.sensitivity, delta=delta)
    left = mechanism._tests_calibration
    check_spent(tests, left.cost)
    counted = EdgeCounter(GRAPH, grid)
    for _ in range(5):
        for cut in CUTS:
            # Answers as far off as they can be, so that tests fire.
            truth = counted.counts([cut])[0] + 10**9
            try:
                state, _ = mechanism.step(state, cut, truth, source)
            except (GraphCutsError, ValueError, OverflowError):
                break  # it has run out, or the hypothesis is no number
            assert state.updates + state.lost <= state.tuning.updates
    assert state.tuning.cost(grid.sensitivity, delta=delta) == tests
    return True


@pytest.mark.thorough(cases=10)
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("calibration", ["practical", "tight"])
def test_no_learner_makes_an_iterative_release_cost_more(calibration, claim, answer):
    """As many answers as were charged for, with the noise that was charged for."""
    liar = Liar(Universe.of(GRAPH), claim, answer)
    how = gc.Learning(rule=liar, calibration=calibration, rounds=3)
    runs = []
    for rule in ("frieze-kannan", liar):
        honest = construction_of(gc.Learning(rule=rule, calibration=calibration, rounds=3))
        try:
            made = gc.release_iteratively(
                GRAPH, CUTS, epsilon=1.0, delta=1e-6, construction=honest, seed=1
            )
        except (GraphCutsError, ValueError, OverflowError):
            assert rule is liar  # a claim of which no number of rounds is enough, or no number
            return
        runs.append(made)
    plain, lying = runs
    assert len(lying.transcript) <= how.rounds
    assert lying.law == plain.law
    assert lying.guarantee.epsilon == plain.guarantee.epsilon


@pytest.mark.parametrize("flag", ["uses_degrees", "needs_cap"])
def test_a_fit_of_ones_own_moves_no_noise_by_its_attributes(flag):
    """It sees noisy numbers; its attributes choose among plans that cost the same."""
    reads = []

    def clipped(problem, *, time_limit=None, progress=None):
        reads.append(problem)
        return Fit(matrix=problem.project(problem.noisy.copy()), method="own", objective="none")

    for value in (False, True):
        fit = FitMethod(clipped, **{flag: value})
        made = gc.release_graph(GRAPH, epsilon=1.0, fit=fit, seed=1)
        assert made.guarantee.epsilon == 1.0
        spent = [part.cost() for part in made.measurements.values]
        assert compose(spent, delta=0.0).pure <= 1
    assert reads
    assert not any(hasattr(problem, "graph") for problem in reads)
