"""The sum of root degrees that mirror descent buys has noise for a change of a whole root.

Its price is stated by the calibration, from a budget of its own; here it is taken from the noise
that is drawn, in the session and in the iterative release.
"""

from dataclasses import replace

import numpy as np
import pytest
from offline_calls import learn

import graphcuts_dp as gc
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.measure.statistics import ROOT_STEPS, buy_root_degrees
from graphcuts_dp.offline import construction
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.calibration import TOTAL_SHARE
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.session import bought_norms
from graphcuts_dp.session.methods import make_mechanism

GRAPH = gc.BipartiteGraph(*np.divmod(np.arange(0, 900, 2), 30), left=30, right=30)
BUDGET = {"epsilon": 2.0, "delta": 1e-6}


def bought(monkeypatch, run):
    """The noise and the radius with which root degrees were bought."""
    seen = []

    def spy(graph, grid, noise, radius, source):
        seen.append((noise, radius))
        return buy_root_degrees(graph, grid, noise, radius, source)

    monkeypatch.setattr(bought_norms, "ROOTS", replace(bought_norms.ROOTS, buy=spy))
    monkeypatch.setattr(construction, "buy_root_degrees", spy)
    run()
    ((noise, radius),) = seen
    return noise, radius


def session():
    made = make_mechanism(
        "mirror-descent",
        norm="2,p",
        universe=Universe(30, 30),
        grid=Grid.of(GRAPH),
        queries=20,
        **BUDGET,
    )
    made.start(GRAPH, SeededEntropy(1))


def release():
    learn(
        GRAPH,
        queries=[gc.CutQuery([0], [1, 2])],
        construction="mirror-descent",
        norm="2,p",
        seed=1,
        **BUDGET,
    )


@pytest.mark.parametrize("run", [session, release])
def test_one_edge_costs_no_more_of_it_than_its_part_of_the_budget(run, monkeypatch):
    noise, radius = bought(monkeypatch, run)
    rho = zcdp_rho(**BUDGET)
    share = float(TOTAL_SHARE)
    spent = noise.cost(ROOT_STEPS, delta=BUDGET["delta"]).rho
    assert spent <= rho * (1 - share) * share * (1 + 1e-9)
    assert spent > 0.9 * rho * (1 - share) * share
    assert radius >= noise.radius(0.05)
