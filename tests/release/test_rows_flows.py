"""Tables of flows made of rows: trips by period, with and without users, against plain sums."""

import math
from collections import Counter
from itertools import product

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, GraphError, LedgerError, ParameterError, flows_job

pytestmark = pytest.mark.usefixtures("one_database")  # of many small tables

ZONES = ["a", "b", "c", "d", "e"]
AREA = {"a": "north", "b": "north", "c": "south", "d": "south", "e": "south"}
GROUPS = gc.Groups.of({zone: AREA[zone] for zone in ZONES}, gc.VertexSet(ZONES))
MONTHS = ["2026-01", "2026-02", "2026-03", "2026-04"]
COLUMNS = gc.Columns(source="from", target="to", user="who", period="when", weight="paid")
NEARLY_NOTHING = {"epsilon": 50.0, "seed": 4}  # noise of about a fiftieth of a row


def trips(count=400, seed=3):
    rng = np.random.default_rng(seed)
    day = rng.integers(1, 28, size=count)
    month = rng.integers(1, 6, size=count)  # May is not declared
    return pd.DataFrame(
        {
            "who": rng.integers(40, size=count),
            "from": rng.choice(ZONES, size=count, p=[0.5, 0.2, 0.1, 0.1, 0.1]),
            "to": rng.choice(ZONES, size=count),
            "when": [f"2026-{m:02}-{d:02}" for m, d in zip(month, day, strict=True)],
            "paid": np.round(rng.exponential(3.0, size=count), 2),
        }
    )


def rows_of(frame, *, counting="rows", kind="directed", user=False, periods="2026-01..2026-04"):
    columns = gc.Columns(
        source="from",
        target="to",
        user="who" if user else None,
        period=None if periods is None else "when",
        weight="paid" if counting == "weight" else None,
    )
    sets = (ZONES, ZONES) if kind == "bipartite" else ZONES
    return gc.Rows.of(
        frame, columns=columns, counting=counting, kind=kind, vertices=sets, periods=periods
    )


def counted(frame, *, counting="rows", kind="directed", declared=True):
    """The amount of each cell (month, area, area), straight from the rows."""
    found, seen = Counter(), set()
    for row in frame.itertuples(index=False):
        who, source, target, when, paid = row
        if declared and when[:7] not in MONTHS:
            continue
        ends = sorted((source, target)) if kind == "undirected" else (source, target)
        areas = [AREA[end] for end in ends]
        key = (when[:7], *(sorted(areas) if kind == "undirected" else areas))
        pair = (when[:7], *ends)
        if counting == "edges" and pair in seen:
            continue
        if counting == "users" and (who, *pair) in seen:
            continue
        seen |= {pair, (who, *pair)}
        found[key] += paid if counting == "weight" else 1
    return found


def table(flows):
    frame = flows.to_frame(kind="pandas")
    keys = zip(frame["period"], frame["from"], frame["to"], strict=True)
    return dict(zip(keys, frame["estimate"], strict=True))


@pytest.mark.parametrize("kind", ["directed", "undirected", "bipartite"])
@pytest.mark.parametrize("counting", ["rows", "edges", "weight"])
def test_each_month_has_its_table_with_the_rows_that_stay_in_an_area(kind, counting):
    frame = trips()
    groups = (GROUPS, GROUPS) if kind == "bipartite" else GROUPS
    privacy_unit = gc.PrivacyUnit.row(100) if counting == "weight" else None
    flows = gc.release_flows(
        rows_of(frame, counting=counting, kind=kind),
        groups,
        privacy_unit=privacy_unit,
        **NEARLY_NOTHING,
    )
    true = counted(frame, counting=counting, kind=kind)
    shown = table(flows)
    assert set(true) <= set(shown)
    assert {month for month, *_ in shown} == set(MONTHS)
    off = [shown[key] - true[key] for key in shown]
    # Noise has a scale of 1/50 of a row, or 2 units of weight; each weight is rounded by 1/2048.
    scale = 2.0 if counting == "weight" else 0.02
    assert max(map(abs, off)) < 16 * scale
    assert np.std(off) < 4 * scale


@pytest.mark.parametrize(("unit", "whole"), [(0.01, False), (0.5, True), (4.0, True), (2.5, True)])
def test_amounts_come_out_as_they_were_typed(unit, whole, tmp_path):
    """Whole units are rounded down for each user and pair, which loses less than one of each."""
    frame = trips().assign(paid=lambda rows: rows["paid"] + 4.0)
    columns = gc.Columns(source="from", target="to", user="who", period="when", weight="paid")
    declared = {"vertices": ZONES, "kind": "directed", "periods": "2026-01..2026-04"}
    rows = gc.Rows.of(frame, columns=columns, counting="weight", weight_unit=unit, **declared)
    most = round(400 / unit)  # of a user
    work = gc.FlowWorkload(whole=whole)
    privacy_unit = gc.PrivacyUnit.user(max_contributions=most)
    flows = gc.release_flows(
        rows, GROUPS, privacy_unit=privacy_unit, workload=work, **NEARLY_NOTHING
    )
    flows.save(tmp_path / "flows.csv")
    loaded = gc.load(tmp_path / "flows.csv")
    assert loaded.noisy.map.counted == "amount"
    true, shown = counted(frame, counting="weight"), table(loaded)
    assert table(flows) == shown
    spread = 400 / NEARLY_NOTHING["epsilon"]
    for key, value in shown.items():
        lost = len(frame) * unit if whole else 1.0
        assert -16 * spread - lost < value - true[key] < 16 * spread + 1e-6
    one = flows.between("north", "south", period="2026-02")
    assert one.deviation == pytest.approx(spread * math.sqrt(2), rel=0.3)
    in_units = float(one.value / unit)
    assert in_units.is_integer() is whole
    assert one.interval[0] < one.value < one.interval[1]
    assert flows.noisy.map.integral is (unit == 4.0)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("counting", "expected"),
    [("rows", "number of rows"), ("users", "number of users"), ("weight", "noisy amount")],
)
def test_pictures_name_what_rows_count(counting, expected):
    privacy_unit = gc.PrivacyUnit.user(max_contributions=3)
    rows = rows_of(trips(), counting=counting, user=True)
    flows = gc.release_flows(rows, GROUPS, epsilon=5.0, privacy_unit=privacy_unit)
    month = flows.plot(period="2026-01")
    assert expected in month.axes[1].get_ylabel()
    word = expected.split()[-1]
    assert flows.plot(by="month")._supylabel.get_text() == f"{word}, noisy"


def test_rows_within_a_zone_are_none_of_those_that_vanish():
    frame = trips()
    rows = rows_of(frame, periods=None)
    zones = gc.Groups.of({zone: zone for zone in ZONES}, gc.VertexSet(ZONES))
    flows = gc.release_flows(rows, zones, **NEARLY_NOTHING)
    inside = (frame["from"] == frame["to"]).sum()
    assert inside > 50
    assert flows.values().shape == (5, 5)
    assert len(flows.to_frame(kind="pandas")) == 25
    assert np.trace(flows.values()) == pytest.approx(inside, abs=1)
    assert flows.total.value == pytest.approx(len(frame), abs=1)


def test_every_period_has_the_whole_of_epsilon():
    rows = rows_of(trips())
    alone = gc.release_flows(rows_of(trips(), periods=None), GROUPS, epsilon=1.0, seed=1)
    by_month = gc.release_flows(rows, GROUPS, epsilon=1.0, seed=1)
    nested = gc.release_flows(rows, GROUPS, epsilon=1.0, by=["year", "month"], seed=1)
    assert by_month.guarantee.epsilon == nested.guarantee.epsilon == 1.0
    assert by_month.deviations(period="2026-02").max() <= alone.deviations().max() * 1.5
    assert nested.levels == ("group by year", "group by month")
    months = sum(nested.values(period=month) for month in MONTHS)
    assert nested.values("group by year", period="2026") == pytest.approx(months)
    assert by_month.guarantee.privacy_unit == "1 row"
    assert "the periods" in by_month.guarantee.public


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("counting", ["rows", "users", "edges", "weight"])
def test_a_user_counts_for_at_most_so_much(counting, whole):
    frame = trips()
    rows = rows_of(frame, counting=counting, user=True)
    user = gc.PrivacyUnit.user(max_contributions=3)
    flows = gc.release_flows(
        rows, GROUPS, privacy_unit=user, workload=gc.FlowWorkload(whole=whole), **NEARLY_NOTHING
    )
    declared = frame[frame["when"].str[:7].isin(MONTHS)]
    most = 3 * declared["who"].nunique()
    assert flows.total.value < most + 40
    if counting == "rows" or (counting == "weight" and not whole):
        # Users have 8 rows in the mean, so nearly all of them are at the bound.
        assert flows.total.value > most - 40
    assert flows.guarantee.privacy_unit == "1 user"
    each = gc.PrivacyUnit.user(max_contributions=3, per_period=True)
    more = gc.release_flows(
        rows, GROUPS, privacy_unit=each, workload=gc.FlowWorkload(whole=whole), **NEARLY_NOTHING
    )
    assert more.guarantee.privacy_unit == "1 user in one month"
    assert "k epsilon" in more.guarantee.neighbours
    if counting != "edges":
        assert more.total.value > flows.total.value + 40


@pytest.mark.parametrize("privacy_unit", [gc.PrivacyUnit.edge(), gc.PrivacyUnit.edge(3)])
def test_pairs_are_hidden_in_one_period_and_the_guarantee_says_so(privacy_unit):
    rows = rows_of(trips(), counting="edges", user=True)
    hidden = flows_job(rows, GROUPS, epsilon=1.0, privacy_unit=privacy_unit).guarantee.neighbours
    assert (
        "in any one month; of a pair with rows in k months the guarantee holds with k eps" in hidden
    )


def test_scaling_keeps_the_shares_of_a_user():
    frame = pd.DataFrame(
        {"who": 1, "from": ["a"] * 9 + ["c"], "to": "b", "when": "2026-01-03", "paid": 1.0}
    )
    rows = rows_of(frame, user=True)
    user = gc.PrivacyUnit.user(max_contributions=2)
    flows = gc.release_flows(rows, GROUPS, privacy_unit=user, epsilon=50.0, seed=2)
    first = flows.between("north", "north", period="2026-01").value
    assert first == pytest.approx(1.8, abs=0.8)
    job = flows_job(rows, GROUPS, epsilon=1.0, privacy_unit=user)
    counts = job.bounded(rows).cells
    assert sorted(counts.steps.tolist()) == [204, 1843]  # floors of 2048/10 and 9 times that


REFUSED = [
    ({}, {"by": "day"}, "by 'year' or 'quarter' or 'month'|are months"),
    ({"periods": None}, {"by": "month"}, "by= is for rows with periods"),
    ({}, {"privacy_unit": "edge"}, "for counting='edges'"),
    (
        {},
        {"privacy_unit": gc.PrivacyUnit.user(max_contributions=2)},
        "needs the column of the users",
    ),
    ({}, {"privacy_unit": gc.PrivacyUnit.vertex(max_degree=2)}, "is for graphs"),
    ({"counting": "edges"}, {"privacy_unit": "row"}, "is for rows or their weights"),
    ({}, {"privacy_unit": gc.PrivacyUnit.row(3)}, "counts once"),
    (
        {"user": True, "periods": None},
        {"privacy_unit": "user:max-contributions=2,per-period"},
        "periods=",
    ),
]


@pytest.mark.parametrize(("how", "options", "words"), REFUSED)
def test_what_rows_cannot_guarantee_is_refused_before_they_are_read(how, options, words):
    with pytest.raises((ParameterError, GraphError), match=words) as caught:
        gc.release_flows(rows_of(trips(9), **how), GROUPS, **{"epsilon": 1.0} | options)
    assert "\n" not in str(caught.value)


def test_graphs_of_rows_have_no_periods():
    with pytest.raises(ParameterError, match="are for release_flows"):
        gc.release_graph(rows_of(trips(9)), epsilon=1.0, privacy_unit="row")
    rows = rows_of(trips(), periods=None)
    release = gc.release_graph(rows, epsilon=50.0, privacy_unit="row", seed=1, noise="laplace")
    true = Counter((u, v) for u, v in zip(trips()["from"], trips()["to"], strict=True) if u != v)
    for u, v in product(ZONES, repeat=2):
        if u != v:
            value = release.answer([u], [v]).value
            assert value == pytest.approx(true[u, v], abs=2)


@pytest.fixture
def folder(tmp_path):
    """The trips in two Parquet files."""
    whole = pl.from_pandas(trips())
    (tmp_path / "trips").mkdir()
    whole[:150].write_parquet(tmp_path / "trips" / "a.parquet")
    whole[150:].write_parquet(tmp_path / "trips" / "b.parquet")
    return tmp_path / "trips"


HOW = {"vertices": ZONES, "periods": "2026-01..2026-04", "kind": "directed"}
OWNED = gc.Columns(source="from", target="to", user="who", period="when")


def test_rows_in_memory_and_in_engines_give_one_table(folder):
    user, tables = gc.PrivacyUnit.user(max_contributions=3), []
    for rows in (
        gc.Rows.of(trips(), columns=OWNED, **HOW),
        gc.Rows.of(pl.from_pandas(trips()).lazy(), columns=OWNED, **HOW),
        gc.Rows.of(duckdb.read_parquet(f"{folder}/*.parquet"), columns=OWNED, **HOW),
        gc.Rows.read(folder, columns=OWNED, **HOW),
    ):
        flows = gc.release_flows(rows, GROUPS, epsilon=1.0, privacy_unit=user, seed=7)
        tables.append(flows.to_frame(kind="pandas"))
        assert "private" not in repr(rows)
    assert all(each.equals(tables[0]) for each in tables)


def test_each_period_has_a_budget_of_its_own(folder, tmp_path):
    """A table of the months that are over, then of later ones, all within a budget of 1."""
    store = gc.Store(tmp_path / "trips.db", budget=1)
    each = gc.PrivacyUnit.user(max_contributions=3, per_period=True)

    def table(periods, privacy_unit=each, **options):
        rows = gc.Rows.read(folder, columns=OWNED, **HOW | {"periods": periods} | options)
        return gc.release_flows(rows, GROUPS, epsilon=1.0, privacy_unit=privacy_unit, store=store)

    with pytest.raises(LedgerError, match="known to a store by a name"):
        table("2026-01")
    for periods in ("2026-01..2026-02", "2026-03"):
        assert table(periods, data_name="trips").guarantee.privacy_unit == "1 user in one month"
    with pytest.raises(BudgetError, match="reads 2026-03, on which epsilon = 1 was spent"):
        table("2026-03..2026-04", data_name="trips")
    with pytest.raises(LedgerError, match="data of another name"):
        table("2026-04", data_name="other trips")
    assert len(gc.store_status(store).uses) == 2


def test_a_bound_for_all_periods_counts_for_every_period(folder, tmp_path):
    store, user = (
        gc.Store(tmp_path / "trips.db", budget=1),
        gc.PrivacyUnit.user(max_contributions=3),
    )
    rows = gc.Rows.read(folder, columns=OWNED, data_name="trips", **HOW | {"periods": "2026-01"})
    gc.release_flows(rows, GROUPS, epsilon=0.6, privacy_unit=user, store=store)
    later = gc.Rows.read(folder, columns=OWNED, data_name="trips", **HOW | {"periods": "2026-04"})
    with pytest.raises(BudgetError):
        gc.release_flows(later, GROUPS, epsilon=0.6, privacy_unit=user, store=store)


def test_graphs_of_rows_in_an_engine_keep_whole_rows(folder):
    how = {name: value for name, value in HOW.items() if name != "periods"}
    columns = gc.Columns(source="from", target="to", user="who")
    user = gc.PrivacyUnit.user(max_contributions=3)
    graph = gc.Rows.read(folder, columns=columns, **how).bounded(user)
    assert (graph.weights == np.round(graph.weights)).all()
    assert 0 < graph.weights.sum() <= 3 * trips()["who"].nunique()
    lazy = gc.Rows.of(pl.from_pandas(trips()).lazy(), columns=columns, **how)
    assert lazy.bounded(user) == graph
