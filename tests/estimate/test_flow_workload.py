"""When a table of flows is refused: noise that would hide what its finest cells can hold."""

import numpy as np
import pytest
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning, FlowWorkload, ParameterError

GRAPH = random_graph(60, 1)
TENS, HALVES = np.arange(60) // 6, np.arange(60) // 30
GROUPS = gc.Groups(GRAPH.vertices, {"half": HALVES.tolist(), "ten": TENS.tolist()})
SINGLE = gc.Groups(GRAPH.vertices, {"half": HALVES.tolist(), "one": list(range(60))})
WEIGHTED = random_graph(60, 1, largest=3.0, max_weight=3.0)


def refusal(groups=GROUPS, epsilon=1.0, graph=GRAPH, **options):
    with pytest.raises(ParameterError) as caught:
        gc.release_flows(graph, groups, epsilon=epsilon, **options)
    return str(caught.value)


def named(told, before, after):
    return float(told.split(before)[1].split(after)[0])


def noise_of(flows, place=-1):
    return flows.strategy.deviations[place] * flows.noisy.unit


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("expected", [1, 5, 20])
@pytest.mark.parametrize("epsilon", [0.02, 0.1])
def test_the_epsilon_that_is_named_is_the_least_that_is_enough(epsilon, expected, delta):
    options = {"delta": delta, "workload": FlowWorkload(expected_cell=expected)}
    told = refusal(epsilon=epsilon, **options)
    noise = named(told, "noise of ", " is expected on a cell of level 'ten'")
    needed = named(told + ", or", "raise epsilon to ", ", or")
    made = gc.release_flows(GRAPH, GROUPS, epsilon=needed, seed=0, **options)
    assert noise_of(made) <= min(expected, 36)
    assert noise > min(expected, 36)
    assert "raise epsilon" in refusal(epsilon=needed * 0.88, **options)  # two digits, rounded up


def test_cells_that_cannot_hold_the_noise_are_refused_unless_that_is_wanted(tmp_path):
    told = refusal(SINGLE, store=tmp_path / "mail.db")
    assert "half of these cells can hold 1 edge at most" in told
    assert "leave out what is finer than level 'half' (noise of " in told
    assert told.endswith("or pass expected_cell=0 to release it all the same")
    assert not list(tmp_path.iterdir())
    work = FlowWorkload(expected_cell=0)
    with pytest.warns(AccuracyWarning, match="what is shown of this level is noise"):
        made = gc.release_flows(GRAPH, SINGLE, epsilon=1.0, workload=work, seed=0)
    assert noise_of(made) > 1
    coarse = gc.release_flows(GRAPH, SINGLE.down_to("half"), epsilon=1.0, seed=0)
    assert noise_of(coarse) <= named(told, "level 'half' (noise of ", ")")
    # A few small groups among large ones are no reason.
    uneven = gc.Groups(GRAPH.vertices, {"part": [0, *(TENS[1:] + 1).tolist()]})
    assert len(gc.release_flows(GRAPH, uneven, epsilon=1.0).groups.labels()) == 11


def test_a_guess_is_for_weights_too_and_pairs_are_not():
    thin = gc.release_flows(WEIGHTED, SINGLE, epsilon=1.0, seed=0)
    assert noise_of(thin) > 3
    told = refusal(graph=WEIGHTED, workload=FlowWorkload(expected_cell=2))
    assert "above the 2 that you expect in one; raise epsilon to " in told
    assert "expected_cell=0" not in told
    # Of 55 cells between tens, 3 are left between halves: a cell holds 18 times as much.
    assert "finer than level 'half'" in told


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"expected_cell": -1}, "expected_cell must be a number from 0 on"),
        ({"expected_cell": float("nan")}, "expected_cell must be a number from 0 on"),
        ({"noise": "cauchy"}, "unknown noise='cauchy'; choose one of 'auto'"),
        ({"accurate": 7}, "accurate must be a text"),
        ({"whole": 1}, "whole must be True or False"),
    ],
)
def test_options_are_checked_once(given, told):
    with pytest.raises(ParameterError, match=told):
        FlowWorkload(**given)


def test_a_string_says_what_should_be_accurate():
    assert FlowWorkload.of("ten") == FlowWorkload(accurate="ten")
    some = FlowWorkload(noise="laplace")
    assert FlowWorkload.of(some) is some
    with pytest.raises(ParameterError, match="a name or a FlowWorkload"):
        FlowWorkload.of(3)
