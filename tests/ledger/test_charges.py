"""What a use has measured is kept, one measurement for each, and taken up again for nothing."""

import errno
import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from fractions import Fraction

import numpy as np
import pytest
import session_workers as workers
from products import PRODUCTS, SESSIONS, kind_of, make

import graphcuts_dp as gc
from graphcuts_dp import LedgerError, ParameterError, graph_job
from graphcuts_dp.ledger import charges, temporary, uses
from graphcuts_dp.ledger.charges import begin_charge
from graphcuts_dp.ledger.file import StoreFile
from graphcuts_dp.ledger.observed import observed_charges
from graphcuts_dp.ledger.opening import open_ledger
from graphcuts_dp.ledger.public_inputs import public_digest
from graphcuts_dp.ledger.records import Kind
from graphcuts_dp.plugins import Cost, SeededEntropy
from graphcuts_dp.privacy.entropy import SystemEntropy, repeatable
from graphcuts_dp.release import graph_jobs, graphs
from graphcuts_dp.release.receipt_check import check_receipt
from graphcuts_dp.results import packing

RELEASES = sorted(set(PRODUCTS) - set(SESSIONS))
pytestmark = [
    pytest.mark.usefixtures("no_forecast"),
    pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning"),
]


def never(*_):
    raise AssertionError("noise was drawn")


def plain(made):
    """All that a result consists of, but what is computed of it."""
    if isinstance(made, gc.distances.DistanceAnswers):
        return made.to_dict()
    if hasattr(made, "to_parts"):
        return packing.pack(made.to_parts())
    return repr(made)


def edges(made):
    """The edges of a synthetic graph."""
    return made.graph.rows.tolist(), made.graph.columns.tolist()


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("name", RELEASES)
def test_every_product_is_taken_up_again_bit_by_bit_and_for_nothing(path, name, monkeypatch):
    made = make(name, store=path)
    monkeypatch.setattr(SystemEntropy, "bytes", never)
    again = make(name, store=gc.Store(path, resume=True))
    assert plain(again) == plain(made)
    assert again.guarantee.provenance == made.guarantee.provenance
    found = gc.store_status(path)
    assert (found.epsilon, len(found.uses)) == (1.0, 1)
    if kind_of(name) == "distances":
        with pytest.raises(LedgerError, match="need their public map"):
            gc.resume(path)
    else:
        assert plain(gc.resume(path)) == plain(made)


@pytest.mark.thorough
def test_a_seeded_run_is_completed_as_without_a_store(path, graph):
    alone = gc.release_graph(graph, epsilon=1.0, seed=5)
    kept = gc.release_graph(graph, epsilon=1.0, seed=5, store=path)
    assert edges(alone) == edges(kept) == edges(gc.resume(path))
    assert not gc.resume(path).guarantee.is_private


@pytest.mark.parametrize("used", [0, 1, 13, 64])
def test_a_stream_goes_on_from_its_state(used):
    stream = SeededEntropy(2**127 + 5)
    for source in (stream, stream.split(2)[1]):
        source.bytes(used)
        state = json.loads(json.dumps(source.state))
        other = SeededEntropy.from_state(state)
        assert np.array_equal(other.bytes(100), source.bytes(100))
        pair = other.split(1)[0].bytes(9), source.split(1)[0].bytes(9)
        assert np.array_equal(*pair)
    assert repeatable(stream) is stream
    first, second = repeatable(SystemEntropy()), repeatable(SystemEntropy())
    assert first.seed != second.seed


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": 2.0},
        {"noise": "discrete-laplace"},
        {"privacy_unit": gc.PrivacyUnit.edge(2)},
        {"seed": 3},
    ],
    ids=lambda given: next(iter(given)),
)
def test_another_call_is_not_taken_up_for_nothing(path, graph, other):
    gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    again = {"epsilon": 1.0, "store": gc.Store(path, resume=True), "fit": "none"} | other
    with pytest.raises((LedgerError, gc.errors.BudgetError)):
        gc.release_graph(graph, **again)
    assert gc.store_status(path).epsilon == 1.0


def parity(graph, shift=0):
    return gc.Groups(graph.vertices, {"pair": [(row + shift) // 2 % 2 for row in range(graph.n)]})


def points(shift):
    return gc.distances.Metric.of_points([(x, x * shift) for x in range(5)])


OTHER_INPUTS = {
    "groups": lambda graph, shift, store: make(
        "groups", graph, groups=parity(graph, shift), store=store
    ),
    "zones": lambda graph, shift, store: make("flows", graph, parity(graph, shift), store=store),
    "terminals": lambda graph, shift, store: make("cut", graph, 0, 5 + shift, store=store),
    "queries": lambda graph, shift, store: make(
        "answers", graph, [gc.CutQuery([shift], [5, 6]), gc.CutQuery([3], [4])], store=store
    ),
    "map": lambda _, shift, store: make("distances", points(1 + shift), [0, 1, 1, 4], store=store),
}


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("name", OTHER_INPUTS)
def test_other_public_inputs_are_not_taken_up(path, graph, name):
    """Noise that was drawn for some groups, terminals or queries says nothing about others."""
    made = OTHER_INPUTS[name](graph, 0, path)
    resumed = gc.Store(path, resume=True)
    with pytest.raises(LedgerError, match="has charged no use with these options"):
        OTHER_INPUTS[name](graph, 1, resumed)
    assert plain(OTHER_INPUTS[name](graph, 0, resumed)) == plain(made)
    assert gc.store_status(path).epsilon == 1.0


def test_digests_tell_inputs_apart():
    inputs = [
        (1,), (1.0,), ("1",), (b"1",), (1, 1), ((1, 1),), ([1], 1), (np.array([1, 1]),),
        (np.array([1.0, 1.0]),), (np.array([[1, 1]]),), ({"a": 1},), ("a", 1), (None, 1),
        ("\ud800",), (True,),
    ]  # fmt: skip
    digests = [public_digest(*values) for values in inputs]
    assert len(set(digests)) == len(inputs)
    assert digests == [public_digest(*values) for values in inputs]
    assert (public_digest(), public_digest(None)) == ("", "")
    with pytest.raises(TypeError, match="no digest of a set"):
        public_digest({1, 2})


def test_other_data_are_not_taken_up(path, graph):
    gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    with pytest.raises(LedgerError, match="other private data"):
        gc.release_graph(
            workers.private_graph(8), epsilon=1.0, store=gc.Store(path, resume=True), fit="none"
        )


def test_a_store_that_is_not_there_is_not_made_to_resume(path, graph):
    with pytest.raises(LedgerError, match="does not exist"):
        gc.release_graph(graph, epsilon=1.0, store=gc.Store(path, resume=True), fit="none")
    assert not path.exists()


def unfinished(path, graph):
    """A use whose measurement was not kept."""
    charge = begin_charge(
        path,
        graph,
        kind="release",
        parameters={},
        cost=Cost.of_pure(Fraction(1)),
        guarantee=gc.PrivacyGuarantee(epsilon=1.0, neighbours="one pair"),
    )
    assert charge.measurement is None
    return charge


@pytest.mark.parametrize("other", [[0], [0, 5, 7], [5, 0], []])
def test_a_use_of_longer_or_shorter_lists_is_another_one(path, graph, other):
    use = {
        "kind": "cut",
        "cost": Cost.of_pure(Fraction(1)),
        "guarantee": gc.PrivacyGuarantee(epsilon=1.0, neighbours="one pair"),
    }
    begin_charge(path, graph, parameters={"terminals": [0, 5]}, **use)
    again = gc.Store(path, resume=True)
    with pytest.raises(LedgerError, match="no use with these options"):
        begin_charge(again, graph, parameters={"terminals": other}, **use)
    assert begin_charge(again, graph, parameters={"terminals": (0, 5)}, **use).use.number == 1


def test_only_one_measurement_of_a_use_is_ever_shown(path, graph):
    charge = unfinished(path, graph)

    def refusal(number):
        try:
            charge.keep(b"%d" % number, {})
        except LedgerError as problem:
            return str(problem)
        return ""

    with ThreadPoolExecutor(4) as pool:
        refusals = list(pool.map(refusal, range(8)))
    assert refusals.count("") == 1
    assert all("thrown away" in text for text in refusals if text)
    with closing(open_ledger(path)) as ledger, ledger.locked():
        finished = [
            record for record in range(1, ledger.records + 1) if "kept" in ledger.record(record)[1]
        ]
    assert len(finished) == 1


def test_a_use_that_was_interrupted_says_how_to_go_on(path, graph):
    unfinished(path, graph)
    with pytest.raises(LedgerError, match="interrupted before it kept anything"):
        gc.resume(path)
    with pytest.raises(LedgerError, match="no use 7 that could be resumed; there is: 1"):
        gc.resume(path, use=7)


def test_an_interrupted_use_is_taken_up_before_a_later_finished_one(path, graph, monkeypatch):
    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(graph_jobs, "measure", killed)
        with pytest.raises(KeyboardInterrupt):
            gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    finished = gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    made = gc.release_graph(graph, epsilon=1.0, store=gc.Store(path, resume=True), fit="none")
    assert (made.guarantee.provenance.use, finished.guarantee.provenance.use) == (1, 2)
    assert {use.state for use in gc.store_status(path).uses} == {"finished"}


@pytest.mark.parametrize("name", ["response", "sparse", "iterative"])
def test_nothing_is_told_before_a_measurement_is_kept(path, name, monkeypatch):
    """A run that is ended by what it tells may be repeated free of charge: it must tell nothing."""
    told, kept = [], []
    keep = charges.Charge.keep

    def noted(charge, *arguments, **options):
        kept.append(list(told))
        return keep(charge, *arguments, **options)

    monkeypatch.setattr(charges.Charge, "keep", noted)
    make(name, store=path, progress=lambda fraction, message: told.append((fraction, message)))
    assert kept == [[(0.0, "measuring")]]


def test_an_unfinished_use_of_an_earlier_version_is_not_measured_again(path, graph, monkeypatch):
    def killed(*_, **__):
        raise KeyboardInterrupt

    def without(use):
        return {name: value for name, value in plain_values(use).items() if name != "keeps_first"}

    plain_values = uses.plain
    with monkeypatch.context() as patched:
        patched.setattr(graph_jobs, "measure", killed)
        patched.setattr(uses, "plain", without)
        with pytest.raises(KeyboardInterrupt):
            gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    with pytest.raises(LedgerError, match="by an earlier version"):
        gc.release_graph(graph, epsilon=1.0, store=gc.Store(path, resume=True), fit="none")


def test_that_it_is_measured_again_is_on_the_record(path, graph, monkeypatch):
    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(graph_jobs, "measure", killed)
        with pytest.raises(KeyboardInterrupt):
            gc.release_graph(graph, epsilon=1.0, store=gc.Store(path, budget=1.0), fit="none")
    again = gc.Store(path, resume=True)
    made = gc.release_graph(graph, epsilon=1.0, store=again, fit="none")
    assert gc.resume(path).answer([1]).value == made.answer([1]).value
    with closing(open_ledger(path)) as ledger, ledger.locked():
        statement = "SELECT kind FROM records ORDER BY seq"
        kinds = [kind for (kind,) in ledger.file.connection.execute(statement)]
    assert kinds == [Kind.BEGIN, Kind.RESUMED, Kind.FINISHED]


def test_another_fit_of_what_was_measured_costs_nothing(path, graph):
    call = {"epsilon": 1.0, "mechanism": "randomized-response"}
    made = gc.release_graph(graph, **call, store=path, fit="first-order")
    other = gc.release_graph(graph, **call, store=gc.Store(path, resume=True), fit="spectral")
    assert (made.fit.method, other.fit.method) == ("first-order", "spectral")
    assert other.answer([1]).value == made.answer([1]).value  # of the same measurement
    assert gc.store_status(path).epsilon == 1.0


def test_a_number_names_the_use_that_is_taken_up(path, graph):
    first, second = (gc.release_graph(graph, epsilon=1.0, store=path, fit="none") for _ in range(2))
    for number, made in ((1, first), (2, second)):
        again = gc.Store(path, resume=number)
        found = gc.release_graph(graph, epsilon=1.0, store=again, fit="none")
        assert found.guarantee.provenance == made.guarantee.provenance
        assert found.answer([1]).value == made.answer([1]).value


def test_without_a_number_the_last_use_that_is_no_session_is_taken_up(path, graph):
    releases = [gc.release_graph(graph, epsilon=1.0, store=path, fit="none") for _ in range(2)]
    workers.begin(gc.Store(path, budget=None), epsilon=1.0).close()
    assert plain(gc.resume(path)) == plain(releases[-1]) != plain(releases[0])
    assert plain(gc.resume(path, use=1)) == plain(releases[0])


def test_a_store_may_keep_nothing(path, graph):
    made = gc.release_graph(graph, epsilon=1.0, store=gc.Store(path, keep=False), fit="none")
    assert made.guarantee.provenance.measured
    with pytest.raises(LedgerError, match="does not keep what it measured"):
        gc.resume(path)
    with closing(open_ledger(path)) as ledger, ledger.locked():
        counted = ledger.file.connection.execute("SELECT COUNT(*) FROM contents").fetchone()
    assert counted == (0,)


def test_a_charge_is_told_of_where_its_record_was_written_and_an_error_came_after(
    path, graph, monkeypatch
):
    gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    transaction = StoreFile.transaction

    @contextmanager
    def failing(file):
        with transaction(file) as connection:
            yield connection
        raise LedgerError("the disk fails")

    monkeypatch.setattr(StoreFile, "transaction", failing)
    with observed_charges() as begun, pytest.raises(LedgerError, match="the disk fails"):
        gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    monkeypatch.undo()
    assert [charge.use.number for charge in begun] == [2]
    assert "epsilon = 1 was spent (use 2)" in begun[0].advice()
    assert len(gc.store_status(path).uses) == 2


@pytest.mark.parametrize("resume", [0, -1, "yes", None])
def test_what_is_no_number_of_a_use_is_not_taken_for_a_new_use(path, graph, resume):
    gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    with pytest.raises(ParameterError, match="resume is True, or the number of a use"):
        gc.release_graph(graph, epsilon=1.0, store=gc.Store(path, resume=resume), fit="none")
    assert len(gc.store_status(path).uses) == 1


def test_a_command_in_a_folder_that_was_removed_spends_nothing(path, graph, tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    store = gc.Store(path, command=("release", "mail.csv"))
    with pytest.raises(LedgerError, match=r"working folder cannot be used: .*nothing was spent"):
        gc.release_graph(graph, epsilon=1.0, store=store, fit="none")
    assert not gc.store_status(path).uses


def test_a_temporary_store_that_has_no_room_is_told_of(graph, monkeypatch):
    def full(**_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(temporary.tempfile, "mkdtemp", full)
    with pytest.raises(LedgerError, match="cannot make a temporary store: No space left"):
        gc.open_session(graph, epsilon=1.0, queries=5)


def test_what_is_too_large_to_keep_is_refused_before_it_is_charged(path, graph, monkeypatch):
    monkeypatch.setattr(charges, "LARGEST_CONTENT", 1000)
    with pytest.raises(LedgerError, match="nothing was spent: use Store"):
        gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    assert not path.exists()
    gc.release_graph(graph, epsilon=1.0, store=gc.Store(path, keep=False), fit="none")
    assert len(gc.store_status(path).uses) == 1


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("noise", ["binary", "laplace", "discrete-laplace"])
@pytest.mark.parametrize("kind", [gc.Graph, gc.DirectedGraph])
def test_what_is_measured_is_no_larger_than_was_foreseen(path, kind, noise):
    graph = kind.of([(0, 1), (1, 2)], vertices=800)
    gc.release_graph(graph, epsilon=1.0, noise=noise, store=path, fit="none")
    with closing(open_ledger(path)) as ledger, ledger.locked():
        row = ledger.file.connection.execute("SELECT LENGTH(data) FROM contents").fetchone()
    assert row[0] <= graph_job(graph, epsilon=1.0, noise=noise, fit="none").measured_bytes


def test_a_second_use_of_the_same_object_without_a_store_is_told_once(graph, monkeypatch):
    monkeypatch.setattr(charges, "_warned", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", gc.errors.PrivacyWarning)
        gc.release_graph(graph, epsilon=1.0, fit="none", seed=1)  # not private, and not counted
        gc.release_graph(graph, epsilon=1.0, fit="none")
        for _ in range(3):  # generated graphs stay as they are
            gc.release_graph(workers.private_graph(), epsilon=1.0, fit="none")
    with pytest.warns(gc.errors.PrivacyWarning, match="again without a store") as caught:
        [gc.release_graph(graph, epsilon=1.0, fit="none") for _ in range(2)]
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_session_is_not_resumed_so(path, graph):
    gc.open_session(graph, store=path, epsilon=0.5, queries=5, method="laplace").close()
    with pytest.raises(LedgerError, match="has charged nothing that could be resumed"):
        gc.resume(path)


def test_a_fit_of_ones_own_is_not_kept_but_taken_up(path, graph):
    own = gc.FitOptions(fit=graphs.FitOptions("first-order").method(None))
    made = gc.release_graph(graph, epsilon=1.0, store=path, fit=own)
    with pytest.raises(LedgerError, match="a method of its user's own"):
        gc.resume(path)
    again = gc.release_graph(graph, epsilon=1.0, store=gc.Store(path, resume=True), fit=own)
    assert edges(again) == edges(made)


def test_time_purpose_and_author_are_in_store_and_receipt(path, graph, tmp_path):
    store = gc.Store(path, purpose="monthly report", author="A. Curator")
    made = gc.release_graph(graph, epsilon=1.0, store=store, fit="none")
    made.save(tmp_path / "out.edges")
    loaded = gc.load(tmp_path / "out.edges").guarantee.provenance
    assert loaded == made.guarantee.provenance
    assert (loaded.purpose, loaded.author, loaded.use) == ("monthly report", "A. Curator", 1)
    (use,) = gc.store_status(path).uses
    assert (use.use.purpose, use.use.author, use.use.time) == (
        loaded.purpose,
        loaded.author,
        loaded.time,
    )
    assert loaded.store == gc.store_status(path).store
    without = gc.release_graph(graph, epsilon=1.0, fit="none").guarantee.provenance
    assert (without.store, without.use, bool(without.time)) == ("", 0, True)


@pytest.mark.parametrize("text", ["a\nb", "x" * 501, 5])
def test_a_purpose_is_a_short_text(path, text):
    with pytest.raises(ParameterError, match="purpose is a printable text"):
        gc.Store(path, purpose=text)


def test_a_receipt_is_compared_with_its_store(path, graph, tmp_path):
    gc.release_graph(graph, epsilon=0.5, store=path, fit="none")
    made = gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    made.save(tmp_path / "out.edges")
    found = check_receipt(path, tmp_path / "out.edges")
    assert str(found) == "use 2 of 2; epsilon = 0.5 was spent on these data before it"
    other = tmp_path / "other.db"
    gc.release_graph(graph, epsilon=1.0, store=other, fit="none")
    with pytest.raises(LedgerError, match="is not the store that the receipt"):
        check_receipt(other, tmp_path / "out.edges")
    gc.release_graph(graph, epsilon=1.0, fit="none").save(tmp_path / "free.edges")
    with pytest.raises(gc.errors.FileFormatError, match="names no store"):
        check_receipt(path, tmp_path / "free.edges")


def test_an_older_copy_of_a_store_does_not_know_a_later_receipt(path, graph, tmp_path):
    gc.release_graph(graph, epsilon=0.5, store=path, fit="none")
    older = tmp_path / "older.db"
    older.write_bytes(path.read_bytes())
    older.chmod(0o600)
    gc.release_graph(graph, epsilon=1.0, store=path, fit="none").save(tmp_path / "out.edges")
    with pytest.raises(LedgerError, match="older copy"):
        check_receipt(older, tmp_path / "out.edges")


def test_what_is_kept_is_named_by_its_digest_and_checked(path, graph):
    gc.release_graph(graph, epsilon=1.0, store=path, fit="none")
    with closing(open_ledger(path)) as ledger:
        connection = ledger.file.connection
        statement = "SELECT sql FROM sqlite_schema WHERE name = 'contents_no_update'"
        (trigger,) = connection.execute(statement).fetchone()
        connection.execute("DROP TRIGGER contents_no_update")
        connection.execute("UPDATE contents SET data = zeroblob(length(data))")
        connection.execute(trigger)
    with pytest.raises(LedgerError, match="a content does not fit"):
        gc.resume(path)
