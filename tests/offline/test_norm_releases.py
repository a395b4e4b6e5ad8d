"""Iterative releases by mirror descent with each norm, and what they buy for it."""

from dataclasses import replace

import numpy as np
import pytest
from offline_calls import learn

import graphcuts_dp as gc
from graphcuts_dp.measure.statistics import ROOT_STEPS
from graphcuts_dp.offline.release import Task
from graphcuts_dp.privacy.composition import compose
from graphcuts_dp.privacy.noise import SeededEntropy
from scripts.figures.random_graphs import imbalanced_bipartite

SIDE = 12
NORMS = ("l2", "lp", "l1.5", "2,p", "2,1.4", "entropy", "schatten", "schatten-1.5", "auto")


def cuts():
    rng = np.random.default_rng(0)
    return [gc.CutQuery(*(rng.random(SIDE) < 0.5 for _ in range(2))) for _ in range(30)]


def released(**options):
    few = {"rounds": 3, "refits": 1}  # each update with p below 2 solves equations
    options = {"epsilon": 20.0, "delta": 1e-3, "seed": 1, "queries": cuts()} | few | options
    graph = imbalanced_bipartite(SIDE, seed=2)
    return graph, learn(graph, construction="mirror-descent", **options)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("calibration", ["practical", "tight"])
def test_every_norm_learns_the_cuts(norm, calibration):
    """Each is better on the list than answering 0, and within what is proven."""
    graph, made = released(norm=norm, calibration=calibration, epsilon=50.0)
    truths = gc.answer_all(cuts(), graph)
    found = gc.answer_all(cuts(), made.graph)
    assert np.abs(found - truths).max() <= made.accuracy.graph_error
    if calibration == "practical":  # what is proven for p below 2 asks for larger graphs
        assert np.abs(found - truths).max() < truths.max()
    shown = made.settings.construction
    assert shown == ("mirror-descent" if norm == "l2" else f"mirror-descent, norm {norm}")
    parts = dict(made.guarantee.parts)
    assert ("root degrees" in parts) is norm.startswith("2,")
    assert sum(parts.values()) == pytest.approx(50.0)


def test_without_a_norm_it_is_l2():
    assert released()[1].settings == released(norm="l2")[1].settings


@pytest.mark.parametrize("calibration", ["practical", "tight", "dr14"])
def test_what_is_bought_adds_up_to_the_budget(calibration):
    graph = imbalanced_bipartite(SIDE, seed=2)
    learning = gc.Learning(rule="mirror-descent", norm="2,p", calibration=calibration)
    mechanism = learning.mechanism(Task.of(graph, cuts(), epsilon=1.0, delta=1e-6))
    assert mechanism.buys_roots
    total, _, cost, rest = mechanism.calibration.with_total(1)
    roots, _, more, left = rest.with_total(ROOT_STEPS)
    delta = mechanism.cost.delta
    bought = [total.cost(1, delta=delta), roots.cost(ROOT_STEPS, delta=delta)]
    for noise, stated in zip(bought, (cost, more), strict=True):
        assert noise.epsilon <= stated.epsilon * (1 + 1e-9)
    whole = compose([*bought, left.cost], delta=delta)
    if mechanism.cost.rho is not None:
        assert whole.rho <= mechanism.cost.rho * (1 + 1e-12)
    else:
        assert whole.epsilon <= mechanism.cost.epsilon * (1 + 1e-12)
    few = replace(mechanism, learner=mechanism.learner.with_roots(9.0), refits=0)
    assert few.run(graph, SeededEntropy(3)).total_weight > 0


def test_a_pure_release_buys_root_degrees_too():
    _, made = released(
        norm="2,p", queries=None, distinguisher="response-rank-one", delta=0.0, epsilon=4.0
    )
    parts = dict(made.guarantee.parts)
    assert set(parts) == {"noisy matrix", "total weight", "root degrees", "answers"}
    assert sum(parts.values()) == pytest.approx(4.0)
    assert made.guarantee.delta == 0


def test_a_store_keeps_the_norm(tmp_path):
    graph = imbalanced_bipartite(SIDE, seed=2)
    store = tmp_path / "a.db"
    learn(
        graph,
        epsilon=4.0,
        delta=1e-6,
        queries=cuts(),
        construction="mirror-descent",
        norm="2,p",
        store=store,
    )
    (use,) = gc.store_status(store).uses
    assert use.use.parameters["construction"] == "mirror-descent, norm 2,p"
