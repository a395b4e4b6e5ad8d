"""What objects draw of themselves."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
import shown
from statistic_cases import planted

import graphcuts_dp as gc
from graphcuts_dp import QueryError, release_flows
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.plotting.answer_lists import session_answers_figure
from graphcuts_dp.plotting.flow_tables import FlowPicture, heat_map_figure

PICTURE = FlowPicture(
    values=np.array([[9.0, 0.0, 4.0], [0.0, 0.0, 1.0], [4.0, 1.0, 1234.0]]),
    half_widths=np.array([[1.5, 1.5, 1.5], [1.5, 1.5, 1.5], [1.5, 1.5, 12.0]]),
    low=np.array([[5.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1234 / 2]]),
    possible=np.array([[True, True, True], [True, False, True], [True, True, True]]),
    row_names=["a", "b", "c"],
    column_names=["a", "b", "c"],
    title="Flows",
)
HALF_WIDTH = f"± half width of the {DEFAULT_PERCENT} interval of the cell alone"
GREY, WHITE = [230 / 255] * 3, [1, 1, 1]


@pytest.fixture
def drawn(tmp_path):
    """Draws a figure whole, and gives its first axes and their title."""

    def draw(figure):
        figure.savefig(tmp_path / "x.png", dpi=50)
        assert (tmp_path / "x.png").stat().st_size > 1000
        return figure.axes[0], figure.axes[0].get_title(loc="left")

    return draw


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return shown.made(tmp_path_factory.mktemp("shown"))


def points(axes, number=1, coordinate=1):
    return axes.collections[number].get_offsets().data[:, coordinate]


def texts(found):
    return [each.get_text() for each in found]


# Flows.


def test_a_small_heat_map_has_its_numbers_and_errors(drawn):
    figure = heat_map_figure(PICTURE)
    axes, _ = drawn(figure)
    shades = np.asarray(axes.images[0].get_array())
    assert shades[1, 1].tolist() == GREY
    assert shades[0, 1].tolist() == shades[1, 0].tolist() == WHITE
    light = shades.mean(axis=2)
    assert light[2, 2] < light[0, 0] < light[0, 2] < light[1, 2] < 1  # darker holds more
    assert not axes.patches  # no hatches
    assert texts(axes.texts) == [
        *("9", "±1.5", "0", "±1.5", "4", "±1.5", "0", "±1.5", "1", "±1.5"),
        *("4", "±1.5", "1", "±1.5", "1,234", "±12"),
    ]
    assert [each.get_color() for each in axes.texts] == ["#000000"] * 14 + ["#ffffff"] * 2
    assert texts(figure.legends[0].texts) == [HALF_WIDTH, "no pair of vertices"]
    assert texts(axes.get_xticklabels()) == ["a", "b", "c"]
    assert axes.get_xlabel() == axes.get_ylabel() == ""  # the picture names no levels
    weights = {"values": PICTURE.values + 0.25, "unit": "weight", "integral": False}
    every = dataclasses.replace(PICTURE, possible=np.ones((3, 3), dtype=bool), **weights)
    figure = heat_map_figure(every)
    assert texts(figure.legends[0].texts) == [HALF_WIDTH]
    assert texts(figure.axes[0].texts)[:2] == ["9.25", "±1.5"]
    assert figure.axes[1].get_ylabel() == "noisy weight"


def large(count, **options):
    """A picture of so many groups: noise, and one large flow."""
    values = np.abs(np.random.default_rng(0).normal(size=(count, count)))
    values[3, 5] = values[5, 3] = 100
    halves = [("left", count // 2), ("right", count - count // 2 - 1), ("tiny", 1)]
    return FlowPicture(
        values=values,
        half_widths=np.ones((count, count)),
        low=np.where(values > 50, 90.0, 0.0),
        possible=np.ones((count, count), dtype=bool),
        row_names=[str(i) for i in range(count)],
        column_names=[str(i) for i in range(count)],
        enclosing=(halves, halves),
        title="Flows",
        **options,
    )


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("count", [13, 49, 61, 121])
def test_in_a_large_heat_map_noise_is_white(count, drawn):
    picture = large(count)
    figure = heat_map_figure(picture)
    axes, _ = drawn(figure)
    shades = np.asarray(axes.images[0].get_array())
    hidden = picture.values <= 1
    assert (shades[hidden] == 1).all()
    assert (shades[~hidden] < 1).any(axis=1).all()
    assert shades[3, 5].mean() == shades.mean(axis=2).min() < 0.3
    # Of two equal flows the one with the wider interval is paler.
    half_widths = picture.half_widths.copy()
    half_widths[5, 3] = 0
    half_widths[3, 5] = 50
    wider = dataclasses.replace(picture, half_widths=half_widths)
    unsure = heat_map_figure(wider).axes[0].images[0]
    unsure = np.asarray(unsure.get_array())
    assert unsure[3, 5] == pytest.approx((1 + unsure[5, 3]) / 2)
    assert not axes.patches
    assert not axes.texts
    assert "white below its half width" in figure.legends[0].texts[0].get_text()
    enclosing = ["left", "right"] if count > 60 else picture.row_names
    assert texts(axes.get_yticklabels()) == enclosing


def test_flows_are_drawn_by_level(drawn):
    graph, _, groups, _ = planted(parts=4)
    flows = release_flows(graph, groups, epsilon=1.0, seed=0)
    for level in ("half", "part"):
        axes, title = drawn(flows.plot(level))
        assert title == f"Flows by {level} (epsilon = 1, seeded: not private)"
        low, high = flows.intervals(level)
        possible = np.clip(flows.values(level), low, high)
        shades = np.asarray(axes.images[0].get_array())
        assert np.array_equal((shades == 1).all(axis=2), possible == 0)
        numbers = [f"{value:,.0f}" for value in possible.ravel()]
        assert texts(axes.texts)[::2] == numbers
        half_widths = flows.half_widths(level).ravel()
        assert texts(axes.texts)[1::2] == [f"±{width:.2g}" for width in half_widths]
    places = {0: (0, 0), 1: (1, 0), 2: (0, 1), 3: (1, 1)}
    assert len(flows.plot("part", coordinates=places, title="Mail").axes) == 1
    wrong = [places | {3: place} for place in ((0, 0, 0), (0, "east"), (0, float("nan")))]
    few = {group: places[group] for group in range(3)}
    for coordinates in (few, *wrong):
        words = "1 of 4 groups have no" if coordinates is few else "pairs of numbers"
        with pytest.raises(QueryError, match=words):
            flows.plot("part", coordinates=coordinates)
    with pytest.raises(QueryError, match="unknown level"):
        flows.plot("county")
    where = pd.DataFrame({"id": [0, 1, 2, 3], "lat": [60.0] * 4, "lon": [0.0, 1.0, 2.0, 4.0]})
    (axes,) = flows.plot("part", locations=where).axes
    dots = axes.collections[-1]
    assert dots.get_offsets()[:4].tolist() == [pytest.approx([x, 60]) for x in (0, 0.5, 1, 2)]
    with pytest.raises(QueryError, match="choose one"):
        flows.plot("part", locations=where, coordinates=places)


# Answers.


def test_a_release_draws_its_vertices_largest_first(made, drawn):
    release = made[0]["Release"]
    axes, title = drawn(release.plot())
    answers = release.answer_all([gc.CutQuery([label]) for label in shown.LABELS])
    values = sorted((answer.value for answer in answers), reverse=True)
    np.testing.assert_allclose(points(axes), values)
    degrees = sorted(release.graph.adjacency.sum(axis=1))
    np.testing.assert_allclose(sorted(points(axes, 2)), degrees)
    assert "epsilon = 2" in title


def test_a_release_draws_the_queries_that_are_given(made, drawn):
    queries = [gc.CutQuery(["b"], ["c"]), gc.CutQuery(["b", "c"])]
    for name in ("Release", "Release, sparse", "Release, seeded"):
        release = made[0][name]
        axes, title = drawn(release.plot(queries, title="Two"))
        values = [answer.value for answer in release.answer_all(queries)]
        np.testing.assert_allclose(points(axes), values)
        assert title.startswith("Two (")
        assert ("not private" in title) == (name == "Release, seeded")
    with pytest.raises(QueryError, match="no queries"):
        release.plot([])


def test_of_many_vertices_every_so_manieth_is_drawn(drawn):
    graph = gc.Graph([0], [1], vertices=450)
    axes, _ = drawn(gc.release_graph(graph, epsilon=9.0, fit="none").plot())
    assert len(points(axes)) == 150
    assert "one vertex in 3" in axes.get_xlabel()


@pytest.mark.parametrize(("name", "place"), [("IterativeRelease", 2), ("FewAnswers", 1)])
def test_what_was_measured_is_drawn_in_order(made, drawn, name, place):
    found = made[0][name]
    axes, title = drawn(found.plot(title="A list"))
    np.testing.assert_allclose(points(axes, place), [each.value for each in found.transcript])
    assert title.startswith("A list (epsilon = 2")


def test_a_session_draws_its_history(made, drawn, tmp_path):
    figure, table = made[2]
    np.testing.assert_allclose(points(drawn(figure)[0]), table["value"])
    begin = {"store": tmp_path / "a.db", "queries": 9, "epsilon": 40.0}
    with (
        gc.open_session(shown.private_graph(), **begin) as fresh,
        pytest.raises(QueryError, match="no answers to draw"),
    ):
        fresh.plot()


@pytest.mark.thorough
def test_what_is_no_list_of_answers_is_drawn_too(made, drawn):
    """A plan's guarantees, best first; distances' map; beliefs; classes of users."""
    plan = made[0]["Plan"]
    widths = points(drawn(plan.plot())[0], 1, 0).tolist()
    *answers, least_cut, halves = plan.rows
    assert widths == [row.guaranteed for row in answers if np.isfinite(row.guaranteed)]
    assert (least_cut.cuts, halves.cuts) == ("between two", "halves")
    assert widths == sorted(widths)
    assert "epsilon = 2" in drawn(made[0]["DistanceAnswers"].plot(unit="km"))[1]
    axes, title = drawn(made[0]["Explanation"].plot())
    corners = axes.collections[0].get_paths()[0].vertices
    middle = corners[np.isclose(corners[:, 0], 0.5)][:, 1]
    np.testing.assert_allclose([middle.min(), middle.max()], [1 / (1 + np.e), np.e / (1 + np.e)])
    assert "1e-06" in title
    axes, _ = drawn(made[0]["Contributions"].plot())
    assert [bar.get_height() for bar in axes.patches] == [9, 4, 2, 1]


@pytest.mark.thorough(cases=1)
@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize("rounds", [None, 4])
def test_sensing_draws_what_was_measured(rounds, drawn):
    ratings = gc.BipartiteGraph([0, 1, 2], [0, 1, 1], left=3, right=2)
    queries = [gc.CutQuery([user], [item]) for user in range(3) for item in range(2)]
    made = gc.release_iteratively(
        ratings, queries, epsilon=8.0, delta=1e-6, seed=1, construction=gc.Sensing(rounds=rounds)
    )
    axes, title = drawn(made.plot(title="Ratings"))
    values = [each.value for each in made.transcript]
    np.testing.assert_allclose(points(axes), values)
    assert title.startswith("Ratings (epsilon = 8")
    assert "not private" in title
    if rounds is None:
        ends = axes.collections[0].get_segments()[0][:, 1]
        error = made.accuracy.error
        assert ends == pytest.approx([values[0] - error, values[0] + error])
        assert len(axes.collections) == 2
    else:
        np.testing.assert_allclose(points(axes, 2), [each.estimate for each in made.transcript])


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("count", [1, 3, 500])
def test_values_and_intervals_are_drawn_but_for_infinite_ones(count, drawn):
    given = [(float(i), i - 2.0, i + 2.0, i % 3 == 1) for i in range(count)]
    given[0] = (0.0, -math.inf, math.inf, False)
    figure = session_answers_figure(given, title="Session a", unit="edges")
    axes, title = drawn(figure)
    assert points(axes).tolist() == [point[0] for point in given]
    assert (title, axes.get_ylabel()) == ("Session a", "edges")
    assert len(axes.collections) == (2 if count == 1 else 3)
    assert len(figure.legends) == (count > 1)
    assert np.isfinite(axes.get_ylim()).all()
    assert axes.get_ylim()[1] < count + 50
