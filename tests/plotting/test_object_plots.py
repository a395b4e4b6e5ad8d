"""`.plot()` of what users get: that it draws what it says, from noisy data alone."""

import numpy as np
import pytest
import shown
from offline_calls import sense

import graphcuts_dp as gc
from graphcuts_dp.errors import QueryError


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


def test_an_iterative_release_draws_what_was_measured(made, tmp_path):
    release = made[0]["IterativeRelease"]
    figure = drawn(release.plot(), tmp_path)
    measured = [each.value for each in release.transcript]
    np.testing.assert_allclose(points_of(figure, 2)[:, 1], measured)


def test_answers_at_once_are_drawn_in_order(made, tmp_path):
    few = made[0]["FewAnswers"]
    figure = drawn(few.plot(title="A list"), tmp_path)
    np.testing.assert_allclose(points_of(figure, 1)[:, 1], [each.value for each in few.transcript])
    assert figure.axes[0].get_title(loc="left").startswith("A list (epsilon = 2")


def test_a_session_draws_its_history(made, tmp_path):
    figure, table = made[2]
    drawn(figure, tmp_path)
    np.testing.assert_allclose(points_of(figure, 1)[:, 1], table["value"])
    with (
        gc.open_session(
            shown.private_graph(), store=tmp_path / "a.db", queries=9, epsilon=40.0
        ) as fresh,
        pytest.raises(QueryError, match="no answers to draw"),
    ):
        fresh.plot()


def test_a_plan_draws_guarantees_best_first(made, tmp_path):
    plan = made[0]["Plan"]
    figure = drawn(plan.plot(), tmp_path)
    widths = points_of(figure, 1)[:, 0].tolist()
    finite = [row.guaranteed for row in plan.rows if np.isfinite(row.guaranteed)]
    assert widths == finite
    assert widths == sorted(widths)


def test_distances_draw_their_map(made, tmp_path):
    answers = made[0]["DistanceAnswers"]
    figure = drawn(answers.plot(unit="km"), tmp_path)
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
    made = sense(ratings, queries, epsilon=8.0, delta=1e-6, rounds=rounds, seed=1)
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
