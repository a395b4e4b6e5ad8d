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


def test_a_heat_map_shows_what_is_below_zero(tmp_path):
    figure = heat_map_figure(PICTURE)
    figure.savefig(tmp_path / "a.png")
    axes = figure.axes[0]
    shown = np.ma.filled(axes.images[0].get_array(), -1)
    assert shown.tolist() == [[9, 0, 4], [0, -1, 1], [4, 1, 100]]  # -1: masked, impossible
    assert {patch.get_xy() for patch in axes.patches} == {(0.5, -0.5), (-0.5, 0.5)}
    written = [text.get_text() for text in axes.texts]
    assert written == ["9", "-2", "4", "-2", "1", "4", "1", "100"]
    assert [text.get_text() for text in figure.legends[0].texts] == [
        "estimate below 0, drawn as 0 (1 cells)",
        "no pair of vertices",
    ]
    assert "noisy" in figure.axes[1].get_ylabel()
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["a", "b", "c"]


def test_a_table_that_is_all_possible_has_no_legend(tmp_path):
    plain = dataclasses.replace(
        PICTURE, values=np.abs(PICTURE.values), possible=np.ones((3, 3), dtype=bool), unit="weight"
    )
    figure = heat_map_figure(plain)
    figure.savefig(tmp_path / "a.png")
    assert not figure.legends
    assert figure.axes[1].get_ylabel() == "noisy weight"


@pytest.mark.parametrize("count", [61, 200])
def test_many_groups_are_named_by_those_that_enclose_them(count, tmp_path):
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
    figure.savefig(tmp_path / "a.png")
    axes = figure.axes[0]
    named = [tick.get_text() for tick in axes.get_yticklabels()]
    assert named == ["left", "right"]
    below = int(np.triu(values + values.T < 0).sum())
    assert f"({below} cells)" in figure.legends[0].texts[0].get_text()
    assert bool(axes.patches) is (count == 61)


def test_a_map_shows_what_is_above_zero_for_sure(tmp_path):
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    figure = flow_map_figure(PICTURE, places)
    figure.savefig(tmp_path / "a.png")
    lines, dots, discs = figure.axes[0].collections
    assert [segment.tolist() for segment in lines.get_segments()] == [[[0, 0], [0, 1]]]
    assert dots.get_offsets().tolist() == places.tolist()
    assert discs.get_sizes().tolist() == [54, 0, 600]
    assert "2 that may be 0" in figure.legends[0].texts[2].get_text()


def test_flows_are_drawn_by_level(tmp_path):
    graph, _, groups, _ = planted(parts=4)
    flows = release_flows(graph, groups, epsilon=1.0, seed=0)
    for level in ("half", "part"):
        figure = flows.plot(level)
        figure.savefig(tmp_path / f"{level}.png")
        title = figure.axes[0].get_title(loc="left")
        assert title == f"Flows by {level} (epsilon = 1, seeded: not private)"
        image = np.asarray(figure.axes[0].images[0].get_array())
        assert image == pytest.approx(np.maximum(flows.values(level), 0))
    places = {0: (0, 0), 1: (1, 0), 2: (0, 1), 3: (1, 1)}
    assert len(flows.plot("part", coordinates=places, title="Mail").axes) == 1
    with pytest.raises(QueryError, match="1 of 4 groups have no coordinates"):
        flows.plot("part", coordinates={0: (0, 0), 1: (1, 0), 2: (0, 1)})
    for wrong in ((0, 0, 0), (0, "east"), (0, float("nan"))):
        with pytest.raises(QueryError, match="pairs of numbers"):
            flows.plot("part", coordinates={**places, 3: wrong})
    with pytest.raises(QueryError, match="unknown level"):
        flows.plot("county")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return shown.made(tmp_path_factory.mktemp("shown"))


def points_of(figure, number=0):
    return figure.axes[0].collections[number].get_offsets().data


def drawn(figure, folder):
    figure.savefig(folder / "x.png", dpi=50)
    assert (folder / "x.png").stat().st_size > 1000
    return figure


def test_a_release_draws_its_vertices_largest_first(made, tmp_path):
    release = made[0]["Release"]
    figure = drawn(release.plot(), tmp_path)
    answers = release.answer_all([gc.CutQuery([label]) for label in shown.LABELS])
    values = sorted((answer.value for answer in answers), reverse=True)
    np.testing.assert_allclose(points_of(figure, 1)[:, 1], values)
    degrees = sorted(release.graph.adjacency.sum(axis=1))
    np.testing.assert_allclose(sorted(points_of(figure, 2)[:, 1]), degrees)
    assert "epsilon = 2" in figure.axes[0].get_title(loc="left")


def test_a_release_draws_the_queries_that_are_given(made, tmp_path):
    queries = [gc.CutQuery(["b"], ["c"]), gc.CutQuery(["b", "c"])]
    for name in ("Release", "Release, sparse", "Release, seeded"):
        release = made[0][name]
        figure = drawn(release.plot(queries, title="Two"), tmp_path)
        values = [answer.value for answer in release.answer_all(queries)]
        np.testing.assert_allclose(points_of(figure, 1)[:, 1], values)
        title = figure.axes[0].get_title(loc="left")
        assert title.startswith("Two (")
        assert ("not private" in title) == (name == "Release, seeded")
    with pytest.raises(QueryError, match="no queries"):
        release.plot([])


def test_of_many_vertices_every_so_manieth_is_drawn(tmp_path):
    graph = gc.Graph([0], [1], vertices=450)
    figure = drawn(gc.release_graph(graph, epsilon=9.0, fit="none").plot(), tmp_path)
    assert len(points_of(figure, 1)) == 150
    assert "every 3th" not in figure.axes[0].get_xlabel()
    assert "one vertex in 3" in figure.axes[0].get_xlabel()


@pytest.mark.parametrize(
    ("name", "place", "values", "title"),
    [
        ("IterativeRelease", 2, lambda made: [each.value for each in made.transcript], ""),
        (
            "FewAnswers",
            1,
            lambda made: [each.value for each in made.transcript],
            "A list (epsilon = 2",
        ),
    ],
)
def test_what_was_measured_is_drawn_in_order(made, tmp_path, name, place, values, title):
    found = made[0][name]
    figure = drawn(found.plot(**({"title": "A list"} if title else {})), tmp_path)
    np.testing.assert_allclose(points_of(figure, place)[:, 1], values(found))
    assert figure.axes[0].get_title(loc="left").startswith(title)


def test_a_session_draws_its_history(made, tmp_path):
    figure, table = made[2]
    drawn(figure, tmp_path)
    np.testing.assert_allclose(points_of(figure, 1)[:, 1], table["value"])
    begin = {"store": tmp_path / "a.db", "queries": 9, "epsilon": 40.0}
    with (
        gc.open_session(shown.private_graph(), **begin) as fresh,
        pytest.raises(QueryError, match="no answers to draw"),
    ):
        fresh.plot()


def test_a_plan_draws_guarantees_best_first(made, tmp_path):
    plan = made[0]["Plan"]
    widths = points_of(drawn(plan.plot(), tmp_path), 1)[:, 0].tolist()
    assert widths == [row.guaranteed for row in plan.rows if np.isfinite(row.guaranteed)]
    assert widths == sorted(widths)


def test_distances_draw_their_map(made, tmp_path):
    figure = drawn(made[0]["DistanceAnswers"].plot(unit="km"), tmp_path)
    assert "epsilon = 2" in figure.axes[0].get_title(loc="left")


def test_an_explanation_draws_what_beliefs_become(made, tmp_path):
    figure = drawn(made[0]["Explanation"].plot(), tmp_path)
    corners = figure.axes[0].collections[0].get_paths()[0].vertices
    middle = corners[np.isclose(corners[:, 0], 0.5)][:, 1]
    np.testing.assert_allclose([middle.min(), middle.max()], [1 / (1 + np.e), np.e / (1 + np.e)])
    assert "1e-06" in figure.axes[0].get_title(loc="left")


def test_contributions_draw_their_classes(made, tmp_path):
    figure = drawn(made[0]["Contributions"].plot(), tmp_path)
    assert [bar.get_height() for bar in figure.axes[0].patches] == [9, 4, 2, 1]


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize("rounds", [None, 4])
def test_sensing_draws_what_was_measured(rounds, tmp_path):
    ratings = gc.BipartiteGraph([0, 1, 2], [0, 1, 1], left=3, right=2)
    queries = [gc.CutQuery([user], [item]) for user in range(3) for item in range(2)]
    made = gc.release_iteratively(
        ratings, queries, epsilon=8.0, delta=1e-6, seed=1, construction=gc.Sensing(rounds=rounds)
    )
    figure = drawn(made.plot(title="Ratings"), tmp_path)
    values = [each.value for each in made.transcript]
    np.testing.assert_allclose(points_of(figure, 1)[:, 1], values)
    assert figure.axes[0].get_title(loc="left").startswith("Ratings (epsilon = 8")
    assert "not private" in figure.axes[0].get_title(loc="left")
    if rounds is None:
        lines = figure.axes[0].collections[0].get_segments()
        assert lines[0][:, 1] == pytest.approx(
            [values[0] - made.accuracy.error, values[0] + made.accuracy.error]
        )
        assert len(figure.axes[0].collections) == 2
    else:
        expected = [each.estimate for each in made.transcript]
        np.testing.assert_allclose(points_of(figure, 2)[:, 1], expected)


@pytest.mark.parametrize("count", [1, 3, 500])
def test_values_and_intervals_are_drawn_but_for_infinite_ones(count, tmp_path):
    points = [(float(i), i - 2.0, i + 2.0, i % 3 == 1) for i in range(count)]
    points[0] = (0.0, -math.inf, math.inf, False)
    figure = session_answers_figure(points, title="Session a")
    figure.savefig(tmp_path / "a.png")
    axes = figure.axes[0]
    assert [offset[1] for offset in axes.collections[1].get_offsets()] == [p[0] for p in points]
    assert axes.get_title(loc="left") == "Session a"
    assert len(axes.collections) == (2 if count == 1 else 3)
    assert len(figure.legends) == (count > 1)
    assert np.isfinite(axes.get_ylim()).all()
    assert axes.get_ylim()[1] < count + 50
