"""Is it good for my questions? Errors, sizes and verdicts, from noisy data alone."""

import json

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.release.usefulness import Question, Usefulness, usefulness_of

N = 40
ONE, PARTS, HALVES, WORST = (
    "one vertex with all others",
    "two groups with each other",
    "two halves with each other",
    "any cut of the synthetic graph at once",
)


def blocks(kind=gc.Graph):
    rows, columns = np.nonzero(np.random.default_rng(3).random((N, N)) < 0.5)
    sides = {"left": N, "right": N} if kind is gc.BipartiteGraph else {"vertices": N}
    return kind(rows, columns, **sides)


def groups_of(graph):
    labels = {"part": [i * 4 // N for i in range(N)]}
    if isinstance(graph, gc.BipartiteGraph):
        return gc.Groups(graph.left, labels), gc.Groups(graph.right, labels)
    return gc.Groups(graph.vertices, labels)


def released(graph=None, **options):
    return gc.release_graph(graph or blocks(), **{"epsilon": 6.0, "seed": 1} | options)


@pytest.fixture(scope="module")
def bare():
    return released(fit="none", mechanism="randomized-response")


def by_name(found):
    return {each.text: each for each in found.questions}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("kind", [gc.Graph, gc.BipartiteGraph, gc.DirectedGraph])
def test_errors_are_those_of_answers_and_sizes_are_parts_of_the_noisy_total(kind):
    graph = blocks(kind)
    release = released(graph, groups=groups_of(graph), mechanism="randomized-response")
    found, total = usefulness_of(release), release.answer("*", "*")
    assert (found.edges, found.interval) == (total.value, total.interval)
    assert found.groups
    one, groups, halves, worst = found.questions
    own = N if kind is gc.BipartiteGraph else N - 1
    pairs = N * own / (2 if kind is gc.Graph else 1)
    for question, size in ((one, own), (groups, 100), (halves, 400), (worst, pairs)):
        assert question.size == pytest.approx(total.value * size / pairs)
        assert question.basis == "proven"
    half = np.arange(N) % 2 == 0
    other = half if kind is gc.BipartiteGraph else ~half
    for question, answer in (
        (one, release.answer(np.arange(N) == 0)),
        (halves, release.answer(half, other)),
    ):
        low, high = answer.interval
        assert low > 0  # the interval was not cut to what is possible
        assert high - low == pytest.approx(2 * question.error)
    assert worst.error == release.worst_cut_error_bound()


def test_without_groups_without_a_graph_and_with_a_guess_of_the_total(bare):
    found = usefulness_of(bare)
    assert list(by_name(found)) == [ONE, HALVES, WORST]
    worst = found.questions[-1]
    assert (worst.error, worst.basis) == (bare.expected_worst_cut_error, "expected")
    assert not found.groups
    guessed = usefulness_of(bare, edges=78.0)
    assert (guessed.edges, guessed.interval) == (78.0, None)
    assert by_name(guessed)[ONE].size == pytest.approx(2 * 78.0 / N)


def test_of_a_sparse_release_halves_are_told_by_a_model():
    release = released(mechanism="sparse", groups=groups_of(blocks()))
    found = by_name(usefulness_of(release))
    assert found[HALVES].basis == "by a model"
    assert found[PARTS].basis == found[ONE].basis == "proven"
    assert found[WORST].error == release.worst_cut_error_bound()
    assert WORST not in by_name(usefulness_of(released(mechanism="sparse", fit="none")))


@pytest.mark.parametrize(
    ("graph", "count"),
    [
        (gc.Graph([0], [1], vertices=2), 3),
        (gc.Graph([0], [1], vertices=3), 3),
        (gc.BipartiteGraph([0], [0], left=1, right=2), 2),  # there are no halves
    ],
)
def test_small_vertex_sets_have_the_questions_that_they_can(graph, count):
    assert len(usefulness_of(released(graph, epsilon=20.0, fit="none")).questions) == count


def question(text, error):
    return Question(text=text, size=100.0, error=error, basis="proven")


def test_verdicts_compare_error_and_size():
    verdicts = [question("x", error).verdict for error in (25, 26, 100, 101)]
    assert verdicts == ["well", "roughly", "roughly", "drowns in noise"]


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
def test_the_advice_is_one_sentence(errors, groups, advice):
    questions = tuple(question(name, error) for name, error in zip("ab", errors, strict=True))
    found = Usefulness(edges=1000.0, interval=None, questions=questions, groups=groups)
    assert found.advice.startswith(advice)
    assert found.advice.count(".") == 1
    assert json.loads(json.dumps(found.to_dict()))["advice"] == found.advice
    assert found.advice in found._repr_html_().replace("&#x27;", "'")


def test_more_epsilon_tells_more(bare):
    less = released(epsilon=3.0, mechanism="randomized-response", fit="none")
    both = zip(usefulness_of(less).questions, usefulness_of(bare).questions, strict=True)
    assert all(more.error < less.error for less, more in both)
