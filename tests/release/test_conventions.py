"""Numbers, seeds, progress, errors, frames: what people are used to from other libraries."""

import copy
import gc as garbage
import inspect
import io
import json
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import private_functions as functions
import pytest

import graphcuts_dp as gc
from graphcuts_dp import ParameterError, PrivacyWarning, errors
from graphcuts_dp.ledger import charges
from graphcuts_dp.privacy.entropy import as_seed, entropy_source
from graphcuts_dp.resources import progress_function, silent
from tests.audits.public_names import public_names

CLUB = gc.datasets.load("karate")
N = functions.N


def test_epsilon_is_always_explicit():
    for name, function in public_names().items():
        if not inspect.isfunction(function):
            continue
        epsilon = inspect.signature(function).parameters.get("epsilon")
        if epsilon is not None and name not in _RESUMED:
            assert epsilon.default is inspect.Parameter.empty, name


# What goes on with a session that has an epsilon already takes none; a new one without it fails.
_RESUMED = {"open_session", "distances.open_distance_session", "connect"}


def test_a_new_session_without_an_epsilon_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="epsilon"):
        gc.open_session(CLUB, store=tmp_path / "a.db", queries=3)
    with pytest.raises(ParameterError, match="epsilon"):
        gc.open_session(CLUB, queries=3)


SCALARS = [np.float64(2), np.float32(2), np.float16(2), np.int64(2), np.int8(2), np.uint8(2)]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("epsilon", SCALARS, ids=lambda value: type(value).__name__)
def test_scalars_of_numpy_are_numbers(epsilon):
    call = {"seed": np.int64(1), "epsilon": epsilon}
    plain = {"seed": 1, "epsilon": 2.0}
    assert (
        gc.release_graph(CLUB, fit="none", **call).answer([0]).value
        == gc.release_graph(CLUB, fit="none", **plain).answer([0]).value
    )
    groups = gc.datasets.load_groups("karate")
    flows = gc.release_flows(CLUB, groups, **call)
    assert flows.values().tolist() == gc.release_flows(CLUB, groups, **plain).values().tolist()
    assert gc.least_cut(CLUB, 0, 33, **call).value == gc.least_cut(CLUB, 0, 33, **plain).value
    assert gc.detect_structure(CLUB, **call).signal == gc.detect_structure(CLUB, **plain).signal
    assert gc.choose_degree_bound(CLUB, noise=epsilon, candidates=[2, 4], **call)
    assert gc.plan(np.int64(34), epsilon=epsilon, queries=np.int32(9)).to_frame() is not None
    with gc.open_session(
        CLUB, queries=np.int16(5), delta=np.float32(0), method="laplace", **call
    ) as session:
        assert session.remaining.queries == 5
        json.dumps(session.export())  # no scalar of numpy is left in what is stored


def test_options_take_scalars_of_numpy():
    unit = gc.PrivacyUnit.edge(np.int64(2))
    assert unit == gc.PrivacyUnit.edge(2)
    assert type(gc.SessionWorkload(queries=np.int64(9)).queries) is int
    assert gc.FitOptions(time_limit=np.float32(2)).time_limit == 2
    mechanism = gc.Mechanism("sparse", degree_share=np.float64(0.25))
    assert mechanism == gc.Mechanism("sparse", degree_share=0.25)
    made = gc.Graph.of([(0, 1, 2.0)], vertices=np.int64(3), max_weight=np.int32(5))
    assert (made.n, made.max_weight) == (3, 5.0)


SEEDS = {
    "integer": lambda: 5,
    "scalar": lambda: np.uint32(5),
    "sequence": lambda: np.random.SeedSequence(5),
    "integers": lambda: [1, 2, 3],
    "generator": lambda: np.random.default_rng(5),
    "old generator": lambda: np.random.RandomState(5),
    "bits": lambda: np.random.MT19937(5),
}


@pytest.mark.parametrize("make", SEEDS.values(), ids=SEEDS)
def test_seeds_of_numpy_repeat_a_run_and_void_its_guarantee(make):
    first, again = (gc.release_graph(CLUB, epsilon=1.0, fit="none", seed=make()) for _ in "ab")
    assert first.answer([0]).value == again.answer([0]).value
    assert "seeded: not private" in repr(first)
    assert not first.guarantee.is_private
    by_number = gc.release_graph(CLUB, epsilon=1.0, fit="none", seed=first.guarantee.seed)
    assert by_number.answer([0]).value == first.answer([0]).value  # the receipt tells the seed


def test_a_generator_moves_on_and_a_sequence_does_not():
    generator, sequence = np.random.default_rng(1), np.random.SeedSequence(1)
    assert as_seed(generator) != as_seed(generator)
    assert as_seed(sequence) == as_seed(sequence)
    assert as_seed(sequence) != as_seed(sequence.spawn(1)[0])
    assert as_seed(7) == 7
    assert as_seed(None) is None


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "1", [1.5], ["a"], [-1], object()])
def test_what_is_no_seed_is_refused(wrong):
    with pytest.raises(ParameterError, match="a seed is an integer >= 0, or"):
        entropy_source(wrong)
    with pytest.raises(ParameterError, match="a seed is"):
        gc.open_session(CLUB, epsilon=1.0, queries=1, seed=wrong)


def test_progress_true_shows_a_bar_on_standard_error(capsys):
    gc.release_graph(CLUB, epsilon=1.0, fit="none", progress=True)
    shown = capsys.readouterr()
    assert "%" in shown.err
    assert not shown.out
    gc.release_graph(CLUB, epsilon=1.0, fit="none", progress=False)
    gc.release_graph(CLUB, epsilon=1.0, fit="none")
    assert capsys.readouterr().err == ""


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_on_a_terminal_is_one_line_that_goes(monkeypatch):
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    report = progress_function(True)
    report(0.5, "fitting [red]")
    report(1.0, "done")
    written = terminal.getvalue()
    assert "\n" not in written
    assert "#" * 15 + "-" * 15 + "  50% fitting [red]" in written
    assert written.endswith(" \r")  # the line is empty again


@pytest.mark.parametrize("wrong", [None, 1, "yes", 0.5])
def test_progress_of_another_kind_is_refused_before_anything_is_spent(wrong, tmp_path):
    store = tmp_path / "a.db"
    release = gc.release_graph(CLUB, epsilon=1.0, fit="none", seed=1)
    for call in (
        lambda: gc.release_graph(CLUB, epsilon=1.0, progress=wrong, store=store),
        lambda: gc.least_cut(CLUB, 0, 33, epsilon=1.0, progress=wrong, store=store),
        lambda: gc.cut_errors(CLUB, release, progress=wrong),
    ):
        with pytest.raises(ParameterError, match="progress is True, False, or a function"):
            call()
    assert not store.exists()


def test_every_function_with_progress_takes_true():
    names = {
        name
        for name, function in public_names().items()
        if inspect.isfunction(function) and "progress" in inspect.signature(function).parameters
    }
    assert names == {
        "release_graph",
        "least_cut",
        "release_iteratively",
        "cut_errors",
        "compare",
        "resume",
    }
    for name in names:
        parameter = inspect.signature(public_names()[name]).parameters["progress"]
        assert bool in parameter.annotation.__args__, name
        assert parameter.default is silent, name


@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        (errors.ParameterError, [ValueError]),
        (errors.GraphError, [ValueError]),
        (errors.KindError, [TypeError, ValueError]),
        (errors.QueryError, [ValueError]),
        (errors.UnknownVertexError, [KeyError, ValueError]),
        (errors.MatrixError, [ValueError]),
        (errors.LedgerError, [RuntimeError]),
        (errors.BudgetError, [RuntimeError]),
    ],
)
def test_errors_are_those_that_python_expects(error, kinds):
    assert issubclass(error, errors.GraphCutsError)
    assert all(issubclass(error, kind) for kind in kinds)
    assert str(error("a plain message")) == "a plain message"


def test_errors_that_people_catch():
    with pytest.raises(KeyError, match=r"^unknown vertex 'nobody'"):
        gc.CutQuery(["nobody"]).value(CLUB)
    with pytest.raises(TypeError):
        gc.release_graph("mail.csv", epsilon=1.0)
    with pytest.raises(ValueError, match="epsilon"):
        gc.release_graph(CLUB, epsilon=-1.0)


def test_tables_of_results_have_the_kind_of_the_callers():
    release = gc.release_graph(CLUB, epsilon=4.0, seed=1)
    answers = release.answer_all([gc.CutQuery([0]), gc.CutQuery([1])])
    mine = pd.DataFrame({"a": [1]})
    tables = [
        release.graph,
        answers,
        gc.release_flows(CLUB, gc.datasets.load_groups("karate"), epsilon=1.0),
        gc.least_cut(CLUB, 0, 33, epsilon=4.0),
        gc.plan(34, epsilon=1.0),
        gc.cut_errors(CLUB, release),
    ]
    for table in tables:
        assert type(table.to_frame(kind=mine)) is pd.DataFrame
        assert type(table.to_frame(kind="polars")).__module__.startswith("polars")
        assert len(table.to_frame(kind="pyarrow")) == len(table.to_frame(kind="pandas"))


# ------------------------------------------------------------------ sessions without a store


def test_a_session_without_a_store_ends_with_it(monkeypatch):
    monkeypatch.setattr(charges, "_warned", False)
    session = gc.open_session(CLUB, epsilon=1.0, queries=5, method="laplace")
    store = session._ledger.file.path
    assert store.exists()
    first = session.ask([0]).value
    assert session.ask([0]).value == first
    assert session.remaining.queries == 4
    session.close()
    assert not store.parent.exists()
    with gc.open_session(CLUB, epsilon=1.0, queries=5) as other:
        assert other.remaining.queries == 5  # another one


def test_a_session_that_cannot_begin_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr("graphcuts_dp.ledger.temporary._MEMORY", tmp_path)
    with pytest.raises(ParameterError):
        gc.open_session(CLUB, epsilon=1.0, queries=0)
    assert not list(tmp_path.iterdir())
    session = gc.open_session(CLUB, epsilon=1.0, queries=2)
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o077 == 0  # nobody else may look
    del session
    garbage.collect()
    assert not list(tmp_path.iterdir())


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.ConversionWarning")  # of networkx
def test_a_second_use_without_a_store_is_known(monkeypatch):
    monkeypatch.setattr(charges, "_warned", False)
    graph = nx.path_graph(40)
    with gc.open_session(graph, epsilon=1.0, queries=5, method="laplace"):
        pass
    with (
        pytest.warns(PrivacyWarning, match="again without a store") as caught,
        gc.open_session(graph, epsilon=1.0, queries=5, method="laplace"),
    ):
        pass
    assert caught[0].filename == __file__


def test_distance_sessions_need_no_store():
    street = gc.distances.Metric.path(10)
    people = gc.distances.Locations.from_labels(street, [1, 4, 7] * 200)
    with gc.distances.open_distance_session(
        street, people, epsilon=5.0, delta=1e-6, queries=3
    ) as session:
        assert session.ask(4).value >= 0


def test_a_session_cannot_be_pickled(tmp_path):
    with gc.open_session(CLUB, store=tmp_path / "a.db", epsilon=1.0, queries=5) as session:
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be pickled or copied"):
                attempt(session)


def test_locations_from_tables():
    street = gc.distances.Metric.path(5)
    expected = [0, 2, 0, 0, 1]
    for source in (
        pd.DataFrame({"vertex": [1, 1, 4], "age": [3, 4, 5]}),
        pd.DataFrame({"Place": [1, 4], "people": [2, 1]}),
        pd.Series([1, 1, 4]),
    ):
        assert gc.distances.Locations.of(street, source).counts.tolist() == expected
    with pytest.raises(ParameterError, match="no column vertex"):
        gc.distances.Locations.of(street, pd.DataFrame({"x": [1]}))


def test_searches_without_noise_take_the_same_seeds():
    matrix = np.random.default_rng(0).normal(size=(30, 30))
    for make in SEEDS.values():
        first, again = (gc.cut_norm(matrix, seed=make()) for _ in "ab")
        assert (first.lower, first.upper) == (again.lower, again.upper)
    with pytest.raises(ParameterError, match="a seed is"):
        gc.cut_norm(matrix, seed=-1)


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.ConversionWarning")  # of networkx
def test_a_session_on_a_store_goes_on_with_the_same_graph_of_another_library(tmp_path):
    graph = nx.Graph(nx.karate_club_graph().edges)
    terms = {"epsilon": 1.0, "queries": 5, "method": "laplace"}
    with gc.open_session(graph, store=tmp_path / "a.db", **terms) as session:
        first = session.ask([0]).value
    shuffled = nx.Graph()
    shuffled.add_edges_from(reversed([(v, u) for u, v in graph.edges]))
    with gc.open_session(shuffled, store=tmp_path / "a.db") as session:
        assert session.ask([0]).value == first
        assert session.remaining.queries == 4
