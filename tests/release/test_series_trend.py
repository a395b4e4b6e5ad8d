"""What a series over time says before it is charged: false trends, and tables of noise."""

import json

import pandas
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import AccuracyWarning, ParameterError

ZONES = ["a", "b", "c"]
GROUPS = gc.Groups(gc.VertexSet(ZONES), {"zone": ZONES})
MONTHS = gc.Periods.of("2026-01..2026-04").labels
PEOPLE, TRIPS = 20, 9  # of each person in each month: traffic that never changes


def steady_rows(periods="2026-01..2026-04", user="user", counting="rows"):
    frame = pandas.DataFrame(
        [
            (f"u{person}", ZONES[trip % 3], ZONES[trip // 3], f"{month}-10")
            for month in MONTHS
            for person in range(PEOPLE)
            for trip in range(TRIPS)
        ],
        columns=["user", "source", "target", "date"],
    )
    columns = gc.Columns(period="date", user=user)
    return gc.Rows.of(
        frame,
        columns=columns,
        vertices=ZONES,
        periods=periods,
        kind="directed",
        counting=counting,
    )


def plan_of(rows, unit, epsilon=1.0, **more):
    return gc.release.update_plan(rows, GROUPS, epsilon=epsilon, privacy_unit=unit, **more)


def user(bound, per_period=False):
    return gc.PrivacyUnit.user(max_contributions=bound, per_period=per_period)


def published(unit, folder, epsilon=50.0):
    rows = steady_rows()
    for month in MONTHS:
        flows = gc.update_flows(
            rows, GROUPS, period=month, epsilon=epsilon, privacy_unit=unit, store=folder / "s.db"
        )
    return flows


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("unit", "trips_of_a_person"),
    [
        (user(15), [9, 6, 0, 0]),  # used up in the second month
        (user(36), [9, 9, 9, 9]),  # nine times four months: the rule of the note
        (user(9, per_period=True), [9, 9, 9, 9]),
    ],
    ids=str,
)
def test_steady_traffic_declines_only_under_a_bound_that_is_used_up(
    unit, trips_of_a_person, tmp_path
):
    flows = published(unit, tmp_path)
    for month, trips in zip(MONTHS, trips_of_a_person, strict=True):
        assert flows.total(month).estimate == pytest.approx(PEOPLE * trips, abs=25)
    # The warning follows from public facts: it is there whatever people have.
    assert bool(flows.trend_warning) is not unit.per_period
    flows.save(tmp_path / "t.csv")
    first_line = (tmp_path / "t.csv").read_text().splitlines()[0]
    sentence = json.loads((tmp_path / "t.csv.json").read_text())["counted_rows"]["sentence"]
    for text in (first_line, sentence, flows.between("a", "b", MONTHS[2]).counted):
        assert ("do not read a decline" in text) is not unit.per_period
    assert gc.load(tmp_path / "t.csv").trend_warning == flows.trend_warning


@pytest.mark.parametrize(
    ("unit", "periods", "warned"),
    [
        (user(15), "2026-01..2026-04", True),
        (user(15), ["2026-01"], False),  # one month is compared with no other
        (user(15, per_period=True), "2026-01..2026-04", False),
        ("row", "2026-01..2026-04", False),
    ],
    ids=str,
)
def test_a_false_trend_is_said_before_anything_is_charged(unit, periods, warned):
    rows = steady_rows(periods, user=None if unit == "row" else "user")
    notes = " ".join(plan_of(rows, unit).notes)
    assert ("do not read a decline" in notes) is warned
    assert ("4 times the rows that a regular person has in one month" in notes) is warned


def test_a_bound_on_months_with_a_part_of_epsilon_has_the_same_noise():
    """The note says so of the bound for all months that keeps all of them alike."""
    rows, months = steady_rows(), len(MONTHS)
    together = plan_of(rows, user(TRIPS * months), strategy="independent")
    apart = plan_of(rows, user(TRIPS, per_period=True), 1.0 / months, strategy="independent")
    assert together.noise.parameters == apart.noise.parameters
    assert together.grid.unit == apart.grid.unit


def test_the_note_on_errors_is_the_deviation_of_a_published_cell(tmp_path):
    flows = published(user(36), tmp_path, epsilon=1.0)
    plan = plan_of(steady_rows(), user(36))
    deviation = plan.period_noise.deviations[-1] * plan.grid.unit
    assert flows.between("a", "b", MONTHS[1]).deviation == pytest.approx(deviation)
    total = plan.period_noise.deviations[0] * plan.grid.unit
    assert flows.total(MONTHS[1]).deviation == pytest.approx(total)
    (note,) = [text for text in plan.notes if text.startswith("Expected error of a cell")]
    assert f"{deviation:,.1f}" in note
    assert plan.errors()[0][1] == pytest.approx(plan.period_noise.half_width)


def test_a_series_of_noise_is_refused_before_it_is_charged(tmp_path):
    rows, store = steady_rows(), tmp_path / "s.db"
    options = {"privacy_unit": user(36), "store": store}
    noise = plan_of(rows, user(36)).period_noise.deviations[-1] / 1024

    def first_month(epsilon=1.0, **more):
        return gc.update_flows(rows, GROUPS, period=MONTHS[0], epsilon=epsilon, **options, **more)

    with pytest.raises(ParameterError, match="above the 5 that you expect") as refused:
        first_month(expected_cell=5)
    assert not store.exists()
    enough = float(str(refused.value).split("raise epsilon to ")[1].split()[0].rstrip(","))
    assert plan_of(rows, user(36), enough).period_noise.deviations[-1] / 1024 <= 5
    with pytest.raises(ParameterError, match="expected_cell must be"):
        first_month(expected_cell=-1)
    first_month(expected_cell=noise * 1.01)
    # The series has begun: later months cost nothing more, so that nothing is refused.
    gc.update_flows(rows, GROUPS, period=MONTHS[1], epsilon=1.0, **options, expected_cell=5)


def test_pairs_that_noise_hides_are_refused_unless_they_are_wanted(tmp_path):
    """As a table of one time is: half of the cells of single zones can hold one pair."""
    rows, store = steady_rows(user="user", counting="edges"), tmp_path / "s.db"
    options = {"privacy_unit": user(9, per_period=True), "period": MONTHS[0], "store": store}
    with pytest.raises(ParameterError, match="can hold 1 edge at most"):
        gc.update_flows(rows, GROUPS, epsilon=1.0, **options)
    assert not store.exists()
    with pytest.warns(AccuracyWarning, match="what is shown of this level is noise"):
        gc.update_flows(rows, GROUPS, epsilon=1.0, **options, expected_cell=0)


@pytest.mark.thorough
def test_a_chart_has_the_numbers_and_intervals_of_the_table(tmp_path):
    flows = published(user(36), tmp_path, epsilon=5.0)
    figure = flows.plot(title="Trips")
    table = flows.columns(flows.periods)
    for axes in figure.axes:
        source, _, target = axes.get_title(loc="left").partition(" \N{RIGHTWARDS ARROW} ")
        source, target = (source, target) if target else [source.removeprefix("within ")] * 2
        of_cell = (table["from"] == source) & (table["to"] == target)
        drawn = [max(0.0, estimate) for estimate in table["estimate"][of_cell]]  # as the intervals
        assert axes.lines[0].get_ydata() == pytest.approx(drawn)
        wide, narrow = (band.get_paths()[0].vertices[:, 1] for band in axes.collections)
        assert narrow.max() == pytest.approx(table["high"][of_cell].max())
        assert wide.max() > narrow.max()
    assert len(figure.axes) == 9
    assert "Trips" in figure.get_suptitle()
    assert "do not read a decline" in figure.get_suptitle().replace("\n", " ")
