"""The step: hard caps, interruptions, states that come back."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from online_cases import EDGE, Fixed, StubbornLearner, from_store, toy, toy_graph, two_communities

from graphcuts_dp import (
    CutQuery,
    ExhaustedError,
    FileFormatError,
    Graph,
    ParameterError,
    QueryError,
)
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.calibration_base import START_SHARE
from graphcuts_dp.learn.calibrations import Tight
from graphcuts_dp.learn.learners import FriezeKannanLearner, MultiplicativeWeightsLearner
from graphcuts_dp.plugins import SeededEntropy, Universe, ValueNoise
from graphcuts_dp.privacy import sparse_vector
from graphcuts_dp.session.online import OnlineMechanism
from graphcuts_dp.session.runner import read_state, stored_state


class NoNoise:
    """Fails when noise is asked for."""

    seed = None

    def bytes(self, _):
        raise AssertionError("noise was drawn")


@pytest.mark.parametrize("updates", [0, 1, 5])
def test_the_cap_is_hard_even_when_the_bound_on_updates_is_wrong(updates):
    mechanism = toy(updates=updates, threshold=-40)  # every test fires
    source = SeededEntropy(1)
    state = mechanism.start(toy_graph(), source)
    state, answer = mechanism.step(state, EDGE, 0, source)
    assert (state.updates, state.stopped, state.updates_left) == (updates, True, 0)
    assert not answer.guaranteed
    assert answer.interval == (0.0, 1.0)
    assert len(answer.updates) == updates
    assert answer.updated is (updates > 0)
    assert (answer.queries_left, answer.updates_left) == (0, 0)
    with pytest.raises(ExhaustedError, match="without guarantee"):
        mechanism.step(state, EDGE, 0, NoNoise())
    assert not mechanism.unguaranteed(state, EDGE).guaranteed


@pytest.mark.parametrize("seed", range(40))
def test_interruptions_never_start_more_instances_than_were_paid_for(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    mechanism = toy(updates=int(rng.integers(0, 9)), threshold=int(rng.integers(-2, 8)), queries=30)
    drawn, real = [], sparse_vector.sample_geometric  # threshold noises, each of an instance

    def counting(rate, size, source):
        drawn.extend([rate] * size * (rate == mechanism.calibration.r1))
        return real(rate, size, source)

    monkeypatch.setattr(sparse_vector, "sample_geometric", counting)
    source = SeededEntropy(seed)
    state = mechanism.start(toy_graph(), source)
    shown = 0
    while not state.stopped:
        if rng.random() < 0.3:
            # The lost step draws noise too; what it restarts is charged by the interruption.
            before = len(drawn)
            mechanism.step(state, EDGE, 0, source)
            del drawn[before:]
            after = mechanism.after_interruption(state, source)
            assert after.updates_left <= max(0, state.updates_left - 2)
            assert after.stopped or after.noise is not state.noise
            state = after
        else:
            state, answer = mechanism.step(state, EDGE, 0, source)
            shown += len(answer.updates)
        paid = state.updates + state.lost + 2
        assert len(drawn) <= paid <= mechanism.calibration.updates + 2
    assert state.updates == shown <= mechanism.calibration.updates
    assert mechanism.after_interruption(state, NoNoise()) is state


def test_an_interruption_replaces_both_noises_and_charges_two_updates():
    mechanism = toy(updates=4)
    source = SeededEntropy(3)
    state = replace(mechanism.start(toy_graph(), source), noise=(10**6, 10**6))
    after = mechanism.after_interruption(state, source)
    assert (after.lost, after.updates, after.updates_left, after.queries) == (2, 0, 2, 0)
    assert max(after.noise) < 10**6
    last = mechanism.after_interruption(mechanism.after_interruption(after, source), source)
    assert last.stopped
    assert last.noise == ()


def test_nothing_is_drawn_for_refused_queries():
    mechanism = toy()
    state = mechanism.start(toy_graph(), SeededEntropy(1))
    with pytest.raises(QueryError, match="unknown vertex"):
        mechanism.step(state, CutQuery([9]), 0, NoNoise())
    with pytest.raises(ParameterError, match="true answer"):
        mechanism.step(state, EDGE, None, NoNoise())
    same, answer = mechanism.step(state, CutQuery([1], [1]), 0, NoNoise())  # no pairs
    assert same is state
    assert (answer.value, answer.interval, answer.confidence) == (0.0, (0, 0), 1)


def test_constructions_need_a_cap_on_weights_and_a_possible_total_weight():
    with pytest.raises(ParameterError, match="max_weight"):
        OnlineMechanism(learner=StubbornLearner(), calibration=Fixed(), grid=Grid(0.5, 2, None))
    for total_weight in (0.0, 7.0):
        with pytest.raises(ParameterError, match="total weight"):
            toy(total_weight=total_weight)


def tight(learner=FriezeKannanLearner, **guarantee):
    numbers = {"epsilon": 30.0, "delta": 1e-6, "queries": 200} | guarantee
    return OnlineMechanism(learner=learner(Universe(60)), calibration=Tight(**numbers), grid=Grid())


def session_after_updates(learner, **guarantee):
    graph, mechanism, source = two_communities(60, 1), tight(learner, **guarantee), SeededEntropy(4)
    state = mechanism.start(graph, source)
    first, history = state, []
    rng = np.random.default_rng(0)
    half = CutQuery(np.arange(60) < 30)
    for _ in range(12):
        query = half if rng.random() < 0.5 else CutQuery(rng.random(60) < 0.5)
        state, answer = mechanism.step(state, query, mechanism.grid.count(query, graph), source)
        history += [(query, update) for update in answer.updates]
    assert state.updates == len(history) > 0
    return mechanism, first, state, history


@pytest.mark.parametrize("learner", [FriezeKannanLearner, MultiplicativeWeightsLearner])
@pytest.mark.parametrize("guarantee", [{}, {"value_share": 0.4}])
def test_states_come_back_from_bytes_and_from_their_history(learner, guarantee):
    mechanism, first, state, history = session_after_updates(learner, **guarantee)
    query = CutQuery(np.arange(60) % 3 == 0)
    copies = [
        from_store(mechanism, state),
        from_store(mechanism, state, learnt=mechanism.hypothesis_bytes(first), since=history),
    ]
    for copy in copies:
        assert stored_state(mechanism, copy) == stored_state(mechanism, state)
        assert mechanism.hypothesis_bytes(copy) == mechanism.hypothesis_bytes(state)
        ends = [mechanism.step(s, query, 300, SeededEntropy(9)) for s in (state, copy)]
        assert ends[0][1] == ends[1][1]
        assert ends[0][0].noise == ends[1][0].noise
    assert len(stored_state(mechanism, state).public) < 4096


def test_a_lost_secret_is_replaced_by_an_interruption():
    mechanism, _, state, _ = session_after_updates(FriezeKannanLearner)
    lost = from_store(mechanism, state, lost=True)
    assert lost.noise is None
    with pytest.raises(ParameterError, match="secret"):
        mechanism.step(lost, EDGE, 0, NoNoise())
    again = mechanism.after_interruption(lost, SeededEntropy(1))
    assert again.updates_left == state.updates_left - 2
    assert mechanism.step(again, EDGE, 0, SeededEntropy(1))[1].guaranteed


def test_damaged_and_foreign_bytes_are_refused():
    mechanism, _, state, history = session_after_updates(FriezeKannanLearner)
    kept = stored_state(mechanism, state)
    public = json.loads(kept.public)
    del public["state"]["tuning"]
    parts = {
        "public": kept.public,
        "secret": kept.secret,
        "learnt": mechanism.hypothesis_bytes(state),
    }
    for name, data in parts.items():
        for damaged in (b"", data[:-1], json.dumps(public).encode()):
            with pytest.raises(FileFormatError):
                from_store(mechanism, state, **{name: damaged})
    with pytest.raises(FileFormatError, match="updates"):
        from_store(mechanism, state, since=history[1:])
    other = replace(mechanism, calibration=replace(mechanism.calibration, epsilon=29.0))
    newer = replace(mechanism)
    object.__setattr__(newer, "version", 2)
    for reader in (other, newer):
        with pytest.raises(FileFormatError, match="other parameters"):
            read_state(reader, kept)


def test_reprs_show_no_secret():
    mechanism = toy()
    state = replace(mechanism.start(toy_graph(), SeededEntropy(1)), noise=(123456, 654321))
    assert "123456" not in repr(state) + str(state) + repr(mechanism)
    kept = stored_state(mechanism, state)
    assert b"123456" not in kept.public + mechanism.hypothesis_bytes(state)
    assert b"123456" in kept.secret
    assert "123456" not in repr(kept)


def test_a_private_total_is_paid_for_and_shown():
    mechanism = toy(total_weight=1.0)
    assert mechanism.guarantee().spent == ()
    assert mechanism.guarantee().public == "the vertex set"  # the guarantee does not cover it
    mechanism, _, state, _ = session_after_updates(FriezeKannanLearner)
    guarantee = mechanism.guarantee(seed=3)
    assert [name for name, _ in guarantee.spent] == ["total weight", "answers"]
    assert sum(share for _, share in guarantee.spent) == pytest.approx(guarantee.epsilon)
    assert dict(guarantee.spent)["total weight"] == pytest.approx(30 * float(START_SHARE))
    assert (guarantee.epsilon, guarantee.delta, guarantee.is_private) == (30.0, 1e-6, False)
    assert state.total_error > 0


@pytest.mark.parametrize("cap", [None, 3.0])
def test_a_private_total_is_the_true_one_and_the_noise_that_is_paid_for(cap):
    graph = two_communities(30, 1)
    if cap:
        weights = np.full(len(graph.rows), 1.25)
        graph = Graph(graph.rows, graph.columns, weights, vertices=30, max_weight=cap)
    mechanism = OnlineMechanism(
        learner=FriezeKannanLearner(Universe(30), disjoint=True),
        calibration=Tight(epsilon=4.0, delta=1e-6, queries=5),
        grid=Grid.of(graph),
    )
    steps = mechanism.grid.sensitivity
    noise, *_ = mechanism.calibration.split_budget(steps)
    drawn = [noise.draw(SeededEntropy(seed)) for seed in range(20)]
    assert len(set(drawn)) > 10
    for seed, number in enumerate(drawn):
        state = mechanism.start(graph, SeededEntropy(seed))
        noisy = (mechanism.grid.total(graph) + number) / steps
        assert state.total_weight == min(max(noisy, 1.0), 30 * 29 / 2)


@pytest.mark.parametrize("total", [0.75, 1.25, 40.0])
def test_a_total_that_is_raised_to_a_unit_has_the_error_of_that(total):
    """A hypothesis has at least the largest weight of a pair, 3, in all."""
    graph = Graph([0], [1], [0.75], vertices=30, max_weight=3.0)
    mechanism = OnlineMechanism(
        learner=FriezeKannanLearner(Universe(30), disjoint=True),
        calibration=Tight(epsilon=4.0, delta=1e-6, queries=5),
        grid=Grid.of(graph),
        total_weight=total,
    )
    state = mechanism.start(graph, SeededEntropy(1))
    assert state.total_weight == max(1.0, total / 3)
    assert abs(state.total_weight - total / 3) <= state.total_error
    assert (state.total_error < 0.01) == (total == 40)


def test_bought_answers_come_with_their_own_interval():
    graph, mechanism, source = two_communities(60, 1), tight(value_share=0.5), SeededEntropy(4)
    state = mechanism.start(graph, source)
    query = CutQuery(np.arange(60) < 30)
    truth = mechanism.grid.count(query, graph)
    state, answer = mechanism.step(state, query, truth, source)
    assert len(answer.updates) == state.updates == 1
    low, high = answer.interval
    assert low <= truth <= high
    assert (high - low) / 2 == pytest.approx(state.tuning.value_error, rel=1e-6)
    assert answer.seeded


class Buying(Fixed):
    """Every test fires, and an answer is bought with two-sided geometric noise of rate 1/10."""

    def tune(self, update_bound, sensitivity):
        noise = ValueNoise("laplace", Fraction(1, 10) / sensitivity)
        return replace(super().tune(update_bound, sensitivity), value_noise=noise, value_error=50)


def test_bought_answers_are_the_true_ones_and_fresh_noise_of_the_stated_size():
    """|N| <= 1 has probability 0.140, |N| > 10 has 0.349: of 400, as many as 100 and as few as 90
    have chances below 1e-7 each, for a random seed."""
    mechanism = OnlineMechanism(
        learner=StubbornLearner(), calibration=Buying(threshold=-60), grid=Grid(), total_weight=1.0
    )
    source = SeededEntropy(5)
    errors, kept = [], 0
    for _ in range(400):
        before = mechanism.start(toy_graph(), source)
        state, answer = mechanism.step(before, EDGE, 7, source)
        errors.append(abs(answer.value - 7))
        assert state.updates == 1
        assert state.noise[1] == before.noise[1]
        kept += state.noise[0] == before.noise[0]
    assert sum(error <= 1 for error in errors) < 100
    assert sum(error > 10 for error in errors) > 90
    assert 0 < kept < 100  # the side that fired has new noise; the same by chance 0.0997


def test_only_values_with_a_small_error_reach_the_rule():
    """A value that may be off by more than alpha would make steps too long."""
    mechanism = toy()
    tuning = mechanism.calibration.tune(None, 1)
    rough = replace(tuning, value_error=2)
    fine = replace(tuning, value_error=1)
    assert mechanism._update(rough, 1, 7).value is None
    assert mechanism._update(fine, 1, 7).value == 7
