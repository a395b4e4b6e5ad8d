"""`answer_distances` and `plan_distances`: plans, answers, intervals, files and refusals."""

import hashlib
import json
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from graphcuts_dp import (
    AccuracyWarning,
    FileFormatError,
    LedgerError,
    ParameterError,
    QueryError,
    Store,
)
from graphcuts_dp.distances import Locations, Metric, answer_distances, plan_distances
from graphcuts_dp.distances import answers as answers_module
from graphcuts_dp.distances import counts as counts_module
from graphcuts_dp.distances import metric as metric_module
from graphcuts_dp.distances.embeddings import embeddings_of, has_small_exact_embedding
from graphcuts_dp.distances.learner import best_learner
from graphcuts_dp.distances.locations import all_distances

PATH = Metric.path(40)
PEOPLE = Locations(PATH, [100 if 10 <= v < 20 else 3 for v in range(40)])


POINTS = np.random.default_rng(3).uniform(size=(8, 2))


def ring(size: int) -> Metric:
    """Return a cycle with one chord, which is no tree."""
    graph = nx.cycle_graph(size)
    graph.add_edge(0, size // 3)
    return Metric.of(graph)


MAPS = {
    "path": Metric.path(40),
    "grid": Metric.grid(6, 7),
    "tree": Metric.of(nx.balanced_tree(2, 3)),
    "ring": ring(12),
    "norm 1": Metric.of_points(POINTS, p=1.0),
    "norm 1.5": Metric.of_points(POINTS, p=1.5),
}


def random_locations(metric: Metric, people: int = 10**6, seed: int = 1) -> Locations:
    rng = np.random.default_rng(seed)
    return Locations(metric, rng.multinomial(people, rng.dirichlet(np.full(len(metric), 0.3))))


CASES = [
    (mechanism, kind, noise)
    for noise in ("laplace", "gaussian")
    for mechanism in ("tree-counts", "histogram", "per-query", "learner")
    for kind in (MAPS if mechanism == "learner" else ["path"])
    if kind != "norm 1.5"  # its many coordinates take seconds; see test_hr12
]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("mechanism", "kind", "noise"), CASES)
def test_intervals_hold_for_all_vertices_at_once_and_are_no_wider_than_planned(
    mechanism, kind, noise
):
    """One of four runs fails with a chance of 4e-8."""
    locations = random_locations(MAPS[kind])
    truth = all_distances(locations)
    for seed in range(4):
        answers = answer_distances(
            locations.metric,
            locations,
            epsilon=2.0,
            delta=1e-6,
            mechanism=mechanism,
            noise=noise,
            confidence=1 - 1e-8,
            seed=seed,
        )
        assert (np.abs(answers.values - truth) <= answers.radii).all()
        row = answers.plan.best
        assert (row.mechanism, row.noise) == (mechanism, noise)
        diameter = locations.metric.diameter  # of which radii have a part for rounding
        assert answers.radii.max() <= row.guaranteed + 2e-9 * diameter < diameter
        assert (row.typical is None) == (mechanism == "learner")
        assert row.typical is None or answers.radii.max() < 25 * row.typical
        assert answers.guarantee.delta == (0 if noise == "laplace" else 1e-6)


def test_a_plan_ranks_mechanisms_by_their_guarantee_and_explains_the_choice():
    plan = plan_distances(PATH, people=1000, epsilon=1.0, delta=1e-6)
    assert plan.best.mechanism == "tree-counts"
    assert [row.guaranteed for row in plan.rows] == sorted(row.guaranteed for row in plan.rows)
    assert len(plan.rows) == 6
    larger_plan = plan_distances(PATH, people=10**6, epsilon=1.0, delta=1e-6)
    assert len(larger_plan.rows) == 8  # with so many people the learner guarantees something, too
    assert any(
        line.startswith("learner") and line.endswith("-") for line in str(larger_plan).split("\n")
    )
    assert "half the diameter" in str(plan)
    assert "Choice: tree-counts" in str(plan)
    star = Metric(range(1, 60), [0] * 59, np.ones(59), vertices=60)
    assert plan_distances(star, people=1000, epsilon=1.0).best.mechanism == "histogram"
    json.dumps(plan.to_dict())


def test_candidates_include_the_true_best_vertex_and_answers_have_intervals():
    answers = answer_distances(PATH, PEOPLE, epsilon=5.0, seed=1)
    assert abs(answers.best.vertex - 15) <= 3
    assert answers.best.vertex in answers.candidates
    assert 15 in answers.candidates  # in 19 of 20 runs; the seed is fixed
    assert 0 not in answers.candidates
    answer = answers.answer(7)
    assert answer == answers.all()[7]
    assert answer.interval[0] < answer.value < answer.interval[1]
    for value in (answer, answers):
        assert "seeded: not private" in str(value)
    with pytest.raises(QueryError):
        answers.answer("x")


@pytest.mark.parametrize("seed", [None, 4])
def test_a_saved_table_has_the_answers_and_a_seeded_one_the_mark(tmp_path, seed):
    answers = answer_distances(PATH, PEOPLE, epsilon=1.0, seed=seed)
    table, receipt = map(Path, answers.save(tmp_path / "answers.csv"))
    frame = pd.read_csv(table)
    assert frame["value"].tolist() == pytest.approx(answers.values.tolist(), rel=1e-15)
    assert list(frame.columns) == ["vertex", "value", "low", "high", *(["mark"] * (seed == 4))]
    assert set(frame.get("mark", ())) == ({"seeded: not private"} if seed == 4 else set())
    fields = json.loads(receipt.read_bytes())
    assert fields["files"]["answers.csv"] == hashlib.sha256(table.read_bytes()).hexdigest()
    assert fields["mechanism"] == answers.plan.best.mechanism
    with pytest.raises(FileFormatError, match="exists"):
        answers.save(tmp_path / "answers.csv")
    assert answers.save(tmp_path / "answers.csv", force=True) == (str(table), str(receipt))


def test_answers_no_better_than_without_data_warn():
    with pytest.warns(AccuracyWarning, match="nothing beats"):
        answer_distances(PATH, [3], epsilon=0.01, seed=1)


def test_the_warning_about_a_chosen_mechanism_names_auto():
    with pytest.warns(AccuracyWarning, match="^per-query guarantees no less .* mechanism 'auto'"):
        answer_distances(PATH, [3] * 300, epsilon=1.0, mechanism="per-query", seed=1)
    assert not plan_distances(PATH, people=300, epsilon=1.0).vacuous


def test_auto_leaves_out_a_mechanism_whose_numbers_exceed_64_bits():
    fine = Metric.path(40, np.random.default_rng(1).uniform(1, 2, 39))
    terms = {"people": 2**36, "epsilon": 1.0}
    with pytest.raises(ParameterError, match="too many people for so fine a grid"):
        plan_distances(fine, mechanism="learner", **terms)
    mechanisms = {row.mechanism for row in plan_distances(fine, **terms).rows}
    assert mechanisms == {"tree-counts", "histogram", "per-query"}


def test_a_use_is_resumed_only_with_the_same_confidence(tmp_path):
    path = tmp_path / "people.db"
    terms = {"epsilon": 1.0, "mechanism": "tree-counts"}
    first = answer_distances(PATH, PEOPLE, store=path, confidence=0.9, **terms)
    store = Store(path, resume=True)
    with pytest.raises(LedgerError, match="nothing to resume"):
        answer_distances(PATH, PEOPLE, store=store, confidence=0.999, **terms)
    resumed_answers = answer_distances(PATH, PEOPLE, store=store, confidence=0.9, **terms)
    assert (resumed_answers.radii == first.radii).all()


def test_large_trees_have_one_bound_for_all_vertices(monkeypatch):
    """Each of the five runs fails with a chance of 1e-8."""
    monkeypatch.setattr(counts_module, "_EXACT_VERTICES", 10)
    metric = Metric([0, 0, *range(1, 30)], range(1, 32), np.ones(31), vertices=32)
    people = Locations(metric, np.arange(32) * 10)
    truth = all_distances(people)
    for seed in range(5):
        answers = answer_distances(metric, people, epsilon=2.0, confidence=1 - 1e-8, seed=seed)
        assert len(set(answers.radii)) == 1
        assert (np.abs(answers.values - truth) <= answers.radii).all()
    exact = plan_distances(Metric.path(9), people=10, epsilon=1.0).best.built
    assert exact.spread.squares.shape[0] == 9


def test_distances_in_blocks_of_rows_have_the_same_answers(monkeypatch):
    network = nx.cycle_graph(30)
    network.add_edge(0, 7)
    whole = answer_distances(network, {3: 500, 9: 10}, epsilon=3.0, seed=1)
    monkeypatch.setattr(metric_module, "_KEPT_ENTRIES", 0)
    monkeypatch.setattr(metric_module, "_BLOCK_ENTRIES", 100)
    parts = answer_distances(network, {3: 500, 9: 10}, epsilon=3.0, seed=1)
    assert np.allclose(parts.values, whole.values)
    assert np.allclose(parts.radii, whole.radii)
    assert parts.metric.diameter == whole.metric.diameter
    assert {row.mechanism for row in parts.plan.rows} == {"tree-counts", "histogram", "per-query"}
    monkeypatch.setattr(answers_module, "_MOST_FOR_PER_QUERY", 10)
    smaller_plan = plan_distances(network, people=510, epsilon=3.0)
    assert {row.mechanism for row in smaller_plan.rows} == {"tree-counts", "histogram"}
    per_query_plan = plan_distances(network, people=510, epsilon=3.0, mechanism="per-query")
    assert per_query_plan.best.mechanism == "per-query"


def test_intervals_are_much_narrower_than_one_number_for_all_positions():
    """By how much depends on where people are; here by half, for a fixed seed."""
    locations = random_locations(MAPS["path"], seed=3)
    answers = answer_distances(MAPS["path"], locations, epsilon=2.0, mechanism="learner", seed=3)
    assert np.median(answers.radii) < answers.plan.best.guaranteed / 2


def test_auto_tries_the_learner_if_an_exact_embedding_is_small():
    star = Metric.of(nx.star_graph(90))
    mechanisms_of = {
        name: {row.mechanism for row in plan_distances(metric, people=10**8, epsilon=1.0).rows}
        for name, metric in {**MAPS, "star": star}.items()
    }
    with_learner = {name for name, rows in mechanisms_of.items() if "learner" in rows}
    assert with_learner == {"path", "grid", "tree", "norm 1"}
    assert has_small_exact_embedding(star, most_coordinates=90)
    learner_plan = plan_distances(star, people=99, epsilon=1.0, mechanism="learner")
    assert learner_plan.best.mechanism == "learner"


@pytest.mark.parametrize("kind", ["ring", "norm 1.5"])
def test_an_inexact_embedding_has_the_dimension_with_the_best_guarantee(kind):
    terms = {"queries": None, "epsilon": 5.0, "beta": 0.05}
    many, few = (
        best_learner(embeddings_of(MAPS[kind]), people=people, **terms) for people in (10**8, 10)
    )
    distances = MAPS[kind].matrix
    embedded = np.array([many.embedding.distances_from(row) for row in range(len(distances))])
    assert (embedded <= distances * many.embedding.expansion + 1e-9).all()
    assert (distances <= embedded * many.embedding.contraction + 1e-9).all()
    assert many.embedding.contraction > 1
    assert many.radius < MAPS[kind].diameter / 2
    assert many.embedding.points.shape[1] >= few.embedding.points.shape[1]
    assert many.radii(confidence=0.95) == many.radius
    with pytest.raises(ParameterError, match="smaller confidence"):
        many.radii(confidence=0.96)
