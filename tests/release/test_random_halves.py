"""Random halves of a release: what is measured after the fit, kept, read back and said."""

import json
import math
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, LedgerError
from graphcuts_dp.ledger import charges
from graphcuts_dp.ledger.opening import open_ledger
from graphcuts_dp.ledger.records import Kind
from graphcuts_dp.privacy.entropy import SystemEntropy
from graphcuts_dp.release import graph_jobs
from graphcuts_dp.results import bundle
from graphcuts_dp.synth.budget_plans import CERTIFICATE_SHARE, SQUARED_DISTANCE

pytestmark = [
    pytest.mark.usefixtures("no_forecast"),
    pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning"),
]
N = 14
_ROWS, _COLUMNS = np.triu_indices(N, 1)
_EVERY_THIRD = slice(None, None, 3)
_WEIGHTS = np.linspace(0.05, 3.0, len(_ROWS[_EVERY_THIRD])).round(2)
GRAPHS = {
    "plain": random_graph(N),
    "weighted": gc.Graph(
        *(_ROWS[_EVERY_THIRD], _COLUMNS[_EVERY_THIRD], _WEIGHTS), vertices=N, max_weight=3.0
    ),
    "two sides": gc.BipartiteGraph([0, 1, 2, 2], [0, 3, 1, 2], left=6, right=5),
    "directed": gc.DirectedGraph([0, 1, 1, 5, 7], [1, 0, 2, 7, 5], vertices=9),
}


@pytest.mark.thorough
def test_a_process_that_only_inspects_knows_what_was_measured(tmp_path):
    gc.release_graph(GRAPHS["weighted"], epsilon=2.0, seed=1).save(tmp_path / "a.csv")
    line = [sys.executable, "-m", "graphcuts_dp", "inspect", "a.csv"]
    ended = subprocess.run(line, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "squared distance" in ended.stdout


class Killed(BaseException):
    """Stands for the end of a process."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


def killed(*_, **__):
    raise Killed


def kinds_of(path):
    with closing(open_ledger(path)) as ledger, ledger.locked():
        rows = ledger.file.connection.execute("SELECT kind FROM records ORDER BY seq")
        return [kind for (kind,) in rows]


def errors_of(release, graph):
    """The total error and the scatter of the fit of a release."""
    private, fitted = (each.to_scipy().toarray() for each in (graph, release.expected))
    difference = private - fitted
    if not isinstance(graph, gc.BipartiteGraph):
        both = difference + (0 if isinstance(graph, gc.Graph) else difference.T)
        difference = both[np.triu_indices(len(both), 1)]
    return abs(difference.sum()), math.sqrt((difference**2).sum()) / 2


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", GRAPHS)
def test_a_release_bounds_random_halves_with_a_hundredth_of_epsilon(name):
    release = gc.release_graph(GRAPHS[name], epsilon=20.0, seed=3)
    plan, halves = release.budget_plan, release.random_halves()
    assert plan.amounts[SQUARED_DISTANCE] == plan.amount * CERTIFICATE_SHARE
    assert list(plan.amounts)[-1] == SQUARED_DISTANCE
    assert plan.spent == plan.amount
    total, scatter = errors_of(release, GRAPHS[name])
    assert total <= halves.total_error
    assert scatter <= halves.scatter_at_most
    assert halves.root_mean_square >= math.hypot(total / 2, scatter)
    assert release.random_halves(0.5).scatter_at_most <= halves.scatter_at_most
    assert "proven, 95%" in str(halves)


@pytest.mark.thorough
@pytest.mark.parametrize("runs", [10, pytest.param(400, marks=pytest.mark.slow)])
def test_bounds_of_whole_releases_fail_no_more_often_than_they_may(runs):
    graph, missed = random_graph(10), 0
    for seed in range(runs):
        release = gc.release_graph(graph, epsilon=6.0, seed=seed, fit="first-order")
        total, scatter = errors_of(release, graph)
        halves = release.random_halves()
        missed += total > halves.total_error or scatter > halves.scatter_at_most
    assert missed <= 0.05 * runs + 4 * math.sqrt(0.05 * 0.95 * runs)


def test_without_a_certificate_all_of_epsilon_is_for_the_fit():
    release = gc.release_graph(GRAPHS["plain"], epsilon=4.0, seed=3, fit="auto:certificate=no")
    assert release.random_halves() is None
    assert SQUARED_DISTANCE not in release.budget_plan.statistics
    assert release.budget_plan.spent == 4


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("graph", "options"),
    [
        (GRAPHS["plain"], {"fit": "none"}),
        (GRAPHS["plain"], {"mechanism": "sparse"}),
        (GRAPHS["plain"], {"epsilon": 5e-5}),
        (gc.Graph([0], [1], [2.0], vertices=4, max_weight_change=1), {}),
    ],
)
def test_what_cannot_be_certified_costs_nothing(graph, options):
    release = gc.release_graph(graph, **{"epsilon": 1.0, "seed": 0} | options)
    assert release.random_halves() is None
    assert SQUARED_DISTANCE not in release.budget_plan.statistics


def test_at_a_small_epsilon_the_bound_says_that_it_is_worthless():
    release = gc.release_graph(gc.Graph([0], [1], vertices=3), epsilon=0.01, seed=1)
    halves = release.random_halves()
    assert not halves.informative
    assert "worthless" in str(halves)
    assert halves.scatter_at_most <= math.sqrt(3) / 2 * (1 + 1e-6)


def test_two_vertices_have_random_halves():
    halves = gc.release_graph(gc.Graph([0], [1], vertices=2), epsilon=40.0, seed=1).random_halves()
    assert halves.equal_halves is None
    assert halves.scatter_at_most <= 0.5 * (1 + 1e-6)  # of the only pair
    assert "worthless" in str(halves)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", GRAPHS)
def test_files_keep_random_halves(name, tmp_path):
    release = gc.release_graph(GRAPHS[name], epsilon=3.0, seed=3)
    file = tmp_path / "release.graphml"
    release.save(file)
    assert gc.load(file).random_halves() == release.random_halves()
    receipt = json.loads((tmp_path / "release.graphml.json").read_text())
    assert receipt["random_halves"] == release.random_halves().to_dict()


@pytest.mark.parametrize("field", ["total_error_at_most", "scatter", "scatter_at_most"])
def test_altered_bounds_are_refused(field, tmp_path):
    release = gc.release_graph(GRAPHS["plain"], epsilon=30.0, seed=3)
    fields = release.to_parts().fields
    stated = dict(fields["random_halves"])
    stated[field] += 1.0
    parts = release.to_parts()
    altered = type(parts)(
        kind=parts.kind,
        guarantee=parts.guarantee,
        fields={**fields, "random_halves": stated},
        arrays=parts.arrays,
        graph=parts.graph,
    )
    file = tmp_path / "release.graphml"
    bundle.save(altered, file, force=False)
    with pytest.raises(FileFormatError):
        gc.load(file)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", GRAPHS)
def test_a_store_keeps_what_was_measured_before_and_after_the_fit(name, path, monkeypatch):
    made = gc.release_graph(GRAPHS[name], epsilon=1.0, store=path)
    assert kinds_of(path) == [Kind.BEGIN, Kind.MEASURED, Kind.FINISHED]
    monkeypatch.setattr(SystemEntropy, "bytes", killed)  # nothing is drawn
    again = gc.resume(path)
    assert again.random_halves() == made.random_halves()
    assert again.guarantee == made.guarantee
    by_call = gc.release_graph(GRAPHS[name], epsilon=1.0, store=gc.Store(path, resume=True))
    assert by_call.random_halves() == made.random_halves()
    assert gc.store_status(path).epsilon == 1.0


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("moment", ["before the noise", "before it is kept"])
def test_a_kill_after_the_fit_is_resumed_with_the_same_fit(moment, path, monkeypatch):
    graph, shown = GRAPHS["plain"], []
    with monkeypatch.context() as patched:
        if moment == "before the noise":
            patched.setattr(graph_jobs, "measure_fit", killed)
        else:
            patched.setattr(charges.Charge, "keep_later", killed)
        with pytest.raises(Killed):
            gc.release_graph(
                graph, epsilon=1.0, store=path, progress=lambda *each: shown.append(each)
            )
    assert kinds_of(path) == [Kind.BEGIN, Kind.MEASURED]
    assert not any("squared" in message for _, message in shown)
    before = gc.resume(path)  # without the data: what was measured before
    assert before.random_halves() is None
    with monkeypatch.context() as patched:
        patched.setattr(graph_jobs, "measure", killed)  # nothing is measured twice
        again = gc.release_graph(graph, epsilon=1.0, store=gc.Store(path, resume=True))
    assert kinds_of(path) == [Kind.BEGIN, Kind.MEASURED, Kind.RESUMED, Kind.FINISHED]
    assert again.fitted_weights.digest == before.fitted_weights.digest
    assert again.random_halves() is not None
    assert gc.resume(path).random_halves() == again.random_halves()
    assert gc.store_status(path).epsilon == 1.0


def test_a_second_process_cannot_measure_the_fit_again(path, monkeypatch):
    graph, keep_later, late = GRAPHS["plain"], charges.Charge.keep_later, []
    with monkeypatch.context() as patched:
        patched.setattr(
            charges.Charge, "keep_later", lambda charge, content: late.append((charge, content))
        )
        gc.release_graph(graph, epsilon=1.0, store=path)
    again = gc.release_graph(graph, epsilon=1.0, store=gc.Store(path, resume=True))
    (charge, content), *_ = late
    with pytest.raises(LedgerError, match="thrown away"):
        keep_later(charge, content)
    assert gc.resume(path).random_halves() == again.random_halves()


def test_another_fit_has_no_random_halves(path):
    call = {"epsilon": 1.0, "mechanism": "randomized-response", "store": path}
    gc.release_graph(GRAPHS["plain"], **call, fit="first-order")
    call["store"] = gc.Store(path, resume=True)
    other = gc.release_graph(GRAPHS["plain"], **call, fit="spectral")
    assert other.random_halves() is None


def test_a_store_that_keeps_nothing_measures_nothing_twice(path, monkeypatch):
    graph = GRAPHS["plain"]
    with monkeypatch.context() as patched:
        patched.setattr(graph_jobs, "measure_fit", killed)
        with pytest.raises(Killed):
            gc.release_graph(graph, epsilon=1.0, store=gc.Store(path, keep=False))
    with pytest.raises(LedgerError, match="does not keep what it measured"):
        gc.release_graph(graph, epsilon=1.0, store=gc.Store(path, keep=False, resume=True))


def test_a_seed_gives_the_same_with_and_without_a_store(path):
    graph = GRAPHS["plain"]
    first = gc.release_graph(graph, epsilon=1.0, seed=4)
    second = gc.release_graph(graph, epsilon=1.0, seed=4, store=path)
    assert first.random_halves() == second.random_halves()
