"""One budget for all uses of a graph: each is charged before it draws noise, and all are shown."""

import getpass
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
import session_workers as workers
from products import GRAPH, MAP, PRODUCTS, SESSIONS, kind_of, make

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, LedgerError, ParameterError
from graphcuts_dp.ledger.charges import begin_charge
from graphcuts_dp.ledger.opening import stores_beside
from graphcuts_dp.plugins import Cost
from graphcuts_dp.privacy import entropy
from graphcuts_dp.release import graph_jobs

pytestmark = [
    pytest.mark.usefixtures("no_forecast"),
    pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning"),
]


@pytest.mark.thorough(cases=8)
@pytest.mark.parametrize("name", PRODUCTS)
def test_every_product_is_charged_and_shown_with_time_and_user(path, name):
    make(name, store=path)
    found = gc.store_status(path)
    (use,) = found.uses
    assert (use.use.kind, use.use.guarantee.epsilon) == (kind_of(name), 1.0)
    assert use.state == ("open" if name in SESSIONS else "finished")
    assert use.use.user == getpass.getuser()
    began = datetime.fromisoformat(use.use.time)
    assert began.tzinfo is UTC
    assert abs(began - datetime.now(UTC)) < timedelta(days=1)
    assert found.epsilon == 1.0
    assert found.to_dict()["uses"][0]["kind"] == kind_of(name)


@pytest.mark.thorough(cases=9)
@pytest.mark.parametrize("name", PRODUCTS)
def test_every_product_is_refused_beyond_the_budget_before_it_draws(path, name, monkeypatch):
    with pytest.raises(BudgetError, match="nothing was spent"):
        make(name, store=gc.Store(path, budget=(0.5, 1e-5)))
    assert not path.exists()  # a store that allows nothing of this is not made
    make(name, store=gc.Store(path, budget=(1.2, 1e-5)))

    def never(*_):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(entropy.SystemEntropy, "bytes", never, raising=True)
    with pytest.raises(BudgetError):
        make(name, store=path)
    assert len(gc.store_status(path).uses) == 1


def test_releases_and_sessions_share_one_budget(path, graph):
    store = gc.Store(path, budget=2.0)
    gc.open_session(graph, store=store, epsilon=0.5, queries=5, method="laplace").close()
    gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    assert gc.store_status(path).left == 0.5
    with pytest.raises(BudgetError, match="does not allow another use of epsilon = 5"):
        gc.release_graph(graph, epsilon=5.0, store=path, fit="none")
    with pytest.raises(BudgetError):
        gc.open_session(graph, store=path, name="b", epsilon=0.75, queries=5, method="laplace")
    gc.open_session(graph, store=path, name="b", epsilon=0.5, queries=5, method="laplace").close()
    found = gc.store_status(path)
    assert [use.use.kind for use in found.uses] == ["session", "release", "session"]
    assert [session.terms.name for session in found.sessions] == ["default", "b"]
    assert (found.epsilon, found.left) == (2.0, 0.0)
    with gc.open_session(graph, store=path, name="b") as session:
        session.ask([1])
        told = session.export()["whole_ledger"]
        assert session.remaining.queries == 4
    assert [use["kind"] for use in told["uses"]] == ["session", "release", "session"]
    assert all(use["time"] and use["user"] for use in told["uses"])
    assert told["epsilon"] == 2.0
    with pytest.raises(ParameterError, match="was fixed"):
        gc.open_session(graph, store=gc.Store(path, budget=0.4), name="b")


def test_what_is_cut_off_stays_spent_and_is_shown_as_unfinished(path, graph, monkeypatch):
    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(graph_jobs, "measure", killed)
        with pytest.raises(KeyboardInterrupt):
            gc.release_graph(graph, epsilon=1.0, store=gc.Store(path, budget=1.5), fit="none")
    found = gc.store_status(path)
    assert ([use.state for use in found.uses], found.epsilon) == (["unfinished"], 1.0)
    with pytest.raises(BudgetError):
        gc.release_graph(graph, epsilon=1.0, store=path, fit="none")


@pytest.mark.parametrize(
    "wrong",
    [
        {"noise": "gauss"},
        {"fit": "best"},
        {"mechanism": "none"},
        {"privacy_unit": gc.PrivacyUnit.vertex(max_degree=3)},
        {"store": "a\0b.db"},
        {"store": "x" * 300},
        {"store": 5},
    ],
)
def test_what_is_refused_is_not_charged(tmp_path, graph, wrong, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ParameterError, LedgerError)) as caught:
        gc.release_graph(graph, **{"epsilon": 1.0, "store": "mail.db"} | wrong)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_calibration_that_does_not_fit_is_refused_before_anything_is_spent(path, graph):
    with pytest.raises(ParameterError, match="charged by the call"):
        gc.release_iteratively(
            graph,
            epsilon=1.0,
            delta=1e-6,
            store=path,
            construction=gc.Learning(calibration="gru12"),
        )
    assert not path.exists()


def test_the_charge_is_on_the_disk_before_the_noise(path, graph, monkeypatch):
    seen = []

    def looked(*arguments, **options):
        seen.append([use.use.kind for use in gc.store_status(path).uses])
        return measured(*arguments, **options)

    measured = graph_jobs.measure
    monkeypatch.setattr(graph_jobs, "measure", looked)
    gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    assert seen == [["release"]]


def test_what_a_failing_disk_could_not_keep_is_measured_again_and_not_shown(
    path, graph, monkeypatch
):
    def measured_and_gone(*arguments, **options):
        path.rename(path.with_name("away.db"))
        return measured(*arguments, **options)

    measured = graph_jobs.measure
    with monkeypatch.context() as patched:
        patched.setattr(graph_jobs, "measure", measured_and_gone)
        with pytest.raises(LedgerError, match="does not exist"):
            gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    path.with_name("away.db").rename(path)
    assert [use.state for use in gc.store_status(path).uses] == ["unfinished"]
    again = gc.Store(path, resume=True)
    made = gc.release_graph(graph, epsilon=1.0, store=again, fit="none")
    assert made.guarantee.epsilon == gc.store_status(path).epsilon == 1.0
    assert [use.state for use in gc.store_status(path).uses] == ["finished"]


def test_another_graph_or_other_locations_are_refused(path, graph):
    gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    with pytest.raises(LedgerError, match="other private data"):
        gc.release_graph(workers.private_graph(8), epsilon=1.0, store=path, fit="none")
    people = {"epsilon": 1.0, "store": path.with_name("people.db")}
    gc.distances.answer_distances(MAP, [0, 0, 3], **people)
    with pytest.raises(LedgerError, match="other private data"):
        gc.distances.answer_distances(MAP, [0, 0, 2], **people)
    with pytest.raises(LedgerError, match="other private data"):
        gc.release_graph(graph, **people, fit="none")
    gc.distances.answer_distances(MAP, [3, 0, 0], **people)  # the same people


def test_stores_beside_the_data_are_found(path, graph):
    assert list(stores_beside([path.parent], graph)) == []
    gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    path.with_name("notes.txt").write_text("SQLite format 3\0")
    path.with_name("damaged.db").write_bytes(path.read_bytes()[:3000])
    gc.release_graph(GRAPH, epsilon=1.0, store=path.with_name("other.db"), fit="none")
    assert list(stores_beside([path.parent, path.parent / "nowhere"], graph)) == [path]


def test_no_store_charges_nothing(graph):
    use = {"kind": "x", "parameters": {}, "cost": Cost.of_pure(Fraction(1))}
    use["guarantee"] = gc.PrivacyGuarantee(epsilon=1.0, neighbours="one pair")
    charge = begin_charge(None, graph, **use)
    assert (charge.store, charge.use, charge.advice()) == (None, None, "")


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("has_number", [True, False])
def test_an_account_without_a_name_is_charged_too(path, monkeypatch, has_number):
    """As in a container. Systems other than Unix do not number accounts."""

    def nameless():
        raise OSError

    monkeypatch.setattr("getpass.getuser", nameless)
    if has_number:
        monkeypatch.setattr("os.getuid", lambda: 77, raising=False)
    else:
        monkeypatch.delattr("os.getuid", raising=False)
    gc.release_graph(gc.datasets.load("karate"), epsilon=1.0, store=path)
    (use,) = gc.store_status(path).uses
    assert use.use.user == ("uid 77" if has_number else "unknown")
