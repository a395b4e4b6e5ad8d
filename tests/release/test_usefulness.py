"""Usefulness of a release for usual questions: errors, sizes and verdicts."""

import json

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.release.usefulness import Question, Usefulness, usefulness_of

N = 40  # vertices, or vertices of each side
# The texts of all questions.
ONE_VERTEX = "one vertex with all others"
TWO_GROUPS = "two groups with each other"
TWO_HALVES = "two halves with each other"
ANY_CUT = "any cut of the synthetic graph at once"


def random_graph(graph_class=gc.Graph):
    rows, columns = np.nonzero(np.random.default_rng(3).random((N, N)) < 0.5)
    sides = {"left": N, "right": N} if graph_class is gc.BipartiteGraph else {"vertices": N}
    return graph_class(rows, columns, **sides)


def four_groups(graph):
    """Return four groups of ten vertices each, for each side of a graph."""
    labels = {"part": [vertex * 4 // N for vertex in range(N)]}
    if isinstance(graph, gc.BipartiteGraph):
        return gc.Groups(graph.left, labels), gc.Groups(graph.right, labels)
    return gc.Groups(graph.vertices, labels)


def released(graph=None, **options):
    return gc.release_graph(graph or random_graph(), **{"epsilon": 6.0, "seed": 1} | options)


@pytest.fixture(scope="module")
def release_of_entries():
    """A release without groups and without a synthetic graph."""
    return released(fit="none", mechanism="randomized-response")


def questions_by_text(usefulness):
    return {question.text: question for question in usefulness.questions}


GRAPH_CLASSES = pytest.mark.parametrize(
    "graph_class", [gc.Graph, gc.BipartiteGraph, gc.DirectedGraph]
)


@pytest.mark.thorough(cases=1)
@GRAPH_CLASSES
def test_sizes_of_questions_are_their_shares_of_the_noisy_total(graph_class):
    graph = random_graph(graph_class)
    release = released(graph, groups=four_groups(graph), mechanism="randomized-response")
    usefulness, total = usefulness_of(release), release.answer("*", "*")
    assert (usefulness.edges, usefulness.interval) == (total.value, total.interval)
    assert usefulness.groups
    pairs_of_vertex = N if graph_class is gc.BipartiteGraph else N - 1
    all_pairs = N * pairs_of_vertex / (2 if graph_class is gc.Graph else 1)
    pairs_of_questions = {
        ONE_VERTEX: pairs_of_vertex,
        TWO_GROUPS: 10 * 10,
        TWO_HALVES: 20 * 20,
        ANY_CUT: all_pairs,
    }
    assert [question.text for question in usefulness.questions] == list(pairs_of_questions)
    for question in usefulness.questions:
        share = pairs_of_questions[question.text] / all_pairs
        assert question.size == pytest.approx(total.value * share)
        assert question.basis == "proven"


@pytest.mark.thorough(cases=1)
@GRAPH_CLASSES
def test_errors_of_questions_are_those_of_answers(graph_class):
    graph = random_graph(graph_class)
    release = released(graph, groups=four_groups(graph), mechanism="randomized-response")
    questions = questions_by_text(usefulness_of(release))
    half = np.arange(N) % 2 == 0
    other_half = half if graph_class is gc.BipartiteGraph else ~half
    for question, answer in (
        (questions[ONE_VERTEX], release.answer(np.arange(N) == 0)),
        (questions[TWO_HALVES], release.answer(half, other_half)),
    ):
        low, high = answer.interval
        assert low > 0  # so the interval was not clipped to possible values
        assert high - low == pytest.approx(2 * question.error)
    assert questions[ANY_CUT].error == release.worst_cut_error_bound()


def test_without_groups_and_synthetic_graph_the_worst_error_is_an_expected_one(release_of_entries):
    usefulness = usefulness_of(release_of_entries)
    questions = questions_by_text(usefulness)
    assert list(questions) == [ONE_VERTEX, TWO_HALVES, ANY_CUT]
    assert questions[ANY_CUT].error == release_of_entries.expected_worst_cut_error
    assert questions[ANY_CUT].basis == "expected"
    assert not usefulness.groups


def test_an_expected_number_of_edges_takes_the_place_of_the_noisy_total(release_of_entries):
    usefulness = usefulness_of(release_of_entries, edges=78.0)
    assert (usefulness.edges, usefulness.interval) == (78.0, None)
    assert questions_by_text(usefulness)[ONE_VERTEX].size == pytest.approx(2 * 78.0 / N)


def test_errors_of_halves_of_a_sparse_release_are_those_of_its_model():
    release = released(mechanism="sparse", groups=four_groups(random_graph()))
    questions = questions_by_text(usefulness_of(release))
    assert questions[TWO_HALVES].basis == "by a model"
    assert questions[TWO_GROUPS].basis == questions[ONE_VERTEX].basis == "proven"
    assert questions[ANY_CUT].error == release.worst_cut_error_bound()


def test_a_sparse_release_without_a_synthetic_graph_has_no_worst_cut():
    usefulness = usefulness_of(released(mechanism="sparse", fit="none"))
    assert ANY_CUT not in questions_by_text(usefulness)


@pytest.mark.parametrize(
    ("graph", "texts"),
    [
        pytest.param(
            gc.Graph([0], [1], vertices=2), [ONE_VERTEX, TWO_HALVES, ANY_CUT], id="two vertices"
        ),
        pytest.param(
            gc.Graph([0], [1], vertices=3), [ONE_VERTEX, TWO_HALVES, ANY_CUT], id="three vertices"
        ),
        pytest.param(
            gc.BipartiteGraph([0], [0], left=1, right=2), [ONE_VERTEX, ANY_CUT], id="no left half"
        ),
    ],
)
def test_small_vertex_sets_have_the_questions_that_make_sense(graph, texts):
    usefulness = usefulness_of(released(graph, epsilon=20.0, fit="none"))
    assert list(questions_by_text(usefulness)) == texts


def question_with_error(text, error):
    return Question(text=text, size=100.0, error=error, basis="proven")


@pytest.mark.parametrize(
    ("error", "verdict"),
    [(25, "well"), (26, "roughly"), (100, "roughly"), (101, "drowns in noise")],
)
def test_the_verdict_compares_the_error_with_a_size_of_100(error, verdict):
    assert question_with_error("x", error).verdict == verdict


@pytest.mark.parametrize(
    ("errors", "groups", "advice"),
    [
        ((500, 500), False, "Nothing of this can be answered at this epsilon"),
        ((50, 500), False, "Take answers as rough ones only: a;"),
        ((1, 500), False, "Good for a; not for b; public groups (--groups)"),
        ((1, 500), True, "Good for a; not for b."),
        ((1, 50), False, "Good for a; rough for b."),
        ((1, 1), True, "Good for a, b."),
    ],
)
def test_the_advice_is_one_sentence_on_all_pages(errors, groups, advice):
    questions = tuple(
        question_with_error(text, error) for text, error in zip("ab", errors, strict=True)
    )
    usefulness = Usefulness(edges=1000.0, interval=None, questions=questions, groups=groups)
    assert usefulness.advice.startswith(advice)
    assert usefulness.advice.count(".") == 1
    assert json.loads(json.dumps(usefulness.to_dict()))["advice"] == usefulness.advice
    assert usefulness.advice in usefulness._repr_html_().replace("&#x27;", "'")


def test_errors_shrink_with_epsilon(release_of_entries):
    half_epsilon = released(epsilon=3.0, mechanism="randomized-response", fit="none")
    for question, question_at_half in zip(
        usefulness_of(release_of_entries).questions,
        usefulness_of(half_epsilon).questions,
        strict=True,
    ):
        assert question.error < question_at_half.error
