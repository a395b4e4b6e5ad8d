"""A table of flows is refused if its noise would exceed what its finest cells can hold."""

import numpy as np
import pytest
from helpers import random_graph

import graphcuts_dp as gc

GRAPH = random_graph(60, 1)
TEN_OF_VERTEX, HALF_OF_VERTEX = np.arange(60) // 6, np.arange(60) // 30
# Cells between two of ten groups have 36 pairs.
TENS = gc.Groups(GRAPH.vertices, {"half": HALF_OF_VERTEX.tolist(), "ten": TEN_OF_VERTEX.tolist()})
SINGLE_VERTICES = gc.Groups(
    GRAPH.vertices, {"half": HALF_OF_VERTEX.tolist(), "one": list(range(60))}
)
WEIGHTED_GRAPH = random_graph(60, 1, largest=3.0, max_weight=3.0)


def refusal_of(groups=TENS, epsilon=1.0, graph=GRAPH, **options):
    """Return the message with which flows are refused."""
    with pytest.raises(gc.ParameterError) as error:
        gc.release_flows(graph, groups, epsilon=epsilon, **options)
    return str(error.value)


def number_between(message, before, after):
    return float(message.split(before)[1].split(after)[0])


def noise_of_finest_level(flows):
    return flows.strategy.deviations[-1] * flows.noisy.unit


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("expected_cell", [1, 5, 20])
@pytest.mark.parametrize("epsilon", [0.02, 0.1])
def test_the_named_epsilon_is_the_least_that_is_enough(epsilon, expected_cell, delta):
    options = {"delta": delta, "workload": gc.FlowWorkload(expected_cell=expected_cell)}
    message = refusal_of(epsilon=epsilon, **options)
    noise = number_between(message, "noise of ", " is expected on a cell of level 'ten'")
    assert noise > expected_cell
    named_epsilon = number_between(message + ", or", "raise epsilon to ", ", or")
    flows = gc.release_flows(GRAPH, TENS, epsilon=named_epsilon, seed=0, **options)
    assert noise_of_finest_level(flows) <= expected_cell
    # The named epsilon has two digits, rounded up.
    assert "raise epsilon" in refusal_of(epsilon=named_epsilon * 0.88, **options)


def test_cells_that_cannot_hold_the_noise_are_refused_before_anything_is_spent(tmp_path):
    message = refusal_of(SINGLE_VERTICES, store=tmp_path / "mail.db")
    assert "half of these cells can hold 1 edge at most" in message
    assert message.endswith("or pass expected_cell=0 to release it all the same")
    assert not list(tmp_path.iterdir())


def test_the_coarser_level_that_a_refusal_names_is_released():
    message = refusal_of(SINGLE_VERTICES)
    assert "leave out what is finer than level 'half' (noise of " in message
    noise = number_between(message, "level 'half' (noise of ", ")")
    flows = gc.release_flows(GRAPH, SINGLE_VERTICES.down_to("half"), epsilon=1.0, seed=0)
    assert noise_of_finest_level(flows) <= noise


def test_cells_that_cannot_hold_the_noise_are_released_with_a_warning_if_none_are_expected():
    workload = gc.FlowWorkload(expected_cell=0)
    with pytest.warns(gc.AccuracyWarning, match="what is shown of this level is noise"):
        flows = gc.release_flows(GRAPH, SINGLE_VERTICES, epsilon=1.0, workload=workload, seed=0)
    assert noise_of_finest_level(flows) > 1


def test_a_few_small_groups_among_large_ones_are_not_refused():
    one_vertex_and_tens = gc.Groups(
        GRAPH.vertices, {"part": [0, *(TEN_OF_VERTEX[1:] + 1).tolist()]}
    )
    flows = gc.release_flows(GRAPH, one_vertex_and_tens, epsilon=1.0)
    assert len(flows.groups.labels()) == 11


def test_weights_are_not_refused_for_the_number_of_pairs_of_a_cell():
    """A cell may hold any weight up to the maximum."""
    flows = gc.release_flows(WEIGHTED_GRAPH, SINGLE_VERTICES, epsilon=1.0, seed=0)
    assert noise_of_finest_level(flows) > 3


def test_weights_are_refused_if_noise_exceeds_the_expected_cell():
    message = refusal_of(graph=WEIGHTED_GRAPH, workload=gc.FlowWorkload(expected_cell=2))
    assert "above the 2 that you expect in one; raise epsilon to " in message
    assert "expected_cell=0" not in message
    # Ten groups have 55 cells and halves have 3, so a cell of these is expected to hold more.
    assert "finer than level 'half'" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"expected_cell": -1}, "expected_cell must be a number from 0 on"),
        ({"expected_cell": float("nan")}, "expected_cell must be a number from 0 on"),
        ({"noise": "cauchy"}, "unknown noise='cauchy'; choose one of 'auto'"),
        ({"accurate": 7}, "accurate must be a text"),
        ({"whole": 1}, "whole must be True or False"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(gc.ParameterError, match=message):
        gc.FlowWorkload(**options)


def test_a_workload_is_a_name_of_what_should_be_accurate_or_an_object():
    workload = gc.FlowWorkload(noise="laplace")
    assert gc.FlowWorkload.of("ten") == gc.FlowWorkload(accurate="ten")
    assert gc.FlowWorkload.of(workload) is workload
    with pytest.raises(gc.ParameterError, match="a name or a FlowWorkload"):
        gc.FlowWorkload.of(3)
