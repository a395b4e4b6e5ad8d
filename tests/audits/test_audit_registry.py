"""Every mechanism has an audit, which it passes and its incorrect variants do not.

A sound mechanism fails with probability 1e-6 at most, for all entries together, if the seed were
drawn at random. That its incorrect variants are caught is a matter of power: the seeds are fixed.
"""

import itertools
import math
from functools import cache, partial

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError, graph_job
from graphcuts_dp.estimate.measurement import Classes, Degrees
from graphcuts_dp.estimate.noises import NOISES, noise_distribution
from graphcuts_dp.evaluation.audit import Claim, Neighbours, audit
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.entropy import entropy_source
from tests.audits import registry, releases, together
from tests.audits.base import MIN_SHARE, Entry, Enumerated, Sampled
from tests.audits.graphs import LAST_PAIR, quietly
from tests.audits.losses import DistributionPair, visible_by_ratio
from tests.audits.registry import (
    ENTRIES,
    exported_mechanisms,
    find_audits,
    run_audits,
)
from tests.audits.together import (
    HIDDEN,
    OF_EDGES,
    measured_sparse,
    plain,
    plain_session,
    protected,
    sensing,
    session_of_tests,
)

COVERED = {name for entry in ENTRIES for name in entry.covers}
QUICK = [entry for entry in ENTRIES if not entry.slow]
LONG = [entry for entry in ENTRIES if entry.slow]
# Each is a mistake that somebody could make; some audit must look for it.
MISTAKES = {
    "half the noise",
    "noise reused",
    "same noise on both sides",
    "last pair missing",
    "clipped before noise",
    "sensitivity 1 for 2",
    "un-reset threshold",
    "m used raw",
    "seed reused after fork",
    "continue after the cap",
    "levels forgotten in the budget",
    "consistency that reads the truth",
}


@cache
def incorrect_variants_of(entry):
    """Return the names of the incorrect variants of an audit, kept: an audit takes long to make."""
    return set(entry.make(1.0).incorrect_variants)


@pytest.mark.thorough
def test_every_exported_mechanism_has_an_audit_and_every_audit_an_incorrect_variant():
    assert set(exported_mechanisms()) <= COVERED
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    assert all(map(incorrect_variants_of, ENTRIES))


def _dummy(graph, *, epsilon):  # noqa: ARG001
    raise AssertionError("not run")


@pytest.mark.parametrize(
    ("add", "missing"),
    [
        (lambda patch: patch.setitem(registry.METHODS, "dummy", None), "session: dummy"),
        (
            lambda patch: patch.setitem(registry.DISTINGUISHERS, "dummy", None),
            "distinguisher: dummy",
        ),
        (lambda patch: patch.setitem(registry.NOISES, "dummy", None), "release: auto, dummy"),
        (lambda patch: patch.setattr(gc, "dummy", _dummy, raising=False), "function: dummy"),
    ],
)
def test_a_mechanism_without_an_audit_is_noticed(add, missing, monkeypatch):
    """Whether it stands in a table, or is a public function of its own."""
    add(monkeypatch)
    monkeypatch.setattr(gc, "__all__", [*gc.__all__, *({"dummy"} & set(vars(gc)))])
    assert missing in set(exported_mechanisms()) - COVERED


@pytest.mark.thorough
def test_every_mistake_is_looked_for_by_a_quick_audit():
    """Which also has to catch it: see `test_a_quick_audit_passes`."""
    assert set().union(*map(incorrect_variants_of, QUICK)) >= MISTAKES


@pytest.mark.thorough(cases=8)
@pytest.mark.parametrize("entry", QUICK, ids=lambda entry: entry.name)
def test_a_quick_audit_passes(entry):
    (outcome,) = run_audits([entry], quick=True, seed=1)
    assert outcome.kept, (outcome.loss, outcome.pair, outcome.event)
    assert not [variant for variant in outcome.incorrect_variants if not variant.caught]
    assert outcome.detected_share >= MIN_SHARE or outcome.why_below_half, (
        "say in its entry why it detects so little"
    )


def test_the_law_of_a_release_sees_what_events_do_not():
    """Half the noise of root degrees passed the audit by events, which saw .3 of the claim."""
    for name in (
        "session: root degrees",
        "sparse, discrete-laplace",
        "degrees+randomized-response, binary",
    ):
        (entry,) = find_audits([f"{name}, by its law"])
        by_law = entry.make(1.0)
        assert visible_by_ratio(by_law.claim, by_law.runs) > 0.85
        (by_events,) = find_audits([name])
        assert "law" in by_events.why_below_half


@pytest.mark.slow
@pytest.mark.parametrize("entry", LONG, ids=lambda entry: entry.name)
def test_a_quick_audit_that_takes_many_seconds_passes(entry):
    """At full power `make audit` runs these and all others."""
    (outcome,) = run_audits([entry], quick=True, seed=2)
    assert outcome.passed, outcome


@pytest.mark.thorough
def test_outcomes_do_not_depend_on_the_processes():
    entries = find_audits(["baseline: density only", "net"])
    alone = run_audits(entries, quick=True, seed=3)
    assert run_audits(entries, quick=True, seed=3, processes=2) == alone
    assert run_audits(entries, quick=True, seed=4) != alone


def leaky(_):
    return Sampled(
        claim=Claim(1.0),
        pairs=(Neighbours("bare", 0.0, 1.0),),
        start=lambda _: lambda number: [number],
        incorrect_variants={"constant": lambda _: lambda _: [0.0]},
        runs=400,
    )


def test_a_mechanism_that_leaks_is_refuted_and_a_twin_that_does_not_is_missed():
    (outcome,) = run_audits([Entry("leaky", leaky)], seed=1)
    assert not outcome.kept
    assert [variant.caught for variant in outcome.incorrect_variants] == [False]
    assert not outcome.passed
    assert outcome.pair == "bare"


def test_losses_of_independent_outputs_add_up():
    bit = DistributionPair("one", [0.25, 0.75], [0.75, 0.25])
    three = DistributionPair("three", bit.first, bit.second, 2, (bit,))
    assert three.loss(Claim(1.0)) == pytest.approx(3 * math.log(3))
    rho = Claim(1.0, kind="rho")
    assert three.loss(rho) == pytest.approx(3 * bit.loss(rho))
    with pytest.raises(ValueError, match="delta"):
        three.loss(Claim(1.0, 0.1))


def test_an_enumerated_audit_finds_the_worst_distribution():
    distributions = [
        DistributionPair("same", [0.5, 0.5], [0.5, 0.5]),
        DistributionPair("apart", [0.4, 0.6], [0.6, 0.4]),
    ]
    made = Enumerated(
        claim=Claim(1.0),
        distributions=lambda: distributions,
        incorrect_variants={"same": lambda: distributions[:1]},
    )
    (outcome,) = run_audits([Entry("made", lambda _: made)])
    assert (outcome.pair, outcome.method) == ("apart", "exact")
    assert outcome.loss == pytest.approx(math.log(1.5))
    assert outcome.kept
    assert not outcome.passed


def test_audits_are_found_by_the_beginning_of_their_names():
    assert find_audits(["all"]) == ENTRIES
    assert [entry.name for entry in find_audits(["net"])] == ["net"]
    assert len(find_audits(["baseline: "])) == 5
    with pytest.raises(ParameterError, match="no audit is called 'x'"):
        find_audits(["x"])
    with pytest.raises(ParameterError, match="epsilon"):
        run_audits(find_audits(["net"]), epsilon=0)


GRAPH = gc.Graph([0, 0, 1, 2, 3], [1, 2, 2, 3, 5], vertices=6)
MEASURED = [("sparse", "discrete-laplace"), *itertools.product(registry.MECHANISMS, NOISES)]


@pytest.mark.thorough(cases=5)
@pytest.mark.parametrize(("mechanism", "noise"), MEASURED)
def test_a_release_measures_what_is_audited(mechanism, noise):
    """Audits of parts leave the fit out, which reads the measurements alone.

    What is measured of the fit afterwards has an audit of its own.
    """
    fit: str | gc.FitOptions = "none"
    if mechanism not in ("randomized-response", "sparse"):
        fit = gc.FitOptions(time_limit=1e-9, certificate=False)
    options = {"epsilon": 1.0, "mechanism": mechanism, "noise": noise, "fit": fit}
    released = quietly(gc.release_graph, GRAPH, **options, seed=5)
    job = graph_job(GRAPH, epsilon=1.0, noise=noise, mechanism=mechanism, fitted=False)
    audited = job.measure(GRAPH, entropy_source(5))
    assert len(released.measurements.values) == len(audited.values) > 0
    for one, other in zip(released.measurements.values, audited.values, strict=True):
        assert one.epsilon == other.epsilon
        for numbers, others in zip(one.steps, other.steps, strict=True):
            np.testing.assert_array_equal(numbers, others)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("unit", HIDDEN)
@pytest.mark.parametrize("group_size", [1, 6])
def test_a_sparse_release_of_several_changes_measures_what_is_audited(unit, group_size):
    data = HIDDEN[unit][0][0].second
    given, privacy_unit = protected(data, group_size)
    options = {"epsilon": 1.0, "mechanism": "sparse", "fit": "none"} | privacy_unit
    released = quietly(gc.release_graph, given, **options, seed=5).measurements
    audited = measured_sparse(data, group_size, 1.0, entropy_source(5))
    for kind in (Degrees, Classes):
        one, other = (each.find(kind) for each in (released, audited))
        assert one.epsilon == other.epsilon
        np.testing.assert_array_equal(one.steps, other.steps)
    for (pair,) in HIDDEN[unit]:  # all six pairs change
        assert [len(plain(end).rows) for end in (pair.first, pair.second)] == [0, 6]


OF_USERS = {name: (0, start) for name, start in OF_EDGES.items()} | {
    "sensing": (1, sensing),
    "session, gaussian": (0, partial(plain_session, "gaussian", 0.02)),
    "tests, shared": (0, partial(session_of_tests, "frieze-kannan", "shared")),
    "tests, one-sided": (0, partial(session_of_tests, "mirror-descent", "one-sided")),
}


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("name", OF_USERS)
def test_a_user_is_hidden_as_the_edges_that_are_left(name):
    """All that an audit sees of both is the same, for the same entropy."""
    kind, start = OF_USERS[name]
    edges, user = (HIDDEN[unit][kind][0] for unit in ("6 edges", "users"))
    for one, other in ((edges.first, user.first), (edges.second, user.second)):
        for seed in range(3):
            seen = [start(6, 1.0, SeededEntropy(seed))(data) for data in (one, other)]
            np.testing.assert_array_equal(*seen)


PUBLIC = {  # the kind of graph, and what makes runs
    "release, response": (0, together.OF_EDGES["release, response"]),
    "iterative release": (0, together.OF_EDGES["iterative release"]),
    "net": (0, together.OF_EDGES["net"]),
    "sensing": (1, sensing),
    "flows": (0, together.flows),
}
NO_USERS = ("flows", "users")  # they have audits of their own


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("group_size", [1, 6])
@pytest.mark.parametrize(
    ("name", "unit"), [pair for pair in itertools.product(PUBLIC, HIDDEN) if pair != NO_USERS]
)
def test_a_job_that_is_made_once(name, unit, group_size, monkeypatch):
    """Audits make the job of a public function once: it gives what the function gives."""

    def as_users_call_it(function, group_size, source, *arguments, **options):
        def run(data):
            given, privacy_unit = protected(data, group_size)
            seed = {"seed": together.seed_of(source)}
            return quietly(function, given, *arguments, **options, **privacy_unit, **seed)

        return run

    kind, start = PUBLIC[name]
    for data in (HIDDEN[unit][kind][0].first, HIDDEN[unit][kind][0].second):
        prepared = start(group_size, 1.0, SeededEntropy(3))
        seen = [prepared(data) for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.setattr(together, "_public", as_users_call_it)
            called = start(group_size, 1.0, SeededEntropy(3))
            np.testing.assert_array_equal(seen, [called(data) for _ in range(2)])


@pytest.mark.parametrize("noise", ["binary", "discrete-laplace"])
def test_parts_of_incorrect_variants_pass_an_audit_without_their_mistake(noise):
    """So the audit catches the mistake, and not a fault of these parts."""
    distribution = noise_distribution(noise, epsilon=1.0, max_weight=1.0)
    source = SeededEntropy(7)

    def sound(graph, _):
        return releases._hidden(graph, distribution, releases._noise(distribution, source))

    found = audit(sound, LAST_PAIR.first, LAST_PAIR.second, runs=2000)
    assert 0.4 < found.epsilon_lower <= 1.0, found.event
