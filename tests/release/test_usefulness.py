"""Is it good for my questions? Errors, sizes and verdicts, from noisy data alone."""

import json

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.release.usefulness import Question, Usefulness, usefulness_of

N = 40


def blocks(density=0.5, n=N, kind=gc.Graph):
    generator = np.random.default_rng(3)
    rows, columns = np.nonzero(generator.random((n, n)) < density)
    if kind is gc.BipartiteGraph:
        return kind(rows, columns, left=n, right=n)
    return kind(rows, columns, vertices=n)


def groups_of(graph, count=4):
    labels = {"part": [i * count // N for i in range(N)]}
    if isinstance(graph, gc.BipartiteGraph):
        return gc.Groups(graph.left, labels), gc.Groups(graph.right, labels)
    return gc.Groups(graph.vertices, labels)


def by_name(found):
    return {each.what: each for each in found.questions}


@pytest.mark.parametrize("kind", [gc.Graph, gc.BipartiteGraph, gc.DirectedGraph])
def test_errors_are_those_of_answers_and_sizes_are_parts_of_the_noisy_total(kind):
    graph = blocks(kind=kind)
    release = gc.release_graph(
        graph, epsilon=6.0, groups=groups_of(graph), mechanism="response", seed=1
    )
    found = usefulness_of(release)
    everything = gc.CutQuery(*[np.ones(N, dtype=bool)] * 2)
    total = release.answer(everything)
    assert found.edges == total.value
    assert found.interval == total.interval
    assert found.groups
    one, groups, halves, worst = found.questions
    first = [True] + [False] * (N - 1)
    answer = release.answer(np.array(first))
    low, high = answer.interval
    if low > 0:  # the interval was not cut to what is possible
        assert high - low == pytest.approx(2 * one.error)
    pairs = {gc.Graph: N * (N - 1) / 2, gc.BipartiteGraph: N * N, gc.DirectedGraph: N * (N - 1)}
    own = N if kind is gc.BipartiteGraph else N - 1
    assert one.size == pytest.approx(total.value * own / pairs[kind])
    assert groups.size == pytest.approx(total.value * 100 / pairs[kind])
    assert halves.size == pytest.approx(total.value * 400 / pairs[kind])
    half = np.arange(N) % 2 == 0
    other = half if kind is gc.BipartiteGraph else ~half
    low, high = release.answer(half, other).interval
    assert high - low == pytest.approx(2 * halves.error)
    assert worst.error == release.worst_cut_error_bound()
    assert worst.size == total.value
    assert {each.basis for each in found.questions} == {"proven"}


def test_without_groups_and_without_a_graph():
    release = gc.release_graph(blocks(), epsilon=6.0, fit="none", seed=1)
    found = usefulness_of(release)
    assert list(by_name(found)) == [
        "one vertex with all others",
        "two halves with each other",
        "any cut of the synthetic graph at once",
    ]
    worst = found.questions[-1]
    assert (worst.error, worst.basis) == (release.expected_worst_cut_error, "expected")
    assert not found.groups


def test_of_a_sparse_release_halves_are_told_by_a_model():
    graph = blocks()
    release = gc.release_graph(
        graph, epsilon=6.0, mechanism="sparse", groups=groups_of(graph), seed=1
    )
    found = by_name(usefulness_of(release))
    assert found["two halves with each other"].basis == "by a model"
    assert found["two groups with each other"].basis == "proven"
    assert found["one vertex with all others"].basis == "proven"
    assert found["any cut of the synthetic graph at once"].error == release.worst_cut_error_bound()
    bare = gc.release_graph(graph, epsilon=6.0, mechanism="sparse", fit="none", seed=1)
    assert "any cut of the synthetic graph at once" not in by_name(usefulness_of(bare))


def test_a_guess_stands_in_for_the_total():
    release = gc.release_graph(blocks(), epsilon=6.0, fit="none", seed=1)
    found = usefulness_of(release, edges=78.0)
    assert (found.edges, found.interval) == (78.0, None)
    assert by_name(found)["one vertex with all others"].size == pytest.approx(2 * 78.0 / N)


@pytest.mark.parametrize(
    ("graph", "count"),
    [
        (gc.Graph([0], [1], vertices=2), 3),
        (gc.Graph([0], [1], vertices=3), 3),
        (gc.BipartiteGraph([0], [0], left=1, right=2), 2),  # there are no halves
    ],
)
def test_small_vertex_sets_have_the_questions_that_they_can(graph, count):
    release = gc.release_graph(graph, epsilon=20.0, fit="none", seed=1)
    assert len(usefulness_of(release).questions) == count


def question(what, error):
    return Question(what=what, size=100.0, error=error, basis="proven")


def test_verdicts_compare_error_and_size():
    verdicts = [question("x", error).verdict for error in (25, 26, 100, 101)]
    assert verdicts == ["well", "roughly", "roughly", "drowns in noise"]


@pytest.mark.parametrize(
    ("errors", "groups", "advice"),
    [
        ((500, 500), False, "Nothing of this is told at this epsilon"),
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


def test_more_epsilon_tells_more():
    errors = [
        [each.error for each in usefulness_of(release).questions]
        for epsilon in (3.0, 6.0)
        for release in [
            gc.release_graph(blocks(), epsilon=epsilon, mechanism="response", fit="none", seed=1)
        ]
    ]
    assert all(more < less for less, more in zip(*errors, strict=True))
