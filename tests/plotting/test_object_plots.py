"""What objects draw of themselves."""

import dataclasses
import math

import numpy as np
import pytest
import shown
from statistic_cases import planted

import graphcuts_dp as gc
from graphcuts_dp.errors import QueryError
from graphcuts_dp.plotting.answer_lists import session_answers_figure
from graphcuts_dp.plotting.flow_tables import FlowPicture, flow_map_figure, heat_map_figure
from graphcuts_dp.release.releases import release_flows

PICTURE = FlowPicture(
    values=np.array([[9.0, -2.0, 4.0], [-2.0, 0.0, 1.0], [4.0, 1.0, 100.0]]),
    low=np.array([[5.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 90.0]]),
    possible=np.array([[True, True, True], [True, False, True], [True, True, True]]),
    rows=["a", "b", "c"],
    columns=["a", "b", "c"],
    title="Flows",
)


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


def test_a_heat_map_shows_what_is_below_zero(drawn):
    figure = heat_map_figure(PICTURE)
    axes, _ = drawn(figure)
    image = np.ma.filled(axes.images[0].get_array(), -1)
    assert image.tolist() == [[9, 0, 4], [0, -1, 1], [4, 1, 100]]  # -1: masked, impossible
    assert {patch.get_xy() for patch in axes.patches} == {(0.5, -0.5), (-0.5, 0.5)}
    assert texts(axes.texts) == ["9", "-2", "4", "-2", "1", "4", "1", "100"]
    assert texts(figure.legends[0].texts) == [
        "estimate below 0, drawn as 0 (1 cells)",
        "no pair of vertices",
    ]
    assert texts(axes.get_xticklabels()) == ["a", "b", "c"]
    values, possible = np.abs(PICTURE.values), np.ones((3, 3), dtype=bool)
    plain = dataclasses.replace(PICTURE, values=values, possible=possible, unit="weight")
    figure = heat_map_figure(plain)
    assert not figure.legends
    assert figure.axes[1].get_ylabel() == "noisy weight"


@pytest.mark.parametrize("count", [61, 121])
def test_many_groups_are_named_by_those_that_enclose_them(count, drawn):
    values = np.random.default_rng(0).normal(size=(count, count))
    halves = [("left", count // 2), ("right", count - count // 2 - 1), ("tiny", 1)]
    picture = FlowPicture(
        values=values + values.T,
        low=np.zeros((count, count)),
        possible=np.ones((count, count), dtype=bool),
        rows=[str(i) for i in range(count)],
        columns=[str(i) for i in range(count)],
        breaks=(halves, halves),
        title="Flows",
    )
    figure = heat_map_figure(picture)
    axes, _ = drawn(figure)
    assert texts(axes.get_yticklabels()) == ["left", "right"]
    below = int(np.triu(picture.values < 0).sum())
    assert f"({below} cells)" in figure.legends[0].texts[0].get_text()
    assert bool(axes.patches) is (count == 61)


def test_a_map_shows_what_is_above_zero_for_sure(drawn):
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    figure = flow_map_figure(PICTURE, places)
    lines, dots, discs = drawn(figure)[0].collections
    assert [segment.tolist() for segment in lines.get_segments()] == [[[0, 0], [0, 1]]]
    assert dots.get_offsets().tolist() == places.tolist()
    assert discs.get_sizes().tolist() == [54, 0, 600]
    assert "2 that may be 0" in figure.legends[0].texts[2].get_text()


def test_flows_are_drawn_by_level(drawn):
    graph, _, groups, _ = planted(parts=4)
    flows = release_flows(graph, groups, epsilon=1.0, seed=0)
    for level in ("half", "part"):
        axes, title = drawn(flows.plot(level))
        assert title == f"Flows by {level} (epsilon = 1, seeded: not private)"
        image = np.asarray(axes.images[0].get_array())
        assert image == pytest.approx(np.maximum(flows.values(level), 0))
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


def test_what_is_no_list_of_answers_is_drawn_too(made, drawn):
    """A plan's guarantees, best first; distances' map; beliefs; classes of owners."""
    plan = made[0]["Plan"]
    widths = points(drawn(plan.plot())[0], 1, 0).tolist()
    assert widths == [row.guaranteed for row in plan.rows if np.isfinite(row.guaranteed)]
    assert widths == sorted(widths)
    assert "epsilon = 2" in drawn(made[0]["DistanceAnswers"].plot(unit="km"))[1]
    axes, title = drawn(made[0]["Explanation"].plot())
    corners = axes.collections[0].get_paths()[0].vertices
    middle = corners[np.isclose(corners[:, 0], 0.5)][:, 1]
    np.testing.assert_allclose([middle.min(), middle.max()], [1 / (1 + np.e), np.e / (1 + np.e)])
    assert "1e-06" in title
    axes, _ = drawn(made[0]["Contributions"].plot())
    assert [bar.get_height() for bar in axes.patches] == [9, 4, 2, 1]


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


@pytest.mark.parametrize("count", [1, 3, 500])
def test_values_and_intervals_are_drawn_but_for_infinite_ones(count, drawn):
    given = [(float(i), i - 2.0, i + 2.0, i % 3 == 1) for i in range(count)]
    given[0] = (0.0, -math.inf, math.inf, False)
    figure = session_answers_figure(given, title="Session a")
    axes, title = drawn(figure)
    assert points(axes).tolist() == [point[0] for point in given]
    assert title == "Session a"
    assert len(axes.collections) == (2 if count == 1 else 3)
    assert len(figure.legends) == (count > 1)
    assert np.isfinite(axes.get_ylim()).all()
    assert axes.get_ylim()[1] < count + 50
