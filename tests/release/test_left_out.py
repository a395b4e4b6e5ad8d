"""Rows that a bound on users leaves out: their noisy sum, and intervals of all rows.

The theorems are in `estimate.counted_rows` and `engine.most_left_out`; here the sums are counted
again in plain Python, neighbours are tried one by one, and intervals are compared with the truth.
"""

import json
import math
from collections import Counter
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, ParameterError, flows_job
from graphcuts_dp.estimate.counted_rows import SHARE, CountedRows
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.schema.counting import STEPS

pytestmark = pytest.mark.usefixtures("one_database")  # of many small tables

ZONES = ["a", "b", "c", "d"]
MONTHS = ["2026-01", "2026-02", "2026-03"]
GROUPS = gc.Groups.of(
    pd.DataFrame({"place": ZONES, "side": ["west", "west", "east", "east"], "zone": ZONES}),
    gc.VertexSet(ZONES),
    ["side", "zone"],
    vertex="place",
)
COLUMNS = gc.Columns(source="from", target="to", user="who", period="when")


def frame_of(sizes, *, seed=1, months=MONTHS):
    """Rows of users with so many rows each."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(len(sizes)), sizes)
    return pd.DataFrame(
        {
            "who": who,
            "from": rng.choice(ZONES, len(who)),
            "to": rng.choice(ZONES, len(who), p=[0.7, 0.1, 0.1, 0.1]),
            "when": rng.choice(months, len(who)),
        }
    )


def rows_of(table, *, counting="rows", **options):
    return gc.Rows.of(
        table,
        columns=COLUMNS,
        counting=counting,
        vertices=ZONES,
        periods=f"{MONTHS[0]}..{MONTHS[-1]}",
        kind="directed",
        **options,
    )


def user(bound, *, per_period=False):
    return gc.PrivacyUnit.user(max_contributions=bound, per_period=per_period)


def left_out(frame, *, counting, bound, known_max, whole, per_period):
    """What is left out of each user, in steps, from the definition."""
    users = {}
    for who, source, target, when in frame.itertuples(index=False):
        key = (who, when) if per_period else who
        users.setdefault(key, Counter())[source, target, when] += 1
    kept = whole or counting == "edges"
    cells = len(ZONES) ** 2 * len(MONTHS)
    most = STEPS * (known_max - bound) + (0 if kept else min(known_max, cells) - 1)
    terms = {}
    for key, amounts in users.items():
        if counting != "rows":
            amounts = Counter(dict.fromkeys(amounts, 1))
        total = amounts.total()
        if total <= bound:
            continue
        shares = (STEPS * bound * amount // total for amount in amounts.values())
        counted = STEPS * bound if kept else sum(shares)
        terms[key] = min(STEPS * total - counted, most)
    return terms, most


WAYS = [
    pytest.param(counting, whole, per_period, id=f"{counting}-{whole}-{per_period}")
    for counting, whole in (("rows", False), ("rows", True), ("users", False), ("edges", True))
    for per_period in (False, True)
]


# Each of the tables has users of all sizes; one is enough to find a wrong sum.
TABLES = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("table_seed", TABLES)
@pytest.mark.parametrize(("counting", "whole", "per_period"), WAYS)
def test_the_sum_is_its_definition_and_one_user_changes_it_by_at_most_the_stated(
    counting, whole, per_period, table_seed
):
    sizes = np.array([1, 2, 3, 5, 8, 13, 40, 200])
    unit, known_max = user(2, per_period=per_period), 9
    terms = {"counting": counting, "whole": whole, "per_period": per_period}
    frame = frame_of(sizes, seed=table_seed)

    def counted(table):
        rows = rows_of(table, counting=counting)
        return rows.cells(unit, whole=whole, known_max=known_max).left_out

    expected, most = left_out(frame, bound=2, known_max=known_max, **terms)
    rows = rows_of(frame, counting=counting)
    assert rows.most_left_out(unit, whole=whole, known_max=known_max) == most
    of_all = counted(frame)
    assert of_all == sum(expected.values())
    # Neighbours: without all rows of a user, or without those of one period.
    keys = ["who", "when"] if per_period else ["who"]
    for _, own in frame.groupby(keys):
        assert 0 <= of_all - counted(frame.drop(own.index)) <= most
    assert max(expected.values()) == most  # the sensitivity is attained


def test_rounding_of_shares_is_within_the_sensitivity_and_attains_it():
    """Five rows in five cells of which one counts: each share is 1024/5, rounded down."""
    frame = pd.DataFrame(
        {"who": [7] * 5, "from": [*"abcda"], "to": [*"aaaab"], "when": [MONTHS[0]] * 5}
    )
    rows, unit = rows_of(frame), user(1)
    most = rows.most_left_out(unit, whole=False, known_max=5)
    counted = rows.cells(unit, whole=False, known_max=5)
    assert counted.left_out == most == STEPS * 4 + 4
    assert counted.steps.sum() + counted.left_out == STEPS * 5


def test_users_with_at_most_the_known_maximum_are_counted_exactly():
    sizes = np.arange(1, 31)
    frame = frame_of(sizes)
    for whole in (False, True):
        cells = rows_of(frame).cells(user(4), whole=whole, known_max=30)
        assert cells.steps.sum() + cells.left_out == STEPS * sizes.sum()


def test_a_user_with_more_counts_for_what_the_table_counts_and_no_more_than_m_minus_k_beside():
    frame = frame_of([500])
    cells = rows_of(frame).cells(user(3), whole=True, known_max=10)
    assert cells.steps.sum() == STEPS * 3
    assert cells.left_out == STEPS * 7


def test_all_sources_count_the_same(tmp_path):
    frame = frame_of(np.random.default_rng(2).integers(1, 30, 40))
    frame.to_parquet(tmp_path / "part.parquet")
    connection = duckdb.connect()  # kept, since relations of DuckDB before 1.5 do not keep theirs
    engine_table = connection.from_df(frame)
    several = [
        rows_of(frame),
        rows_of(frame, data_name="trips"),
        rows_of(engine_table, data_name="trips"),
        gc.Rows.read(
            tmp_path,
            columns=COLUMNS,
            vertices=ZONES,
            periods=f"{MONTHS[0]}..{MONTHS[-1]}",
            kind="directed",
            data_name="trips",
        ),
    ]
    for whole in (False, True):
        counted = {rows.cells(user(5), whole=whole, known_max=20).left_out for rows in several}
        expected, _ = left_out(
            frame, counting="rows", bound=5, known_max=20, whole=whole, per_period=False
        )
        assert counted == {sum(expected.values())}


def release(rows, bound=5, **options):
    return gc.release_flows(rows, GROUPS, **{"epsilon": 2.0, "privacy_unit": user(bound)} | options)


def truth_of(frame):
    """The count of all rows of each cell, by (level, month, from, to)."""
    found = Counter()
    side = {zone: "west" if zone < "c" else "east" for zone in ZONES}
    for _, source, target, when in frame.itertuples(index=False):
        found["zone", when, source, target] += 1
        found["side", when, side[source], side[target]] += 1
    return found


def misses_of(flows, frame, truth):
    """Which intervals of all rows miss the truth: of cells, and of sums."""
    table = flows.to_frame(kind="pandas")
    keys = zip(table["level"], table["period"], table["from"], table["to"], strict=True)
    true = np.array([truth[key] for key in keys])
    above = table["all_low"].to_numpy() > true
    below = table["all_high"].to_numpy() < true if "all_high" in table else np.zeros(len(table))
    answers = {
        len(frame): flows.total,
        int((frame["when"] == MONTHS[1]).sum()): flows.between(
            ["west", "east"], ["west", "east"], "side", period=MONTHS[1]
        ),
        int((frame["from"] == "a").sum()): flows.between("a", ZONES),
    }
    outside = []
    for true_sum, answer in answers.items():
        low, high = answer.all_rows
        outside.append(low > true_sum or (high is not None and high < true_sum))
    return above | (below > 0), np.array(outside)


# Intervals of half the width miss a third, which 40 runs notice: they allow 15 %.
@pytest.mark.thorough
@pytest.mark.parametrize("runs", [40, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("whole", "known_max"),
    [
        (False, 60),
        (True, 60),
        (True, 5),
        (False, None),
        pytest.param(False, 5, marks=pytest.mark.slow),
        pytest.param(True, None, marks=pytest.mark.slow),
    ],
)
def test_intervals_of_all_rows_hold_the_truth(known_max, whole, runs):
    """Of each cell and each sum by itself; with heavy tails, and the known maximum attained."""
    sizes = np.minimum(np.ceil(np.random.default_rng(4).lognormal(1.5, 1.3, 150)), 60).astype(int)
    sizes[:3] = 60
    if known_max == 5:
        sizes = np.minimum(sizes, 5)
    frame = frame_of(sizes)
    job = flows_job(
        rows_of(frame),
        GROUPS,
        epsilon=2.0,
        privacy_unit=user(5),
        known_max=known_max,
        workload=gc.FlowWorkload(whole=whole),
    )
    bounded, truth = job.bounded(rows_of(frame)), truth_of(frame)
    cells, sums = [], []
    for seed in range(runs):
        flows = job.run(bounded, SeededEntropy(seed))
        missed_cells, missed_sums = misses_of(flows, frame, truth)
        cells.append(missed_cells.mean())
        sums.append(missed_sums)
    # Cells of one table share the bound of what is left out, so each run counts once.
    assert np.mean(cells) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
    assert np.mean(sums, axis=0).max() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def test_intervals_of_counted_rows_miss_the_count_of_all_rows():
    """Which is why there are others."""
    frame = frame_of([400] * 30)
    flows = release(rows_of(frame), seed=1)
    assert flows.total.interval[1] < len(frame)
    assert flows.total.all_rows[0] <= len(frame)


def test_the_bound_of_what_is_left_out_is_the_exact_tail_of_its_noise():
    frame = frame_of([50] * 20)
    counted = release(rows_of(frame), known_max=50, seed=1).counted_rows
    rate = float(counted.left_out.noise.parameters[0])
    assert rate == pytest.approx(2.0 * float(SHARE) / counted.left_out.changes[0][0])
    steps = int(counted.left_out.steps[0][0])
    radius = counted.at_most(0.05) / counted.left_out.unit - steps
    # P(noise > t) = e^(-rate (t + 1))/(1 + e^-rate) for discrete Laplace noise.
    tail = [math.exp(-rate * (t + 1)) / (1 + math.exp(-rate)) for t in (radius, radius - 1)]
    assert tail[0] <= 0.05 < tail[1]
    assert counted.at_least(0.05) <= counted.at_most(0.05)


def test_both_parts_of_an_interval_share_its_failure_probability():
    measured, at_known_max = (
        release(rows_of(frame_of([9] * 9)), known_max=known_max).counted_rows
        for known_max in (30, 5)
    )
    for failure in (0.3, 0.05, 1e-6):
        parts = measured.failures(failure)
        assert min(parts) > 0
        assert sum(parts) == pytest.approx(failure, rel=1e-12)
        assert at_known_max.failures(failure) == (failure, 0.0)
    # A lower end alone may err with the whole probability, which is that of one of two tails.
    alone = CountedRows(max_contributions=5)
    assert alone.failures(0.05) == (0.1, 0.0)
    assert alone.failures(0.7).counted < 1


def test_the_plan_has_a_step_with_its_share_and_costs_what_was_asked_for(tmp_path):
    rows = rows_of(frame_of([9] * 10))
    for delta in (0.0, 1e-6):
        work = gc.FlowWorkload(noise="gaussian" if delta else "laplace")
        job = flows_job(
            rows,
            GROUPS,
            epsilon=1.0,
            delta=delta,
            privacy_unit=user(3),
            known_max=9,
            workload=work,
        )
        first, *levels = job.budget_plan.steps
        assert (first.statistic, first.share) == ("rows left out", SHARE)
        assert first.noise == levels[0].noise
        ran = job.budget_plan.with_certain_runs()
        assert ran.amounts["rows left out"] == SHARE * job.budget_plan.amount
        assert sum(ran.amounts.values()) == job.budget_plan.amount
        parameters = job.strategy.noise.parameters, job.left_out_noise.parameters
        kind = job.strategy.noise.kind
        lost = kind.loss(parameters[1][0], (job.left_out_change, job.left_out_change**2))
        assert lost == SHARE * job.budget_plan.amount
        flows = job.run(job.bounded(rows), SeededEntropy(1))
        assert flows.counted_rows.left_out.noise.distribution == work.noise
    store = gc.Store(tmp_path / "x.db", budget=1.5)
    release(rows, bound=3, epsilon=1.0, known_max=9, store=store)
    with pytest.raises(BudgetError):
        release(rows, bound=3, epsilon=1.0, known_max=9, store=store)
    # Where the bound is the known maximum nothing is left out, and nothing is spent on it.
    at_known = flows_job(rows, GROUPS, epsilon=1.0, privacy_unit=user(9), known_max=9)
    assert "rows left out" not in [step.statistic for step in at_known.budget_plan.steps]


def test_a_saved_table_comes_back_with_its_sentence_in_front(tmp_path):
    frame = frame_of([30] * 40)
    for known_max in (30, None, 5):
        flows = release(rows_of(frame), known_max=known_max)
        path = tmp_path / f"{known_max}.csv"
        flows.save(path)
        loaded, sentence = gc.load(path), flows.counted_rows.sentence
        assert loaded.counted_rows.sentence == sentence
        assert loaded.total == flows.total
        assert sentence.startswith("counts are of at most 5 rows a person")
        assert sentence in str(flows.total)
        comment, header, *lines = path.read_text().splitlines()
        assert comment.startswith(f"# C{sentence[1:]}. ")
        assert header.startswith("level,period,from,to,count,estimate,low,high,all_low")
        assert ("all_high" in header) is (known_max is not None)
        assert not any(sentence in line for line in lines)
        receipt = json.loads(path.with_name(f"{path.name}.json").read_text())
        assert receipt["counted_rows"]["sentence"] == sentence
        assert sentence in receipt["intervals"]
        assert sentence[1:] in " ".join(flows._card().notes)
        plain = "further rows are left out, and nobody can say how many"
        assert (plain in sentence) is (known_max is None)
        low, high = flows.total.all_rows
        assert (high is None) is (known_max is None)
        assert low <= flows.total.value


@pytest.mark.thorough
def test_every_answer_and_picture_says_what_is_counted(tmp_path):
    flows = release(rows_of(frame_of([30] * 40)), known_max=30, epsilon=20.0)
    sentence = flows.counted_rows.sentence
    answers = [flows.total, flows.between("a", "b"), flows.linear(np.ones((4, 4)))]
    month = flows.period(MONTHS[0])
    answers += [month.share_inside(), month.total]
    assert all(sentence in str(answer) for answer in answers)
    assert month.top_flows(2).counted == sentence
    figures = [flows.plot(), flows.plot(by="month")]
    for figure in figures:
        texts = [
            text.get_text() for text in figure.findobj(match=lambda it: hasattr(it, "get_text"))
        ]
        assert any(sentence in " ".join(text.split()) for text in texts)
    flows.write_od(tmp_path / "od.csv", all_cells=True)
    flows.write_parquet(tmp_path / "table.parquet")
    assert sentence in (tmp_path / "od.csv").read_text().splitlines()[1]
    assert pd.read_parquet(tmp_path / "table.parquet")["counted"][0] == sentence


def test_a_table_of_an_earlier_version_says_what_it_counts():
    flows = release(rows_of(frame_of([9] * 9)))
    neighbours = flows.guarantee.neighbours
    assert CountedRows.of_neighbours(neighbours, "rows").sentence == flows.counted_rows.sentence
    each = release(rows_of(frame_of([9] * 9)), privacy_unit=user(5, per_period=True))
    assert "5 rows a person and month" in each.counted_rows.sentence
    assert (
        "a person and period"
        in CountedRows.of_neighbours(each.guarantee.neighbours, "rows").sentence
    )
    plain = gc.release_flows(rows_of(frame_of([9] * 9)), GROUPS, epsilon=1.0)
    assert plain.counted_rows is None
    assert CountedRows.of_neighbours(plain.guarantee.neighbours, "rows") is None


def test_linear_combinations_have_an_end_only_where_something_bounds_it():
    frame = frame_of([20] * 30)
    plus = np.zeros((3, 4, 4))
    plus[:, 0, 0] = 1
    mixed = plus.copy()
    mixed[:, 1, 1] = -2
    known, unknown = (release(rows_of(frame), known_max=top) for top in (20, None))
    ends = [unknown.linear(each).all_rows for each in (plus, -plus, mixed)]
    assert [(low is None, high is None) for low, high in ends] == [
        (False, True),
        (True, False),
        (True, True),
    ]
    top = known.counted_rows.at_most(0.04)
    answer = known.linear(mixed)
    assert answer.all_rows[0] <= answer.interval[0] - 2 * top + 1e-6
    assert answer.all_rows[1] >= answer.interval[1] + top - 1e-6


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"known_max": 4}, "below max_contributions=5"),
        ({"known_max": 0}, "whole number from 1"),
        ({"known_max": 2.5}, "whole number from 1"),
        ({"known_max": 2**21}, "whole number from 1"),
        ({"known_max": 9, "privacy_unit": gc.PrivacyUnit.row()}, "privacy_unit='user'"),
    ],
)
def test_what_is_refused_before_anything_is_spent(options, words, tmp_path):
    store = gc.Store(tmp_path / "x.db", budget=1)
    with pytest.raises(ParameterError, match=words):
        release(rows_of(frame_of([3])), store=store, epsilon=1.0, **options)
    assert not (tmp_path / "x.db").exists() or not gc.store_status(store).uses


def test_weights_and_graphs_are_refused_a_known_maximum():
    weighted = frame_of([3]).assign(paid=1.5)
    rows = gc.Rows.of(
        weighted,
        columns=replace(COLUMNS, weight="paid"),
        counting="weight",
        vertices=ZONES,
        periods=f"{MONTHS[0]}..{MONTHS[-1]}",
        kind="directed",
    )
    with pytest.raises(ParameterError, match="not of weights"):
        release(rows, known_max=9)
    assert "5 units of weight a person" in release(rows).counted_rows.sentence
    by_row = release(rows, privacy_unit=gc.PrivacyUnit.row(5))
    assert "5 units of weight a row" in by_row.counted_rows.sentence
    club, parts = gc.datasets.load("karate"), gc.datasets.load_groups("karate")
    with pytest.raises(ParameterError, match="for rows with"):
        gc.release_flows(club, parts, epsilon=1.0, known_max=9)


def test_a_dry_run_says_which_bound_is_narrower():
    rows = rows_of(frame_of([3]))

    def notes(**options):
        job = flows_job(rows, GROUPS, epsilon=1.0, **options)
        return " ".join(job.notes)

    assert "nobody can say how many" in notes(privacy_unit=user(5))
    near = notes(privacy_unit=user(5), known_max=6)
    assert "of the total, 6 is narrower, whatever is left out" in near
    assert "of a cell, 6 is narrower, whatever is left out" in near
    assert "narrower" not in notes(privacy_unit=user(6), known_max=6)
