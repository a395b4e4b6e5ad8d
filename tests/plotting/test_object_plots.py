"""Figures that results draw of themselves: values, intervals, titles, and refusals."""

import dataclasses
import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest
import shown
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
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
GREY, WHITE = [230 / 255] * 3, [1, 1, 1]  # red, green, blue; grey marks impossible flows


@pytest.fixture
def draw(tmp_path):
    """Return a function that renders a figure and returns its first axes and their title."""

    def render(figure: Figure) -> tuple[Axes, str]:
        figure.savefig(tmp_path / "x.png", dpi=50)
        assert (tmp_path / "x.png").stat().st_size > 1000
        return figure.axes[0], figure.axes[0].get_title(loc="left")

    return render


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """Return one result of each kind by name, and the plot and table of a session."""
    results, _, session_plot_and_table = shown.made(tmp_path_factory.mktemp("examples"))
    return results, session_plot_and_table


@pytest.fixture(scope="module")
def results(examples):
    return examples[0]


def positions(axes: Axes, collection: int = 1, coordinate: int = 1) -> np.ndarray:
    """Return x (0) or y (1) of the points of one collection of axes: 0 intervals, 1 values."""
    return axes.collections[collection].get_offsets().data[:, coordinate]


def texts(artists: Iterable[Text]) -> list[str]:
    return [artist.get_text() for artist in artists]


# Flows.


def test_a_small_heat_map_has_numbers_and_errors_and_darker_cells_for_larger_flows(draw):
    figure = heat_map_figure(PICTURE)
    axes, _ = draw(figure)
    shades = np.asarray(axes.images[0].get_array())
    assert shades[1, 1].tolist() == GREY
    assert shades[0, 1].tolist() == shades[1, 0].tolist() == WHITE
    lightness = shades.mean(axis=2)
    assert lightness[2, 2] < lightness[0, 0] < lightness[0, 2] < lightness[1, 2] < 1
    assert not axes.patches  # hatching would be patches
    assert texts(axes.texts) == [
        *("9", "±1.5", "0", "±1.5", "4", "±1.5", "0", "±1.5", "1", "±1.5"),
        *("4", "±1.5", "1", "±1.5", "1,234", "±12"),
    ]
    assert [text.get_color() for text in axes.texts] == ["#000000"] * 14 + ["#ffffff"] * 2
    assert texts(figure.legends[0].texts) == [HALF_WIDTH, "no pair of vertices"]
    assert texts(axes.get_xticklabels()) == ["a", "b", "c"]
    assert axes.get_xlabel() == axes.get_ylabel() == ""  # the picture names no levels


def test_a_heat_map_of_weights_has_decimals_and_its_unit():
    weights = dataclasses.replace(
        PICTURE,
        possible=np.ones((3, 3), dtype=bool),
        values=PICTURE.values + 0.25,
        unit="weight",
        integral=False,
    )
    figure = heat_map_figure(weights)
    assert texts(figure.legends[0].texts) == [HALF_WIDTH]
    assert texts(figure.axes[0].texts)[:2] == ["9.25", "±1.5"]
    assert figure.axes[1].get_ylabel() == "noisy weight"


def picture_of_noise(groups: int) -> FlowPicture:
    """Return a picture of noise between groups, with one large flow in both directions."""
    values = np.abs(np.random.default_rng(0).normal(size=(groups, groups)))
    values[3, 5] = values[5, 3] = 100
    parts = [("left", groups // 2), ("right", groups - groups // 2 - 1), ("tiny", 1)]
    return FlowPicture(
        values=values,
        half_widths=np.ones((groups, groups)),
        low=np.where(values > 50, 90.0, 0.0),
        possible=np.ones((groups, groups), dtype=bool),
        row_names=[str(i) for i in range(groups)],
        column_names=[str(i) for i in range(groups)],
        enclosing=(parts, parts),
        title="Flows",
    )


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("groups", [13, 49, 61, 121])
def test_a_large_heat_map_has_white_cells_below_the_half_width_and_no_numbers(groups, draw):
    picture = picture_of_noise(groups)
    figure = heat_map_figure(picture)
    axes, _ = draw(figure)
    shades = np.asarray(axes.images[0].get_array())
    is_noise = picture.values <= 1  # the half width
    assert (shades[is_noise] == 1).all()
    assert (shades[~is_noise] < 1).any(axis=1).all()
    assert shades[3, 5].mean() == shades.mean(axis=2).min() < 0.3
    assert not axes.patches
    assert not axes.texts
    assert "white below its half width" in figure.legends[0].texts[0].get_text()
    labels = ["left", "right"] if groups > 60 else picture.row_names
    assert texts(axes.get_yticklabels()) == labels


def test_of_two_equal_flows_the_one_with_the_wider_interval_is_paler():
    picture = picture_of_noise(13)
    half_widths = picture.half_widths.copy()
    half_widths[5, 3] = 0
    half_widths[3, 5] = 50
    figure = heat_map_figure(dataclasses.replace(picture, half_widths=half_widths))
    shades = np.asarray(figure.axes[0].images[0].get_array())
    assert shades[3, 5] == pytest.approx((1 + shades[5, 3]) / 2)


@pytest.fixture(scope="module")
def flows():
    """Return flows between 4 parts, numbered from 0, and 2 halves."""
    graph, _, groups, _ = planted(parts=4)
    return release_flows(graph, groups, epsilon=1.0, seed=0)


COORDINATES = {0: (0, 0), 1: (1, 0), 2: (0, 1), 3: (1, 1)}  # of the four parts
LOCATIONS = pd.DataFrame({"id": [0, 1, 2, 3], "lat": [60.0] * 4, "lon": [0.0, 1.0, 2.0, 4.0]})


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("level", ["half", "part"])
def test_the_numbers_of_flows_are_the_values_clipped_to_their_intervals(flows, draw, level):
    axes, title = draw(flows.plot(level))
    assert title == f"Flows by {level} (epsilon = 1, seeded: not private)"
    low, high = flows.intervals(level)
    values = np.clip(flows.values(level), low, high)
    shades = np.asarray(axes.images[0].get_array())
    assert np.array_equal((shades == 1).all(axis=2), values == 0)
    assert texts(axes.texts)[::2] == [f"{value:,.0f}" for value in values.ravel()]
    half_widths = flows.half_widths(level).ravel()
    assert texts(axes.texts)[1::2] == [f"±{width:.2g}" for width in half_widths]


def test_flows_are_drawn_on_a_map_by_coordinates_or_by_locations(flows):
    assert len(flows.plot("part", coordinates=COORDINATES, title="Mail").axes) == 1
    (axes,) = flows.plot("part", locations=LOCATIONS).axes
    dots = axes.collections[-1].get_offsets()[:4].tolist()
    # A degree of longitude at 60 degrees north is half as long as one of latitude.
    assert dots == [pytest.approx([x, 60]) for x in (0, 0.5, 1, 2)]


@pytest.mark.parametrize(
    ("coordinates", "message"),
    [
        pytest.param(
            {part: COORDINATES[part] for part in range(3)}, "1 of 4 groups have no", id="missing"
        ),
        *(
            pytest.param(COORDINATES | {3: wrong}, "pairs of numbers", id=str(wrong))
            for wrong in ((0, 0, 0), (0, "east"), (0, float("nan")))
        ),
    ],
)
def test_missing_or_wrong_coordinates_of_flows_are_refused(flows, coordinates, message):
    with pytest.raises(QueryError, match=message):
        flows.plot("part", coordinates=coordinates)


def test_an_unknown_level_or_both_coordinates_and_locations_are_refused(flows):
    with pytest.raises(QueryError, match="unknown level"):
        flows.plot("county")
    with pytest.raises(QueryError, match="choose one"):
        flows.plot("part", locations=LOCATIONS, coordinates=COORDINATES)


# Answers.


@pytest.mark.thorough
def test_a_release_draws_the_cuts_of_its_vertices_in_descending_order(results, draw):
    release = results["Release"]
    axes, title = draw(release.plot())
    answers = release.answer_all([gc.CutQuery([label]) for label in shown.LABELS])
    values = sorted((answer.value for answer in answers), reverse=True)
    np.testing.assert_allclose(positions(axes), values)
    degrees = sorted(release.graph.adjacency.sum(axis=1))
    np.testing.assert_allclose(sorted(positions(axes, 2)), degrees)
    assert "epsilon = 2" in title


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", ["Release", "Release, sparse", "Release, seeded"])
def test_a_release_draws_its_answers_to_queries(results, draw, name):
    queries = [gc.CutQuery(["b"], ["c"]), gc.CutQuery(["b", "c"])]
    release = results[name]
    axes, title = draw(release.plot(queries, title="Two"))
    values = [answer.value for answer in release.answer_all(queries)]
    np.testing.assert_allclose(positions(axes), values)
    assert title.startswith("Two (")
    assert ("not private" in title) == (name == "Release, seeded")


def test_a_plot_of_no_queries_is_refused(results):
    with pytest.raises(QueryError, match="no queries"):
        results["Release, seeded"].plot([])


def test_a_plot_of_many_vertices_has_one_in_three(draw):
    graph = gc.Graph([0], [1], vertices=450)
    axes, _ = draw(gc.release_graph(graph, epsilon=9.0, fit="none").plot())
    assert len(positions(axes)) == 150
    assert "one vertex in 3" in axes.get_xlabel()


@pytest.mark.parametrize(("name", "collection"), [("IterativeRelease", 2), ("FewAnswers", 1)])
def test_measured_answers_are_drawn_in_their_order(results, draw, name, collection):
    release = results[name]
    axes, title = draw(release.plot(title="A list"))
    values = [measurement.value for measurement in release.transcript]
    np.testing.assert_allclose(positions(axes, collection), values)
    assert title.startswith("A list (epsilon = 2")


def test_a_session_draws_its_history(examples, draw):
    figure, table = examples[1]
    np.testing.assert_allclose(positions(draw(figure)[0]), table["value"])


def test_a_plot_of_a_session_without_answers_is_refused(tmp_path):
    terms = {"store": tmp_path / "a.db", "queries": 9, "epsilon": 40.0}
    with (
        gc.open_session(shown.private_graph(), **terms) as session,
        pytest.raises(QueryError, match="no answers to draw"),
    ):
        session.plot()


@pytest.mark.thorough
def test_a_plan_draws_its_finite_error_bounds_in_ascending_order(results, draw):
    plan = results["Plan"]
    error_bounds = positions(draw(plan.plot())[0], 1, 0).tolist()
    *answers, least_cut, halves = plan.rows
    assert error_bounds == [row.guaranteed for row in answers if np.isfinite(row.guaranteed)]
    assert (least_cut.cuts, halves.cuts) == ("between two", "halves")
    assert error_bounds == sorted(error_bounds)


@pytest.mark.thorough
def test_distance_answers_draw_a_map_with_epsilon_in_its_title(results, draw):
    assert "epsilon = 2" in draw(results["DistanceAnswers"].plot(unit="km"))[1]


@pytest.mark.thorough
def test_an_explanation_draws_the_posterior_for_each_prior(results, draw):
    """At a prior of 1/2 and epsilon = 1 the posterior is between 1/(1+e) and e/(1+e)."""
    axes, title = draw(results["Explanation"].plot())
    corners = axes.collections[0].get_paths()[0].vertices
    posteriors = corners[np.isclose(corners[:, 0], 0.5)][:, 1]
    np.testing.assert_allclose(
        [posteriors.min(), posteriors.max()], [1 / (1 + np.e), np.e / (1 + np.e)]
    )
    assert "1e-06" in title


@pytest.mark.thorough
def test_contributions_draw_a_bar_for_each_class_of_users(results, draw):
    axes, _ = draw(results["Contributions"].plot())
    assert [bar.get_height() for bar in axes.patches] == [9, 4, 2, 1]


@pytest.mark.thorough(cases=1)
@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize("rounds", [None, 4])
def test_sensing_draws_its_measurements_with_their_error_or_with_estimates(rounds, draw):
    ratings = gc.BipartiteGraph([0, 1, 2], [0, 1, 1], left=3, right=2)
    queries = [gc.CutQuery([user], [item]) for user in range(3) for item in range(2)]
    release = gc.release_iteratively(
        ratings, queries, epsilon=8.0, delta=1e-6, seed=1, construction=gc.Sensing(rounds=rounds)
    )
    axes, title = draw(release.plot(title="Ratings"))
    values = [measurement.value for measurement in release.transcript]
    np.testing.assert_allclose(positions(axes), values)
    assert title.startswith("Ratings (epsilon = 8")
    assert "not private" in title
    if rounds is None:
        interval = axes.collections[0].get_segments()[0][:, 1]
        error = release.accuracy.error
        assert interval == pytest.approx([values[0] - error, values[0] + error])
        assert len(axes.collections) == 2
    else:
        estimates = [measurement.estimate for measurement in release.transcript]
        np.testing.assert_allclose(positions(axes, 2), estimates)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("count", [1, 3, 500])
def test_infinite_intervals_are_not_drawn_and_do_not_stretch_the_axis(count, draw):
    # (value, low, high, whether it corrected the hypothesis)
    answers = [(float(i), i - 2.0, i + 2.0, i % 3 == 1) for i in range(count)]
    answers[0] = (0.0, -math.inf, math.inf, False)
    figure = session_answers_figure(answers, title="Session a", unit="edges")
    axes, title = draw(figure)
    assert positions(axes).tolist() == [value for value, *_ in answers]
    assert (title, axes.get_ylabel()) == ("Session a", "edges")
    assert len(axes.collections) == (2 if count == 1 else 3)
    assert len(figure.legends) == (count > 1)
    assert np.isfinite(axes.get_ylim()).all()
    assert axes.get_ylim()[1] < count + 50
