"""Budget plans as data: exact sums of every run, replays, files; and each share written once."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, BudgetPlan, flows_job, graph_job
from graphcuts_dp.learn import calibration_base
from graphcuts_dp.plugins import Cost, SeededEntropy
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetStep, Condition, PlanExecution, StepRun
from graphcuts_dp.synth import budget_plans

CLUB = gc.datasets.load("karate")
GROUPS = gc.datasets.load_groups("karate")


def step(statistic, share, *conditions, name=""):
    return BudgetStep(
        statistic=statistic, share=share, noise="laplace", conditions=conditions, name=name
    )


FIRST = Condition("the first look shows something")
PLAN = BudgetPlan(
    steps=(
        step("sums", Fraction(1, 10)),
        step("sums", Fraction(1, 4), FIRST),
        step("degrees", (Fraction(1, 3), Fraction(2, 3)), Condition(FIRST.name, holds=False)),
        step("entries", ALL_LEFT),
    ),
    amount=Fraction(2),
)


def test_a_refined_statistic_has_its_larger_share_and_the_rest_goes_on():
    execution = PlanExecution(PLAN)
    sums, finer, degrees, entries = PLAN.steps
    assert execution.take(sums) == Fraction(2, 10)
    assert execution.take(finer) == Fraction(2, 4)
    assert execution.take(degrees, Fraction(2, 3)) == Fraction(3, 2) * Fraction(2, 3) == 1
    assert execution.take(entries) == Fraction(1, 2)
    assert execution.left == 0
    assert execution.plan.amounts == {
        "sums": Fraction(1, 2),
        "degrees": Fraction(1),
        "entries": Fraction(1, 2),
    }
    assert execution.plan.spent == 2


def test_a_share_that_is_not_larger_buys_nothing_and_another_is_refused():
    execution = PlanExecution(PLAN)
    assert execution.take(PLAN.steps[1]) is not None
    assert execution.take(PLAN.steps[0]) is None
    with pytest.raises(BudgetError, match="no such share"):
        execution.take(PLAN.steps[2], Fraction(1, 2))
    with pytest.raises(BudgetError, match="no such share"):
        execution.take(PLAN.steps[2])
    execution.take(PLAN.steps[3])
    again = BudgetPlan(steps=(PLAN.steps[0], PLAN.steps[3], PLAN.steps[1]), amount=Fraction(1))
    late = PlanExecution(again)
    late.take(again.steps[0])
    late.take(again.steps[1])
    with pytest.raises(BudgetError, match="after other measurements"):
        late.take(again.steps[2])


def test_runs_are_those_of_all_answers():
    """Two answers, and two shares where the groups show nothing: three different runs."""
    runs = [tuple((run.step, run.share) for run in plan.ran) for plan in PLAN.possible_runs]
    tenth, quarter, third = Fraction(1, 10), Fraction(1, 4), Fraction(1, 3)
    assert sorted(runs) == sorted([
        ((0, tenth), (1, quarter), (3, ALL_LEFT)),
        ((0, tenth), (2, third), (3, ALL_LEFT)),
        ((0, tenth), (2, 2 * third), (3, ALL_LEFT)),
    ])  # fmt: skip
    assert PLAN.least("entries") == Fraction(18, 10) / 3
    assert PLAN.least("sums") == PLAN.smallest == Fraction(1, 5)
    assert PLAN.spent == 2


shares = st.fractions(min_value=Fraction(1, 1000), max_value=1)


@given(
    amount=st.fractions(min_value=Fraction(1, 10**6), max_value=50),
    drawn=st.lists(st.tuples(st.integers(0, 3), shares, st.booleans()), min_size=1, max_size=7),
)
def test_no_run_spends_more_than_there_is(amount, drawn):
    """Steps of one statistic in a row, as plans have them; conditions at random."""
    drawn = sorted(drawn, key=lambda each: each[0])
    steps = tuple(
        step(str(statistic), share, *([Condition(f"{place}")] * conditional), name=f"n{place}")
        for place, (statistic, share, conditional) in enumerate(drawn)
    )
    plan = BudgetPlan(steps=steps, amount=amount)
    for run in plan.possible_runs:
        assert run.spent <= amount
        assert run.spent == sum(run.amounts.values())
        again = BudgetPlan.from_dict(json.loads(json.dumps(run.to_dict())))
        assert again.amounts == run.amounts
        assert again.ran == run.ran
        assert again == run


def test_a_replayed_plan_has_the_same_cost_and_another_share_is_refused():
    run = PLAN.possible_runs[0]
    assert PLAN.replayed(run.ran).cost == run.cost
    with pytest.raises(BudgetError, match="does not offer"):
        PLAN.replayed([StepRun(0, Fraction(1, 2))])


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("amount", "1e999999999"),
        ("amount", "-1"),
        ("amount", 1.0),
        ("amount", "1/0"),
        ("amount", "9" * 500),
        ("group_size", 0),
        ("group_size", True),
        ("group_size", 10**300),
        ("delta", float("nan")),
        ("delta", "0.1"),
        ("ran", [{"step": False, "share": "1/10"}]),
        ("steps", [PLAN.to_dict()["steps"][0] | {"conditions": None}]),
        ("currency", "euro"),
        ("steps", []),
        ("ran", [{"step": 0, "share": "1"}]),
        ("ran", [{"step": 9, "share": "1/10"}]),
        ("ran", [{"step": -1, "share": "1"}]),
        ("ran", [{"step": 3, "share": "1"}, {"step": 0, "share": "1/10"}]),
        ("steps", 2 * PLAN.to_dict()["steps"]),
        ("steps", 300 * PLAN.to_dict()["steps"]),
        ("steps", [PLAN.to_dict()["steps"][0] | {"name": "a" * 10**5}]),
        (
            "steps",
            [PLAN.to_dict()["steps"][0] | {"conditions": [[str(n), True] for n in range(40)]}],
        ),
        ("ran", [{"step": 0, "share": "1/10"}] * 2),
    ],
)
def test_crafted_files_are_refused(change, value):
    stored = PLAN.to_dict() | {change: value}
    with pytest.raises((BudgetError, LookupError, TypeError, ValueError, ArithmeticError)):
        assert BudgetPlan.from_dict(stored).spent <= 2


@pytest.mark.parametrize(
    ("cost", "currency"),
    [
        (Cost.of_pure(Fraction(1, 3)), "epsilon"),
        (Cost.of_rho(0.25, delta=1e-6), "rho"),
        (Cost(epsilon=2.0, delta=1e-5), "epsilon"),
    ],
)
@pytest.mark.parametrize("group_size", [1, 3])
def test_the_cost_of_a_plan_is_the_cost_that_it_shares(cost, currency, group_size):
    plan = BudgetPlan.of_cost(
        cost, [step("a", Fraction(1, 7)), step("b", ALL_LEFT)]
    ).with_certain_runs()
    plan = BudgetPlan.from_dict(plan.to_dict() | {"group_size": group_size})
    assert plan.currency == currency
    whole = cost.for_group(group_size)
    assert plan.cost.epsilon == pytest.approx(whole.epsilon, rel=1e-12)
    assert plan.cost.delta == pytest.approx(whole.delta)
    parts = dict(plan.spent_by_statistic(whole.epsilon))
    assert parts["a"] == pytest.approx(whole.epsilon / 7)
    assert sum(parts.values()) == pytest.approx(whole.epsilon)


def test_control_characters_of_a_file_are_not_printed():
    stored = PLAN.to_dict()
    stored["steps"][0] |= {"name": "a\x1b[2J"}
    plan = BudgetPlan.from_dict(stored)
    assert "\x1b" not in str(plan) + str(plan.possible_runs[0])


def test_it_prints_as_a_table():
    text = str(PLAN)
    assert "Budget plan: epsilon = 2" in text
    assert "1/3 to 2/3" in text
    assert "degrees, unless the first look shows something" in text
    assert "ran" not in text.splitlines()[1].split()
    ran = str(PLAN.possible_runs[0])
    assert "spent on" in ran
    assert "yes" in ran
    assert repr(PLAN) == "BudgetPlan(epsilon=2, 4 steps, planned)"


# Each share is written once: doubled, all that is computed from it follows.

DOUBLED = [
    # (module, name of the constant, options of the release, statistic)
    (budget_plans, "TOTAL_SHARE", {"noise": "laplace"}, "total"),
    (budget_plans, "EARLY_SHARE", {"noise": "laplace"}, None),
    (budget_plans, "UNDETECTABLE_SHARE", {"noise": "laplace"}, "degrees"),
    (budget_plans, "_FIRST_LOOK_AT_GROUPS", {"groups": GROUPS}, "groups"),
    (budget_plans, "COUNTS_SHARE", {"mechanism": "sparse"}, "weights"),
    (budget_plans, "GROUPS_BESIDE_DEGREES", {"mechanism": "sparse", "groups": GROUPS}, "groups"),
]


def recounted(values):
    """What was drawn, from the rates of the noise alone: exact."""
    spent = {}
    for value in values:
        if value.name == "entries":
            spent["entries"] = value.distribution.epsilon
            continue
        name = value.name.removeprefix("early ").removeprefix("found ")
        rates = zip(value.noise.parameters, value.changes, strict=True)
        spent[name] = sum((rate * change for rate, (change, _) in rates), Fraction(0))
    return spent


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize(("module", "constant", "options", "statistic"), DOUBLED)
def test_a_share_that_is_doubled_is_doubled_everywhere(
    monkeypatch, module, constant, options, statistic
):
    before = released(options)
    twice = 2 * getattr(module, constant)
    monkeypatch.setattr(module, constant, min(twice, Fraction(9, 10)))
    job, measured = released(options)
    plan = measured.guarantee.budget_plan
    # Cost and receipt: what was drawn, counted again from its scales.
    assert plan.amounts == recounted(measured.values)
    assert plan.spent == job.budget_plan.amount == job.cost.pure == 1
    stored = json.loads(json.dumps(measured.guarantee.to_dict()))
    parts = {name: float(amount) for name, amount in plan.amounts.items()}
    assert stored["spent"] == {plan.names[name]: part for name, part in parts.items()}
    again = gc.PrivacyGuarantee.from_dict(stored)
    assert again.budget_plan.amounts == plan.amounts
    assert job.budget_plan.replayed(plan.ran).cost == plan.cost
    # The forecast goes by the least that the entries can get in any run.
    if "entries" in plan.amounts:
        assert job.least_distribution.epsilon == job.budget_plan.least("entries")
        assert job.least_distribution.epsilon <= plan.amounts["entries"]
        assert job.least_distribution.epsilon < before[0].least_distribution.epsilon or (
            constant in ("EARLY_SHARE", "_FIRST_LOOK_AT_GROUPS")
        )
    if statistic is not None:
        old = before[1].guarantee.budget_plan.amounts[statistic]
        assert plan.amounts[statistic] > old


def released(options):
    job = graph_job(CLUB, epsilon=1.0, fitted=False, **options)
    return job, job.measure(CLUB, SeededEntropy(3))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_flows_spend_what_their_plan_says(delta):
    job = flows_job(CLUB, GROUPS, epsilon=1.0, delta=delta)
    noisy = job.measure(CLUB, SeededEntropy(1))
    made = job.finish(noisy, job.guarantee_of_run(SeededEntropy(1)), SeededEntropy(1))
    plan = made.guarantee.budget_plan
    spent = noisy.cells.cost(delta=delta).epsilon
    assert spent == pytest.approx(plan.cost.epsilon, rel=1e-12)
    assert [step.statistic for step in plan.steps] == job.parameters["levels"]
    assert plan.spent == plan.amount


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_a_session_spends_on_its_start_what_its_plan_says(monkeypatch, delta, tmp_path):
    monkeypatch.setattr(calibration_base, "START_SHARE", 2 * calibration_base.START_SHARE)
    method = gc.MultiplicativeWeights(calibration="tight" if delta else "dr14")
    options = {"epsilon": 50.0, "delta": delta, "queries": 5, "seed": 1, "method": method}
    session = gc.open_session(CLUB, store=tmp_path / "x.db", **options)
    plan = session.guarantee.budget_plan
    assert [one.statistic for one in plan.steps] == ["total weight", "answers"]
    assert plan.amounts["total weight"] == plan.amount * calibration_base.START_SHARE


def test_every_kind_of_release_has_a_plan_that_adds_up(tmp_path):
    made = [
        gc.release_graph(CLUB, epsilon=2.0, seed=0),
        gc.release_graph(CLUB, epsilon=2.0, mechanism="sparse", seed=0),
        gc.release_flows(CLUB, GROUPS, epsilon=2.0, seed=0),
        gc.release_iteratively(
            CLUB, epsilon=2.0, delta=1e-6, construction="multiplicative-weights:rounds=2", seed=0
        ),
        gc.least_cut(CLUB, 0, 33, epsilon=2.0, seed=0),
    ]
    for place, result in enumerate(made):
        plan = result.guarantee.budget_plan
        assert getattr(result, "budget_plan", plan) is plan
        assert plan.spent <= plan.amount
        assert plan.cost.epsilon <= 2.0 * (1 + 1e-12)
        path = tmp_path / f"{place}.csv"
        result.save(path)
        assert gc.load(path).guarantee.budget_plan == plan


def test_a_receipt_of_older_versions_has_the_plan_of_its_parts():
    release = gc.release_graph(CLUB, epsilon=2.0, mechanism="degrees+randomized-response", seed=0)
    stored = release.guarantee.to_dict()
    del stored["budget_plan"]
    again = gc.PrivacyGuarantee.from_dict(stored)
    assert again.spent == release.guarantee.spent
    statistics = [each.statistic for each in again.budget_plan.steps]
    assert statistics == ["degrees", "entries", "squared distance"]


def test_no_statistic_is_named_by_two_steps_that_cannot_refine_it():
    """In every run of every plan, the steps of a statistic stand next to each other."""
    for options in (
        {"noise": "laplace"},
        {"groups": GROUPS},
        {"mechanism": "degrees+randomized-response", "groups": GROUPS},
        {"mechanism": "sparse"},
        {"mechanism": "sparse", "groups": GROUPS},
        {"mechanism": gc.Mechanism("sparse", degree_share=0.3), "groups": GROUPS},
    ):
        plan = graph_job(CLUB, epsilon=1.0, fitted=False, **options).budget_plan
        for run in plan.possible_runs:
            order = [plan.steps[each.step].statistic for each in run.ran]
            assert len([name for name, _ in itertools.groupby(order)]) == len(set(order))
            assert run.spent == 1


def test_epsilons_of_plans_are_exact():
    job = graph_job(CLUB, epsilon=Fraction(1, 3), fitted=False)
    assert job.budget_plan.amount == Fraction(1, 3)
    assert all(
        isinstance(each, Fraction) for each in job.budget_plan.possible_runs[0].amounts.values()
    )
    assert np.isclose(float(job.budget_plan.spent), 1 / 3)


def test_a_receipt_whose_plan_costs_more_than_it_states_is_refused():
    release = gc.release_graph(
        CLUB, epsilon=2.0, mechanism="randomized-response", fit="none", seed=0
    )
    stored = release.guarantee.to_dict()
    stored["budget_plan"]["amount"] = "3"
    with pytest.raises(ValueError, match="costs more than the guarantee states"):
        gc.PrivacyGuarantee.from_dict(stored)


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize("method", ["laplace", "multiplicative-weights:calibration=gru12"])
@pytest.mark.parametrize("steps", [1, 3])
def test_the_plan_of_a_session_is_for_the_whole_privacy_unit(method, steps, tmp_path):
    options = {"epsilon": 1.0, "delta": 1e-6 if ":" in method else 0.0, "queries": 10}
    privacy_unit = gc.PrivacyUnit.edge(steps)
    session = gc.open_session(
        CLUB, store=tmp_path / "x.db", method=method, privacy_unit=privacy_unit, **options
    )
    guarantee = session.guarantee
    assert guarantee.budget_plan.cost.epsilon == pytest.approx(guarantee.epsilon, rel=1e-6)
    assert sum(part for _, part in guarantee.spent) in (0, pytest.approx(guarantee.epsilon))


def test_the_cost_of_a_group_is_rounded_once():
    cost = Cost(epsilon=1 / 3, delta=1e-6)
    plan = BudgetPlan(steps=(step("a", ALL_LEFT),), amount=Fraction(1, 3), delta=1e-6, group_size=3)
    assert plan.cost.epsilon == 1.0
    assert plan.cost.delta == pytest.approx(cost.for_group(3).delta)
    assert "for each of 3 changes" in str(plan)
    assert "delta = 1e-06" in str(plan)


def test_a_plan_costs_as_much_as_its_dearest_run():
    """What a condition may leave out is paid for before anybody knows whether it holds."""
    plan = BudgetPlan(
        steps=(step("sums", Fraction(1, 4)), step("degrees", Fraction(1, 3), FIRST)),
        amount=Fraction(2),
    )
    assert plan.spent == Fraction(2, 4) + Fraction(2 * 3, 4 * 3)
    assert plan.replayed([StepRun(0, Fraction(1, 4))]).spent == Fraction(1, 2)


@pytest.mark.parametrize(("currency", "changes"), [("epsilon", 3), ("rho", 9)])
def test_parts_that_are_known_beforehand_are_those_of_the_whole_privacy_unit(currency, changes):
    """Several changes cost their number in epsilon, and its square in rho."""
    plan = BudgetPlan(
        steps=(step("sums", Fraction(1, 4)), step("entries", ALL_LEFT)),
        amount=Fraction(1, 2),
        currency=currency,
        delta=1e-6 if currency == "rho" else 0.0,
        group_size=3,
    )
    total = changes * plan.amount
    assert plan.separate_amounts(total) == (total / 4, total * 3 / 4)
    (*parts, rest) = plan.separate_amounts(2 * total)
    assert parts == [total / 4, total * 3 / 4]
    assert rest == total


@pytest.mark.parametrize(("second", "fits"), [(Fraction(2, 5), True), (Fraction(1, 2), False)])
def test_no_more_is_set_aside_than_there_is(second, fits):
    steps = [
        BudgetStep(statistic=name, share=share, noise="laplace", reserved=True)
        for name, share in (("sums", Fraction(3, 5)), ("distance", second))
    ]
    if fits:
        assert BudgetPlan(steps=tuple(steps), amount=Fraction(1)).unreserved == 0
        return
    with pytest.raises(ValueError, match="more is reserved than there is"):
        BudgetPlan(steps=tuple(steps), amount=Fraction(1))
