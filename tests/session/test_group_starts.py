"""Sessions that start from noisy sums between public groups."""

from dataclasses import replace

import numpy as np
import pytest
from online_cases import blocks_of, from_store
from session_workers import kept_groups, private_graph

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.calibration_base import START_SHARE
from graphcuts_dp.measure.cells import weighted_sensitivity
from graphcuts_dp.plugins import SeededEntropy, Universe
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.session import starts
from graphcuts_dp.session.runner import read_state, stored_state
from graphcuts_dp.session.session import session_of
from graphcuts_dp.session.starts import STARTS, TOTAL
from graphcuts_dp.session.terms import SessionTerms
from scripts.figures.random_graphs import planted_partition

N, BLOCKS = 120, 4
TERMS = {"epsilon": 8.0, "delta": 1e-6, "queries": 200, "start": "groups", "seed": 4}
METHODS = {
    "frieze-kannan": {},
    "multiplicative-weights": {},
    "mirror-descent, l2": {"norm": "l2"},
    "mirror-descent, entropy": {"norm": "entropy"},
}


GRAPH = planted_partition(N, BLOCKS, 0.6, 0.02, seed=3)
GROUPS = blocks_of(GRAPH, BLOCKS)


def halves(count, seed=0):
    rng = np.random.default_rng(seed)
    return [gc.CutQuery(rng.random(N) < 0.5) for _ in range(count)]


def opened(folder, method, *, name="a.db", **more):
    kind, options = method.partition(",")[0], METHODS[method]
    terms = TERMS | options | {"method": kind, "groups": GROUPS} | more
    return session_of(GRAPH, store=folder / name, **terms)


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("method", METHODS)
def test_the_first_answers_are_near_the_truth_and_the_guarantee_is_better(tmp_path, method):
    names = [["b0", f"b{other}"] for other in (1, 2, 3)]
    rest = halves(9)
    cuts = [gc.CutQuery([f"@{name}" for name in each]) for each in names] + rest
    plain = [gc.CutQuery(np.logical_or(*map(GROUPS.members, each))) for each in names] + rest
    truth = [cut.value(GRAPH) for cut in plain]
    errors, bounds = {}, {}
    for start in STARTS:
        with opened(tmp_path, method, name=f"{start}.db", start=start) as session:
            found = session.ask_all(cuts)
            errors[start] = np.mean([abs(a.value - t) for a, t in zip(found, truth, strict=True)])
            bounds[start] = session.error_bound
            for answer, true in zip(found, truth, strict=True):
                assert answer.interval[0] <= true <= answer.interval[1]
    assert errors["groups"] < 0.5 * errors["total"]
    assert bounds["groups"] < bounds["total"]


def test_groups_that_say_nothing_leave_the_flat_start(tmp_path):
    flat = 0
    for seed in range(6):
        more = {"groups": blocks_of(GRAPH, BLOCKS, shuffled=True), "seed": seed, "epsilon": 1.0}
        with opened(tmp_path, "frieze-kannan", name=f"{seed}.db", **more) as session:
            flat += len(np.unique(session.hypothesis)) == 2  # the diagonal is 0
    assert flat >= 4


def test_what_is_bought_is_in_the_guarantee_and_within_the_budget(tmp_path):
    with opened(tmp_path, "multiplicative-weights") as session:
        parts = dict(session.guarantee.spent)
    assert set(parts) == {"total weight", "sums between groups", "how near they are", "answers"}
    assert sum(parts.values()) == pytest.approx(8.0)
    assert parts["answers"] > 0.92 * 8.0


def test_the_noise_that_is_drawn_costs_no_more_than_its_part(monkeypatch):
    """Taken from the noise itself, with the sensitivity of what it is added to."""
    seen = {}

    def spy(name):
        real = getattr(starts, name)

        def watched(graph, sides, cells, grid, *rest):
            *coefficients, noise, _ = rest
            seen[name] = (noise, weighted_sensitivity(coefficients[0]) if coefficients else 1)
            return real(graph, sides, cells, grid, *rest)

        monkeypatch.setattr(starts, name, watched)

    spy("measure_group_sums")
    spy("measure_weighted_sum")
    made = mechanism()
    state = made.start(GRAPH, SeededEntropy(1))
    rho, share = zcdp_rho(epsilon=8.0, delta=1e-6), float(START_SHARE)
    all_of_it = state.tuning.cost(1, delta=1e-6).rho + rho * share
    for left, name in (
        (1 - share, "measure_group_sums"),
        ((1 - share) ** 2, "measure_weighted_sum"),
    ):
        noise, sensitivity = seen[name]
        spent = noise.cost(sensitivity, delta=1e-6).rho
        assert 0.99 * rho * left * share < spent <= rho * left * share * (1 + 1e-9)
        all_of_it += spent
    assert all_of_it <= rho
    assert seen["measure_weighted_sum"][1] > 1


def mechanism(of=GRAPH, members=GROUPS, **more):
    terms = {"epsilon": 8.0, "delta": 1e-6, "queries": 200, "start": "groups"} | more
    made = SessionTerms.of(method="multiplicative-weights", **terms).mechanism(
        Universe.of(of), Grid.of(of)
    )
    return replace(made, groups=(members, members))


def test_the_bound_on_how_near_it_is_fails_as_rarely_as_guaranteed():
    """The true gain is above the bound with probability beta/40 at most: not once in 60 runs."""
    made, codes, truth = mechanism(beta=0.05), GROUPS.codes(), GRAPH.dense()
    for seed in range(60):
        bought = made.start(GRAPH, SeededEntropy(seed)).group_start
        coefficients = bought.start.coefficients("relative entropy")
        a, b, _ = bought.start.cells
        sums = [
            truth[np.ix_(codes == i, codes == j)].sum() / (2 if i == j else 1)
            for i, j in zip(a, b, strict=True)
        ]
        exact = float(coefficients @ np.array(sums)) / 1024
        assert exact <= bought.gain <= exact + 200


def test_forecasts_count_the_price_and_no_gain():
    """Of the session and of its warning: what groups will say is not known before."""
    plain, priced = (mechanism(start=start).expected_error(4000.0) for start in (TOTAL, "groups"))
    assert plain < priced < 1.04 * plain


def test_auto_takes_a_method_that_can_start_so(tmp_path):
    terms = TERMS | {"groups": GROUPS, "method": "auto"}
    with session_of(GRAPH, store=tmp_path / "a.db", **terms) as session:
        assert session.parameters["method"] in ("frieze-kannan", "multiplicative-weights")


def test_the_start_is_part_of_what_a_state_belongs_to():
    made = mechanism()
    state = made.start(GRAPH, SeededEntropy(1))
    assert from_store(made, state).group_start is None
    with pytest.raises(FileFormatError, match="other parameters"):
        read_state(mechanism(start=TOTAL), stored_state(made, state))


def test_the_groups_of_the_kill_tests_say_something():
    """So that the sessions that are killed there do begin from blocks."""
    private = private_graph()
    made = mechanism(private, kept_groups(private), epsilon=40.0, delta=0.01, queries=100_000)
    state = made.start(private, SeededEntropy(1))
    assert len(np.unique(state.current.dense())) > 2
