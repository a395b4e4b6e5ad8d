"""A store knows the people's data again, however they are read, and nothing else."""

import json
import sqlite3
from contextlib import closing
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from helpers import read_flat, read_owned_flat
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, LedgerError, ParameterError, Store, VertexSet
from graphcuts_dp.graph.row_sources import RowArrays
from graphcuts_dp.ledger import identity, opening
from graphcuts_dp.ledger.charges import begin_charge
from graphcuts_dp.ledger.identity import identity_of_edges, identity_of_rows
from graphcuts_dp.ledger.opening import (
    Subject,
    create_ledger,
    data_schema,
    open_ledger,
    stores_beside,
)
from graphcuts_dp.plugins import Cost
from graphcuts_dp.schema.vertices import Arcs
from graphcuts_dp.session.session import session_of
from tests.audits.rows_in_memory import rows_in_memory

KEY = bytes(range(32))
NAMES = ["ann", "bob", "cat", "dan", "eve", "7"]
ROWS = [
    ("p", "ann", "bob", 2.0),
    ("q", "cat", "ann", 3.0),
    ("q", "cat", "ann", 3.0),
    ("r", "7", "eve", 5.0),
    ("p", "bob", "ann", 9.0),
]
BUDGET = 20.0
pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


def write(path, rows, order=(0, 1, 2, 3)):
    header = ("who", "from", "to", "amount")
    lines = [",".join(str(row[place]) for place in order) for row in [header, *rows]]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def read(tmp_path):
    def reading(rows=ROWS, order=(0, 1, 2, 3), vertices=NAMES, **options):
        path = write(tmp_path / "mail.csv", rows, order)
        weight = {"weight": "amount"} if options.get("counting") == "weight" else {}
        named = {"user": "who", "source": "from", "target": "to"} | weight
        return read_owned_flat(path, vertices=vertices, **named, **options)

    return reading


@pytest.fixture
def read_edges(tmp_path):
    def reading(rows=ROWS, vertices=NAMES, **options):
        path = write(tmp_path / "edges.csv", rows)
        weight = {} if options.get("weighted") is False else {"weight": "amount"}
        return read_flat(path, vertices=vertices, source="from", target="to", **weight, **options)

    return reading


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "mail.db", budget=BUDGET)


def of_edges(graph, store):
    return gc.release_graph(graph, epsilon=1.0, store=store, fit="none", noise="laplace")


def spent(store):
    return gc.store_status(store.path).epsilon


SHUFFLED = [ROWS[place] for place in (3, 1, 4, 0, 2)]
READINGS = {
    "shuffled": {"rows": SHUFFLED},
    "columns in another order": {"order": (3, 2, 0, 1)},
    "pairs turned": {"rows": [(who, b, a, w) for who, a, b, w in ROWS]},
    "users counted": {"counting": "users"},
    "rows counted": {"counting": "rows"},
    "weights": {"counting": "weight"},
    "weights in another unit": {"counting": "weight", "weight_unit": 4.0, "rows": SHUFFLED},
}


@pytest.mark.thorough(cases=7)
@pytest.mark.parametrize("first", [{}, {"counting": "weight"}], ids=["edges", "weight"])
@pytest.mark.parametrize("name", READINGS)
def test_the_same_rows_read_otherwise_share_one_budget(read, store, first, name):
    create_ledger(store, read(**first), privacy_unit="1 user")
    rows = read(**READINGS[name])
    open_ledger(store, rows).close()
    assert list(stores_beside([store.file.parent], rows)) == [store.file]


def test_uses_that_count_otherwise_add_up(read, store):
    for counting in ("edges", "rows", "users"):
        gc.release_contributions(read(counting=counting), epsilon=1.0, store=store)
    assert spent(store) == 3.0


CHANGED = {
    "one row more": {"rows": [*ROWS, ("r", "dan", "eve", 1.0)]},
    "one row less": {"rows": ROWS[:3] + ROWS[4:]},
    "another end": {"rows": [*ROWS[:3], ("r", "7", "dan", 5.0), ROWS[4]]},
    "another user": {"rows": [*ROWS[:3], ("p", "7", "eve", 5.0), ROWS[4]]},
    "a row twice more": {"rows": [*ROWS, ROWS[0]]},
    "a row once less": {"rows": ROWS[:2] + ROWS[3:]},
    "another weight": {"rows": [*ROWS[:3], ("r", "7", "eve", 6.0), ROWS[4]]},
    "weights exchanged": {"rows": [("p", "ann", "bob", 3.0), ("q", "cat", "ann", 2.0), *ROWS[2:]]},
}


@pytest.mark.parametrize("name", CHANGED)
def test_changed_rows_are_refused_and_no_other_store_is_advised(read, store, name):
    create_ledger(store, read(counting="weight"), privacy_unit="1 user")
    with pytest.raises(LedgerError, match="other private data, or these have changed") as caught:
        open_ledger(store, read(counting="weight", **CHANGED[name]))
    text = str(caught.value)
    assert "if rows were appended or corrected, name the store by --same-people-as" in text
    assert "a further month is a table of its own" in text
    assert "adds to what is spent here" in text
    assert "another store" not in text
    assert "\n" not in text
    assert not any(cell in text for cell in ("ann", "dan", "eve"))


EDGES = {
    "pairs": {"weighted": False},
    "largest weights": {"max_weight": 9.0},
    "clipped": {"max_weight": 1.0},
    "sums": {"max_weight": 99.0, "merge": "sum"},
    "changes by one": {"max_weight_change": 1},
}


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("counting", ["edges", "weight"])
def test_a_graph_of_the_rows_is_known_to_the_store_of_the_users(
    read, read_edges, store, counting, name
):
    rows, graph = read(counting=counting), read_edges(rows=SHUFFLED, **EDGES[name])
    create_ledger(store, rows, privacy_unit="1 user")
    assert list(stores_beside([store.file.parent], graph)) == [store.file]
    with pytest.raises(BudgetError, match="is 1 user, that of this use 1 edge") as said:
        of_edges(graph, store)
    assert "another store" not in str(said.value)
    store.file.unlink()
    of_edges(graph, store)
    assert list(stores_beside([store.file.parent], rows)) == [store.file]
    with pytest.raises(BudgetError, match="is 1 edge, that of this use 1 user"):
        gc.release_contributions(rows, epsilon=1.0, store=store)
    assert spent(store) == 1.0


def test_rows_without_weight_are_told_apart_by_no_reading(read, read_edges, store):
    rows = [*ROWS, ("r", "dan", "eve", 0.0)]
    create_ledger(store, read(rows=rows, counting="weight"), privacy_unit="1 user")
    for options in ({"weighted": False}, {"max_weight": 9.0}):
        open_ledger(store, read_edges(rows=rows, **options)).close()


@pytest.mark.parametrize(
    ("first", "then"),
    [("clipped", "sums"), ("pairs", "clipped"), ("largest weights", "pairs")],
)
def test_graphs_of_one_file_with_other_caps_share_one_budget(read_edges, store, first, then):
    of_edges(read_edges(**EDGES[first]), store)
    of_edges(read_edges(**EDGES[then]), store)
    assert spent(store) == 2.0


@pytest.mark.parametrize(
    ("first", "then", "how"),
    [
        ({"weighted": False}, {"weighted": False, "directed": True}, "as undirected edges"),
        ({"weighted": False, "directed": True}, {"weighted": False}, "as directed edges"),
        ({"weighted": False}, {"weighted": False, "vertices": [*NAMES, "fay"]}, "another vertex"),
        ({"weighted": False}, {"weighted": False, "vertices": NAMES[::-1]}, "another vertex"),
        ({"max_weight_change": 1}, {"max_weight": 9.0}, "with max_weight_change=1"),
        ({"max_weight": 9.0}, {"max_weight_change": 1}, "with max_weight=9"),
        ({"weighted": False}, {"max_weight_change": 1}, "without weights"),
    ],
)
def test_readings_with_other_neighbours_are_known_and_told_what_to_say(
    read_edges, store, first, then, how
):
    of_edges(read_edges(**first), store)
    graph = read_edges(**then)
    with pytest.raises(LedgerError, match=f"about these data, but read .*{how}") as caught:
        of_edges(graph, store)
    assert "share its budget" in str(caught.value)
    assert list(stores_beside([store.file.parent], graph)) == [store.file]


def test_a_changed_weight_is_refused_where_weights_are_read_alike(read_edges, store):
    of_edges(read_edges(max_weight=9.0), store)
    changed = [*ROWS[:3], ("r", "7", "eve", 6.0), ROWS[4]]
    with pytest.raises(LedgerError, match="other private data"):
        of_edges(read_edges(rows=changed, max_weight=9.0), store)


def test_a_session_goes_on_with_the_reading_it_began_with(read, store):
    terms = {"store": store, "privacy_unit": "user:1"}
    begun = {"epsilon": 1.0, "queries": 3, "method": "laplace"}
    session_of(read(counting="rows"), **terms, **begun).close()
    session_of(read(counting="rows", rows=SHUFFLED), **terms).close()
    with pytest.raises(ParameterError, match="read with counting='rows'"):
        session_of(read(counting="users"), **terms)
    session_of(read(counting="users"), name="users", **terms, **begun).close()
    assert spent(store) == 2.0


def test_a_session_of_a_cap_is_not_resumed_under_a_larger_one(read_edges, store):
    begun = {"epsilon": 1.0, "queries": 3, "method": "laplace"}
    session_of(read_edges(max_weight=1.0), store=store, **begun).close()
    with pytest.raises(ParameterError, match="read with max_weight=1"):
        gc.open_session(read_edges(max_weight=9.0), store=store)


@pytest.mark.parametrize("version", [4, 7, opening.FORMAT + 1])
def test_a_store_of_another_version_is_refused_in_one_line(read, store, monkeypatch, version):
    with monkeypatch.context() as before:
        before.setattr(opening, "FORMAT", version)
        create_ledger(store, read(), privacy_unit="1 user")
    with pytest.raises(LedgerError, match=r"another version of this program: use that version$"):
        open_ledger(store, read())
    assert list(stores_beside([store.file.parent], read())) == []


def stored_header(store):
    with closing(sqlite3.connect(store.file)) as connection:
        (text,) = connection.execute("SELECT header FROM ledger").fetchone()
    return text


def test_no_digest_and_no_salt_leaves_the_store(read_edges, store, tmp_path):
    made = of_edges(read_edges(weighted=False), store)
    made.save(tmp_path / "made.graphml")
    header = json.loads(stored_header(store))
    assert store.file.stat().st_mode & 0o777 == 0o600
    told = [json.dumps(gc.store_status(store.path).to_dict()), repr(made)]
    told += [path.read_text() for path in tmp_path.glob("made*") if path.suffix != ".npz"]
    for secret in (header["salt"], *header["data"].values()):
        assert len(secret) == 64
        assert not any(secret in text for text in told)


@pytest.fixture
def named(read):
    """Rows that stay in an engine, of which nothing but the schema and a name is known."""

    def naming(name, **options):
        return Subject.named(data_schema(read(**options)), name)

    return naming


def spend(store, data, epsilon=1):
    use = {"kind": "x", "parameters": {}, "cost": Cost.of_pure(Fraction(epsilon))}
    guarantee = gc.PrivacyGuarantee(epsilon=epsilon, neighbours="a row", privacy_unit="1 user")
    begin_charge(store, data, guarantee=guarantee, **use)


def test_data_of_a_name_share_one_budget_however_they_are_read(named, store):
    for counting in ("edges", "rows", "users"):
        spend(store, named("trips-2026", counting=counting))
    spend(store, named("trips-2026", rows=ROWS[:2]))  # a name says nothing of the rows
    assert spent(store) == 4.0
    with pytest.raises(BudgetError, match="nothing was spent"):
        spend(store, named("trips-2026"), epsilon=17)
    with pytest.raises(LedgerError, match=r"about these data, but read on another vertex set"):
        spend(store, named("trips-2026", vertices=[*NAMES, "fay"]))
    assert list(stores_beside([store.file.parent], named("trips-2026"))) == [store.file]
    assert not list(stores_beside([store.file.parent], named("trips-2025")))


def test_a_name_is_the_same_however_its_letters_are_encoded(named, store):
    spend(store, named("caf\u00e9"))
    spend(store, named("cafe\u0301"))
    assert spent(store) == 2.0


@pytest.mark.parametrize(
    ("first", "then", "words"),
    [
        ("a", "b", "is about data of another name: pass the name"),
        ("a", "A", "is about data of another name: pass the name"),
        ("a", "", "knows its data by a name, not by digests of rows: pass the name"),
        ("", "a", "knows its data by digests of rows, not by a name: read the rows .* into memory"),
    ],
)
def test_names_and_digests_match_none_but_themselves(read, named, store, first, then, words):
    spend(store, named(first) if first else read())
    other = named(then) if then else read()
    with pytest.raises(LedgerError, match=words) as caught:
        spend(store, other)
    assert "adds to what is spent here" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(stores_beside([store.file.parent], other)) == []
    assert spent(store) == 1.0


def test_rows_without_digests_and_without_a_name_need_one_with_a_store(named, store):
    spend(None, named(None))
    with pytest.raises(LedgerError, match="known to a store by a name: pass one"):
        spend(store, named(None))
    assert not store.exists
    spend(store, named("a"))
    with pytest.raises(LedgerError, match="known to a store by a name: pass one"):
        spend(store, named(None))
    assert list(stores_beside([store.file.parent], named(None))) == []


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "x" * 101, 5, b"a"])
def test_what_is_no_name_is_refused(named, name):
    with pytest.raises(ParameterError, match=r"data_name is the name .* data_name='trips-2026'"):
        named(name)


def test_the_store_holds_no_name(named, store):
    spend(store, named("a very long and private name"))
    header = json.loads(stored_header(store))
    assert list(header["data"]) == ["name"]
    assert "private name" not in store.file.read_bytes().decode("latin-1")


def plain(space, pairs, key=KEY, weights=None):
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    make = gc.DirectedGraph if isinstance(space, Arcs) else gc.Graph
    vertices = space.vertices if isinstance(space, Arcs) else space
    cap = None if weights is None else 9.0
    graph = make(*ends, weights, vertices=vertices, max_weight=cap)
    return identity_of_edges(graph, key)


def test_another_salt_gives_other_digests(read):
    rows = read(counting="weight")
    ours, theirs = (identity_of_rows(rows, key) for key in (KEY, bytes(32)))
    assert ours.keys() == theirs.keys()
    assert not set(ours.values()) & set(theirs.values())
    assert len(set(ours.values())) == len(ours)


PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


@pytest.mark.thorough
@settings(max_examples=40)
@given(PAIRS, PAIRS, st.lists(st.integers(0, 2), min_size=16, max_size=16))
def test_digests_are_equal_for_equal_rows_and_for_no_others(one, two, users):
    """A false alarm has a probability below 2^-100 in all."""
    space = VertexSet(5)

    def rows(pairs):
        ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        marks = np.array([5, 6, 7], dtype=np.uint64)
        return rows_in_memory(
            space, np.array(users[: len(pairs)], int), marks, (ends[:, 0], ends[:, 1])
        )

    def multiset(pairs):
        named = zip(users, map(sorted, pairs), strict=False)
        return sorted((user, *pair) for user, pair in named)

    def pair_set(pairs):
        return {tuple(sorted(pair)) for pair in pairs if pair[0] != pair[1]}

    def arc_set(pairs):
        return {pair for pair in pairs if pair[0] != pair[1]}

    found = [identity_of_rows(rows(pairs), KEY) for pairs in (one, two)]
    assert (found[0]["rows"] == found[1]["rows"]) == (multiset(one) == multiset(two))
    assert (found[0]["pairs"] == found[1]["pairs"]) == (pair_set(one) == pair_set(two))
    graphs = [plain(space, pairs) for pairs in (one, two)]
    arcs = [plain(Arcs(space), pairs) for pairs in (one, two)]
    assert (arcs[0]["entries"] == arcs[1]["entries"]) == (arc_set(one) == arc_set(two))
    for each in (graphs, arcs):
        assert [a["pairs"] for a in each] == [b["pairs"] for b in found]


def test_other_rows_on_the_same_pairs_are_told_apart_though_only_one_reading_has_users():
    """Tables of few places have the same pairs: all of them."""
    space, marks = VertexSet(4), np.array([5, 6], dtype=np.uint64)
    pairs = np.array([(i, j) for i in range(4) for j in range(4)])

    def digests(count, users):
        ends = np.concatenate([pairs, pairs[:count]])
        rows = RowArrays(
            endpoints=(ends[:, 0], ends[:, 1]),
            users=np.arange(len(ends)) % 2 if users else None,
            marks=marks if users else None,
            weights=None,
        )
        return identity_of_rows(gc.Rows.of_arrays(space, rows), KEY)

    schema = {}
    of_users = digests(3, users=True)
    assert opening.digests_agree(of_users, schema, digests(3, users=False), schema)
    assert not opening.digests_agree(of_users, schema, digests(4, users=False), schema)
    assert of_users["pairs"] == digests(4, users=False)["pairs"]


def test_products_are_those_of_the_field():
    rng = np.random.default_rng(0)
    first, second = rng.integers(identity._PRIME, size=(2, 2000), dtype=np.uint64)
    first[:4], second[:4] = [identity._PRIME - 1, 0, 1, identity._PRIME - 1], identity._PRIME - 1
    expected = [int(a) * int(b) % identity._PRIME for a, b in zip(first, second, strict=True)]
    assert identity._times(first, second).tolist() == expected


def test_blocks_and_order_make_no_difference(monkeypatch):
    rng = np.random.default_rng(1)
    words = rng.integers(identity._PRIME, size=(4, 300), dtype=np.uint64)
    whole = identity._digest(KEY, "rows", *words)
    monkeypatch.setattr(identity, "_BLOCK", 16)
    assert identity._digest(KEY, "rows", *words) == whole
    assert identity._digest(KEY, "rows", *rng.permuted(words.T, axis=0).T) != whole
    assert identity._digest(KEY, "rows", *rng.permutation(words.T).T) == whole


def test_rows_of_one_name_have_the_same_users_and_one_time_zone(tmp_path):
    """Bounds on two kinds of people, or one row in two months, are not what a store guarantees."""
    times = pd.to_datetime(["2026-03-31 22:30"] * 6).tz_localize("America/New_York")
    trips = pd.DataFrame({"u": "a", "v": "b", "who": "ann", "car": "x", "t": times})
    store = gc.Store(tmp_path / "trips.db", budget=1.0)

    def release(period, **columns):
        rows = gc.Rows.of(
            trips,
            data_name="trips",
            columns=gc.Columns(**{"source": "u", "target": "v", "period": "t"} | columns),
            vertices=["a", "b"],
            periods=[period],
        )
        return gc.release_flows(
            rows,
            gc.Groups(rows.space, {"side": ["x", "y"]}),
            epsilon=1.0,
            privacy_unit=gc.PrivacyUnit.user(max_contributions=6, per_period=True),
            store=store,
        )

    release("2026-03", user="who")  # in New York
    with pytest.raises(LedgerError, match="with users from other columns"):
        release("2026-04", user="car")
    with pytest.raises(LedgerError, match=r"'t in America/New_York', this one .* 't in UTC'"):
        release("2026-04", user="who", time_zone="UTC")
    release("2026-04", user="who")
