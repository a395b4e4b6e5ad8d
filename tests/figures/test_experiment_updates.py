"""Updates used beside B(alpha)."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from helpers import frieze_kannan

from graphcuts_dp import HypothesisError, cut_norm
from graphcuts_dp.plugins import Universe
from scripts.figures.analysts import worst_cut
from scripts.figures.updates import (
    ANALYSTS,
    CONSTRUCTIONS,
    RULES,
    Case,
    distinct_cuts,
    updates_used,
)


@pytest.fixture(scope="module")
def table(quick_table):
    return quick_table("updates").table


@pytest.mark.thorough
def test_no_construction_uses_more_than_its_bound(table):
    for name, rule, analyst in product(CONSTRUCTIONS, RULES, ANALYSTS):
        rows = table.where(construction=name, rule=rule, analyst=analyst)
        assert len(rows) >= 2
        assert all(0 <= row["used"] <= row["B"] for row in rows)
    assert len(table.findings) == len(CONSTRUCTIONS)
    assert all(0 < finding.measured <= 1 and finding.agrees for finding in table.findings)


@pytest.mark.thorough
def test_a_smaller_alpha_allows_more_updates(table):
    """As alpha^-2, for all rules with a step; the families of the median do not shrink."""
    for name, rule in product(set(CONSTRUCTIONS) - {"median"}, RULES):
        rows = table.where(construction=name, rule=rule, analyst="random", graph="random")
        assert len({row["alpha"] for row in rows}) > 1
        constants = [row["B"] * row["alpha"] ** 2 for row in rows]
        assert constants == pytest.approx([constants[0]] * len(constants))


def test_printed_rules_need_more_updates(table):
    """Shorter steps; the median's rule has none, only another family."""
    for name in set(CONSTRUCTIONS) - {"median"}:
        rows = table.where(construction=name, analyst="adversarial")
        tight, printed = (sum(row["used"] for row in rows if row["rule"] == rule) for rule in RULES)
        assert tight < printed


def small_case(share):
    rng = np.random.default_rng(0)
    return Case("small", Universe(12, 12), (rng.random((12, 12)) < 0.3).astype(float), share)


def test_a_bound_that_is_too_small_is_seen():
    """The twin: a fortieth of the start's potential."""
    case = small_case(0.05)
    sound = frieze_kannan(case.universe, alpha=case.alpha, total_weight=case.total_weight)
    used = updates_used(sound, case, "adversarial", np.random.default_rng(0))
    assert 10 < used <= sound.update_bound(case.alpha)
    broken = replace(sound, start_potential=sound.start_potential / 40)
    with pytest.raises(HypothesisError, match="more than B"):
        updates_used(broken, case, "adversarial", np.random.default_rng(0))


def test_distinct_cuts():
    """On three vertices: each set of pairs that is a cut of some S and T."""
    universe = Universe(3)
    cuts = distinct_cuts(universe)
    rows = {universe.coefficients(cut).tobytes() for cut in cuts}
    assert len(rows) == len(cuts) == 7  # all subsets of three pairs but the empty one
    assert len(distinct_cuts(Universe(1, 2))) == 3


@pytest.mark.parametrize("shape", [(5,), (8, 6)])
def test_the_worst_cut_is_nearly_always_found(shape):
    universe, shares = Universe(*shape), []
    cuts = None if universe.bipartite else distinct_cuts(universe)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        residual = rng.normal(size=universe.shape)
        if not universe.bipartite:
            residual = np.triu(residual, 1) + np.triu(residual, 1).T
        found = abs(universe.answers([worst_cut(residual, universe, rng=rng)], residual)[0])
        if cuts is None:
            worst = cut_norm(residual, method="exact").upper
        else:
            worst = np.abs(universe.answers(cuts, residual)).max()
        assert found <= worst * (1 + 1e-9)
        shares.append(found / worst)
    assert min(shares) > 0.8
    assert np.mean(np.array(shares) > 1 - 1e-6) >= 0.7


def test_the_number_of_right_vertices_is_kept():
    rng = np.random.default_rng(1)
    universe, residual = Universe(9, 9), rng.normal(size=(9, 9))
    for most in (1, 3):
        cut = worst_cut(residual, universe, rng=rng, max_right_size=most)
        assert 1 <= universe.masks(cut)[1].sum() <= most
    columns = np.maximum(np.maximum(residual, 0).sum(axis=0), np.maximum(-residual, 0).sum(axis=0))
    one = worst_cut(residual, universe, rng=rng, max_right_size=1)
    assert abs(universe.answers([one], residual)[0]) == pytest.approx(columns.max())
