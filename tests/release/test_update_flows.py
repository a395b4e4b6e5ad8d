"""A table that is published period after period: its order, its state, its results."""

import dataclasses
import itertools
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas
import pytest

import graphcuts_dp as gc
from graphcuts_dp import (
    BudgetError,
    GraphCutsError,
    KindError,
    LedgerError,
    ParameterError,
    QueryError,
)
from graphcuts_dp.array_archive import ArrayForm
from graphcuts_dp.ledger import ledger as ledger_module
from graphcuts_dp.ledger import series as ledger_series
from graphcuts_dp.ledger.observed import observed_charges
from graphcuts_dp.ledger.opening import open_ledger
from graphcuts_dp.ledger.records import Kind
from graphcuts_dp.measure.updates import UpdateState
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.release import updates
from graphcuts_dp.results.array_forms import check_forms

ZONES = ["a", "b", "c", "d"]
GROUPS = gc.Groups(gc.VertexSet(ZONES), {"half": ["x", "x", "y", "y"], "zone": ZONES})
MONTHS = gc.Periods.of("2026-11..2027-04").labels
LIFE = gc.PrivacyUnit.user(max_contributions=30)
STRATEGIES = {
    "independent": {"strategy": "independent"},
    "calendar-years": {"strategy": "calendar-years"},
    "square-root": {"delta": 1e-6},
    "users": {"privacy_unit": LIFE},
}
SECRETS = ("calendar-years", "square-root", "users")


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def _seeded(monkeypatch):
    """Noise of a seed, in place of the system's: what is published can be compared."""
    seeds = itertools.count()
    monkeypatch.setattr(updates, "entropy_source", lambda _: SeededEntropy(next(seeds)))


def trips(seed=0, count=3000, months=MONTHS):
    drawn = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "user": [f"u{number}" for number in drawn.integers(0, 40, count)],
            "source": drawn.choice(ZONES, count),
            "target": drawn.choice(ZONES, count),
            "date": [f"{month}-10" for month in drawn.choice(months, count)],
        }
    )


def rows_of(frame, users=False, periods="2026-11..2027-04", vertices=ZONES, kind="directed"):
    columns = gc.Columns(period="date", user="user" if users else None)
    return gc.Rows.of(frame, columns=columns, vertices=vertices, periods=periods, kind=kind)


def update(frame, month, groups=GROUPS, store="s.db", options=None, **more):
    chosen = dict(STRATEGIES["calendar-years"] if options is None else options)
    users = "privacy_unit" in {**chosen, **more}
    reading = {name: more.pop(name) for name in ("periods", "vertices", "kind") if name in more}
    chosen = {"epsilon": 1.0, **chosen, **more}
    return gc.update_flows(
        rows_of(frame, users, **reading), groups, period=month, store=store, **chosen
    )


def true_sum(frame, first, last, a="x", b="y"):
    sides = {"x": ["a", "b"], "y": ["c", "d"]}
    inside = (frame.date >= first) & (frame.date <= f"{last}-31")
    return int((inside & frame.source.isin(sides[a]) & frame.target.isin(sides[b])).sum())


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("_seeded")
@pytest.mark.parametrize("name", STRATEGIES)
def test_windows_are_near_the_truth_and_epsilon_is_charged_once(name):
    frame = trips()
    for month in MONTHS:
        flows = update(frame[frame.date <= f"{month}-31"], month, options=STRATEGIES[name])
    assert flows.periods == MONTHS
    status = gc.store_status("s.db")
    assert (status.epsilon, len(status.uses)) == (1.0, 1)
    if name != "users":
        assert [cost.epsilon for cost in status.periods.values()] == [1.0] * len(MONTHS)
        for first, last in (
            ("2026-11", "2026-11"),
            ("2026-12", "2027-02"),
            (MONTHS[0], MONTHS[-1]),
        ):
            answer = flows.between("x", "y", f"{first}..{last}", level="half")
            truth = true_sum(frame, first, last)
            assert abs(answer.estimate - truth) < 5 * answer.deviation
            assert answer.interval[0] <= answer.value <= answer.interval[1]


@pytest.mark.usefixtures("_seeded")
def test_years_of_the_horizon_and_running_totals_have_lines():
    frame = trips()
    for month in MONTHS[:3]:
        flows = update(frame, month)
    assert list(flows.windows) == [*MONTHS[:3], "2026", "2026-11..2027-01"]
    table = flows.columns()
    year = {
        (a, b): estimate
        for name, a, b, estimate in zip(
            table["periods"], table["from"], table["to"], table["estimate"], strict=True
        )
        if name == "2026"
    }
    assert year["a", "c"] == pytest.approx(flows.between("a", "c", "2026").estimate)
    total = sum(year.values())
    assert total == pytest.approx(flows.total("2026").estimate)
    narrow = flows.between("a", "c", "2026").deviation
    assert narrow < flows.between("a", "c", "2026-11").deviation * 2**0.5


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", STRATEGIES)
def test_a_month_that_is_published_comes_from_the_store_bit_by_bit(name, tmp_path):
    frame, options = trips(), STRATEGIES[name]
    before = {}
    for month in MONTHS[:4]:
        update(frame, month, options=options).save(tmp_path / f"{month}.csv")
        before |= {path.name: path.read_bytes() for path in tmp_path.glob(f"{month}*")}
    for month in MONTHS[:4]:
        again = update(trips(1, 10), month, options=options)  # other rows, which are not read
        again.save(tmp_path / f"{month}.csv", force=True)
    assert before == {path.name: path.read_bytes() for path in tmp_path.glob("202*")}
    loaded = gc.load(tmp_path / "2027-02.csv")
    assert loaded.windows == again.windows
    assert (loaded.columns()["low"] == again.columns()["low"]).all()


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", STRATEGIES)
def test_late_rows_never_count(name, monkeypatch):
    """The same noise, and the same numbers, whatever comes into months that are published."""
    frame = trips()
    late = trips(7, 500, MONTHS[:1])
    late["user"] = "late"

    def published(store, tables):
        seeds = itertools.count()
        monkeypatch.setattr(updates, "entropy_source", lambda _: SeededEntropy(next(seeds)))
        for month, table in zip(MONTHS, tables, strict=False):
            flows = update(table, month, store=store, options=STRATEGIES[name])
        return [part.tolist() for part in flows.noisy.steps]

    punctual = published("a.db", [frame, frame, frame])
    assert published("b.db", [frame, *[pandas.concat([frame, late])] * 2]) == punctual
    alone = [frame[frame.date.str.startswith(month)] for month in MONTHS[:3]]
    assert published("c.db", alone) == punctual  # one file a month


def test_out_of_order_and_unknown_months_are_refused():
    frame = trips()
    with pytest.raises(
        ParameterError, match="the series 'flows' has no period yet, and starts with 2026-11"
    ):
        update(frame, "2026-12")
    with pytest.raises(ParameterError, match="keep=False"):
        update(frame, "2026-11", store=gc.Store("s.db", keep=False))
    assert not Path("s.db").exists()
    update(frame, "2026-11")
    with pytest.raises(ParameterError, match="next one of the series 'flows' is 2026-12"):
        update(frame, "2027-01")
    with pytest.raises(ParameterError, match="none of the declared periods"):
        update(frame, "2028-01")
    assert gc.store_status("s.db").epsilon == 1.0


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 2.0}, "epsilon: 1.0, and now it is 2.0"),
        ({"delta": 1e-6}, "delta: 0.0"),
        ({"strategy": "independent"}, "strategy: calendar-years, and now it is independent"),
        ({"periods": "2026-11..2027-05"}, "other periods"),
        ({"kind": "undirected"}, "other directions"),
        ({"privacy_unit": LIFE}, "bound on contributions: 1, and now it is 30"),
        (
            {"groups": gc.Groups(gc.VertexSet(ZONES), {"half": ["x", "x", "x", "y"]})},
            "other groups",
        ),
        (
            {
                "vertices": [*ZONES, "e"],
                "groups": gc.Groups(gc.VertexSet([*ZONES, "e"]), {"half": list("xxyyy")}),
            },
            "other vertices",
        ),
    ],
)
@pytest.mark.parametrize("month", ["2026-11", "2026-12"])
def test_changed_terms_are_refused_in_one_line(change, message, month):
    frame = trips()
    update(frame, "2026-11")
    before = gc.store_status("s.db").head
    with pytest.raises(ParameterError, match=message) as refused:
        update(frame, month, **change)
    assert "\n" not in str(refused.value)
    assert gc.store_status("s.db").head == before


def test_several_series_add_up_and_keep_within_the_budget():
    frame = trips()
    store = gc.Store("s.db", budget=1.5)
    update(frame, "2026-11", store=store)
    with pytest.raises(BudgetError, match="nothing was spent"):
        update(frame, "2026-11", store=store, series="halves")
    update(frame, "2026-11", store=store, series="halves", epsilon=0.5)
    update(frame, "2026-12", store=store)
    status = gc.store_status("s.db")
    assert (status.epsilon, [use.use.name for use in status.uses]) == (1.5, ["flows", "halves"])


def test_independent_releases_of_months_cost_epsilon_once():
    """Whether by a series, one table of months, or a table each: the most on one month counts."""
    frame = trips()
    unit = {"epsilon": 1.0, "store": gc.Store("m.db", same_people=True)}
    for month in MONTHS[:3]:
        gc.release_flows(rows_of(frame, periods=[month]), GROUPS, **unit)
    assert gc.store_status("m.db").epsilon == 1.0
    gc.update_flows(
        rows_of(frame, periods="2027-02..2027-04"),
        GROUPS,
        period="2027-02",
        epsilon=1.0,
        store="m.db",
    )
    assert gc.store_status("m.db").epsilon == 1.0
    assert len(gc.store_status("m.db").periods) == 6


def secret_of(path="s.db"):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT secret FROM states").fetchall()


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", SECRETS)
def test_the_state_is_secret_and_erased_with_the_last_month(name):
    frame, found = trips(), []
    for month in MONTHS:
        update(frame, month, options=STRATEGIES[name])
        ((secret,),) = secret_of()
        found += [] if secret is None else [secret]
        assert stat.S_IMODE(Path("s.db").stat().st_mode) == 0o600
    assert found
    assert secret is None
    content = Path("s.db").read_bytes()
    assert not [one for one in found if one[-200:] in content or one[:60] in content]


def test_independent_months_leave_no_secret():
    frame = trips()
    for month in MONTHS[:2]:
        update(frame, month, options=STRATEGIES["independent"])
        assert secret_of() == [(None,)]


def test_true_sums_are_kept_no_longer_than_they_are_read():
    frame = trips()
    kept = {}
    for month in MONTHS:
        update(frame, month)
        ((secret,),) = secret_of()
        kept[month] = sorted(UpdateState.unpack(secret).sums)
    assert list(kept.values()) == [[0], [], [2], [2, 3], [2, 3, 4], []]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", SECRETS)
def test_a_series_that_is_ended_publishes_no_more(name):
    frame, options = trips(), STRATEGIES[name]
    update(frame, "2026-11", options=options)
    ((secret,),) = secret_of()
    first = update(frame, "2026-11", options=options).columns()["estimate"]
    gc.release.end_series("s.db")
    gc.release.end_series("s.db")  # once more changes nothing
    assert secret_of() == [(None,)]
    assert secret[-200:] not in Path("s.db").read_bytes()
    with pytest.raises(ParameterError, match="has ended"):
        update(frame, "2026-12", options=options)
    again = update(frame, "2026-11", options=options).columns()["estimate"]
    assert (first == again).all()
    with pytest.raises(ParameterError, match="no series 'others'"):
        gc.release.end_series("s.db", "others")
    assert gc.store_status("s.db").uses[0].state == "ended after 1 of 6 periods"


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("name", STRATEGIES)
def test_a_plan_of_an_ended_series_publishes_no_more(name, monkeypatch):
    frame, options = trips(), {"epsilon": 1.0, **STRATEGIES[name]}
    update(frame, "2026-11", options=options)
    gc.release.end_series("s.db")
    rows = rows_of(frame, name == "users")
    plan = gc.release.update_plan(rows, GROUPS, **options)
    monkeypatch.setattr(updates, "measure_period", None)
    with pytest.raises(ParameterError, match="has ended"):
        plan.publish(rows, "2026-12", store="s.db")


@pytest.mark.parametrize("name", SECRETS)
def test_a_state_whose_secret_is_lost_stops_the_series(name):
    """A bound that began again would count a user's rows twice."""
    frame, options = trips(), STRATEGIES[name]
    update(frame, "2026-11", options=options)
    with closing(sqlite3.connect("s.db")) as connection:
        connection.execute("UPDATE states SET secret = NULL")
        connection.commit()
    with pytest.raises(LedgerError, match="lost the secret state"):
        update(frame, "2026-12", options=options)


def test_of_two_processes_one_publishes_a_month(monkeypatch):
    frame = trips()
    update(frame, "2026-11")
    publish = updates.publish_period

    def overtaken(*arguments):
        monkeypatch.setattr(updates, "publish_period", publish)
        update(frame, "2026-12")
        publish(*arguments)

    monkeypatch.setattr(updates, "publish_period", overtaken)
    with pytest.raises(LedgerError, match="was thrown away"):
        update(frame, "2026-12")
    assert update(frame, "2026-12").periods == MONTHS[:2]


def test_a_month_that_was_interrupted_is_measured_again_for_nothing(monkeypatch):
    frame = trips()
    for month in MONTHS[:2]:
        with monkeypatch.context() as patch:
            patch.setattr(updates, "publish_period", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                update(frame, month)
        assert update(frame, month).periods[-1] == month
    status = gc.store_status("s.db")
    assert (status.epsilon, len(status.uses)) == (1.0, 1)


def test_an_altered_content_is_noticed():
    frame = trips()
    update(frame, "2026-11")
    with closing(sqlite3.connect("s.db")) as connection:
        connection.execute("DROP TRIGGER contents_no_update")
        connection.execute("UPDATE contents SET data = x'00'")
        connection.commit()
    with pytest.raises(LedgerError, match="altered"):
        update(frame, "2026-11")


@pytest.mark.thorough
def test_the_record_reads_the_same_from_the_start_and_from_a_checkpoint(monkeypatch):
    monkeypatch.setattr(ledger_module, "_CHECKPOINT_RECORDS", 6)
    frame = trips(count=200)
    months = gc.Periods.of("2026-05..2027-04").labels
    for month in months:
        update(frame, month, periods="2026-05..2027-04", options=STRATEGIES["independent"])
    with closing(sqlite3.connect("s.db")) as connection:
        kinds = [kind for (kind,) in connection.execute("SELECT kind FROM records ORDER BY seq")]
    assert kinds[6:].count(Kind.CHECKPOINT) > 0
    with closing(open_ledger("s.db", whole=False)) as ledger, ledger.locked():
        assert ledger.spending.uses == 1
        assert len(ledger.uses[1].published) == len(months)
    assert gc.store_status("s.db").uses[0].state == "finished"
    assert gc.store_status("s.db").uses[0].use.kind == ledger_series.FLOWS_OVER_TIME


def test_windows_that_are_none_are_refused():
    frame = trips()
    for month in MONTHS[:3]:
        flows = update(frame, month)
    assert flows.window("2026") == (0, 2)
    assert flows.window(["2026-12", "2027-01"]) == (1, 3)
    assert flows.window("2026..2027") == (0, 3)
    for periods, message in (
        ("2027-02", "not published"),
        ("2030", "not published"),
        (["2026-11", "2027-01"], "follow each other"),
        ([], "at least one period"),
        ("2027-01..2026-12", "ends before it begins"),
        ("2027..2026", "ends before it begins"),
    ):
        with pytest.raises(QueryError, match=message):
            flows.between("a", "b", periods)
    with pytest.raises(QueryError, match="unknown group"):
        flows.between("a", "nowhere")
    with pytest.raises(QueryError, match="at least one window"):
        flows.to_frame([])


def test_a_charge_is_reported_where_an_error_came_after_it(monkeypatch):
    def failing(*_):
        raise LedgerError("the disk fails")

    join_data = ledger_series.join_data
    monkeypatch.setattr(ledger_series, "join_data", failing)
    with observed_charges() as begun, pytest.raises(LedgerError, match="the disk fails"):
        update(trips(), MONTHS[0])
    monkeypatch.setattr(ledger_series, "join_data", join_data)
    assert gc.store_status("s.db").epsilon == 1.0
    (charge,) = begun
    assert charge.advice().endswith("the same command again costs nothing more")
    update(trips(), MONTHS[0])
    assert gc.store_status("s.db").epsilon == 1.0


def test_a_store_that_is_busy_only_lacks_the_names_of_the_files():
    with observed_charges() as begun:
        update(trips(), MONTHS[0])
    (charge,) = begun
    with closing(open_ledger("s.db")) as ledger, ledger.locked():
        impatient = gc.Store("s.db", timeout=0.01)
        dataclasses.replace(charge, store=impatient).record_files({"flows.csv": "0" * 64})
    assert not gc.store_status("s.db").uses[0].files
    charge.record_files({"flows.csv": "0" * 64})
    assert gc.store_status("s.db").uses[0].files == {"flows.csv": "0" * 64}


def test_graphs_and_rows_without_periods_are_refused():
    with pytest.raises(KindError, match="rows with periods"):
        gc.update_flows(
            gc.datasets.load("karate"),
            gc.datasets.load_groups("karate"),
            period="2026-11",
            epsilon=1.0,
            store="s.db",
        )


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", STRATEGIES)
def test_arrays_of_another_size_than_the_receipt_says_are_refused(name):
    """Before any cell is numbered: whoever writes a receipt may name any number of groups."""
    for month in MONTHS[:3]:
        flows = update(trips(), month, options=STRATEGIES[name])
    parts = flows.to_parts()

    def check(**changed):
        fields = {**parts.fields, "sums": {**parts.fields["sums"], **changed}}
        arrays = parts.arrays.items()
        forms = {key: ArrayForm(array.dtype, array.shape, False, 0) for key, array in arrays}
        check_forms(parts.kind, fields, forms, table_bytes=10**6)

    check()
    groups = {"labels": list(range(10**4)), "sizes": [1] * 10**4, "parents": [0] * 10**4}
    for changed in (
        {"rows": {"levels": [{"name": "zone", **groups}]}},
        {"published": 4},
        {"published": 10**9},
        {"horizon": [f"{year:04}" for year in range(1, 9999)]},
    ):
        with pytest.raises(GraphCutsError):
            check(**changed)


def records_after(*tables):
    """The number of records of a store after a month of each table, as its head shows it."""
    Path("s.db").unlink(missing_ok=True)
    for month, table in zip(MONTHS, tables, strict=False):
        update(table, month)
    return gc.store_status("s.db").head.split(":")[0]


def test_the_head_of_a_store_depends_on_no_row():
    first = trips(count=20, months=MONTHS[:1])
    second = pandas.concat([first, trips(seed=1, count=20, months=MONTHS[1:2])])
    tables = [(first, second), (first, first), (first, second[1:]), (first, first[:0])]
    assert len({records_after(*pair) for pair in tables}) == 1


def test_the_column_of_users_stays_the_same():
    table = trips().assign(card=lambda frame: frame["user"] + "'s card")

    def month(period, user):
        columns = gc.Columns(period="date", user=user)
        rows = gc.Rows.of(
            table, columns=columns, vertices=ZONES, periods="2026-11..2027-04", kind="directed"
        )
        return gc.update_flows(
            rows, GROUPS, period=period, epsilon=1.0, privacy_unit=LIFE, store="s.db"
        )

    month(MONTHS[0], "user")
    with pytest.raises(ParameterError, match="other column of users: user, and now it is card"):
        month(MONTHS[1], "card")
    assert month(MONTHS[1], "user").periods == MONTHS[:2]


def test_a_version_with_other_noise_does_not_go_on():
    table = trips()
    update(table, MONTHS[0])
    plan = updates.update_plan(rows_of(table), GROUPS, epsilon=1.0, strategy="calendar-years")
    other = updates.replace(plan, noise=updates.replace(plan.noise, distribution="other"))
    with pytest.raises(ParameterError, match="other noise"):
        other.published("s.db", MONTHS[1])
