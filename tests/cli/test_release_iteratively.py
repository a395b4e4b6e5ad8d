"""`release-iteratively` on the command line, and the answers from what it wrote."""

import csv
import json

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli import main

READ = ("in.csv", "--epsilon", "2", "--seed", "1", "--vertices", "6")
RATED = (
    *("ratings.csv", "--epsilon", "2", "--delta", "1e-6", "--seed", "1"),
    *("--vertices", "u.txt,f.txt", "--weight-cap", "5", "--construction", "sensing"),
)
SIDES = ("--groups", "cities.csv", "--right-groups", "genres.csv")
CUTS = ("--queries", "cuts.jsonl")
USERS, FILMS = [f"u{i}" for i in range(12)], [f"f{i}" for i in range(8)]
FILES = {
    "cuts.jsonl": '{"S": [0, 1]}\n{"S": [0], "T": [4, 5]}\n',
    "cuts.csv": "S,T\n@a,@b\n@a,@a\n",
    "halves.csv": "vertex,half\n0,a\n1,a\n2,a\n3,b\n4,b\n5,b\n",
    "all.jsonl": "".join(
        f'{{"S": [{i}], "T": [{j}]}}\n' for i in range(6) for j in range(6) if i != j
    ),
    "asked.jsonl": '{"S": [0]}\n{"left": [1, 0.5, 0, 0, 0, 0]}\n{"statistic": "triangles"}\n',
    "linear.jsonl": '{"entries": [[0, 1, -2.5]]}\n{"S": [0]}\n',
    "empty.jsonl": "\n",
    "u.txt": "\n".join(USERS),
    "f.txt": "\n".join(FILMS),
    "cities.csv": "\n".join(
        ["vertex,city", *(f"{u},{'Seattle' if i % 3 else 'Paris'}" for i, u in enumerate(USERS))]
    ),
    "genres.csv": "\n".join(
        ["vertex,genre", *(f"{f},{'comedy' if i < 4 else 'drama'}" for i, f in enumerate(FILMS))]
    ),
    "sums.csv": "S,T\n@Seattle,@comedy\n@Seattle,@drama\n@Paris,@comedy\n@Paris,@drama\n",
    "q.jsonl": "\n".join(
        map(
            json.dumps,
            [
                {"left": {"u0": 0.5, "u1": 1}, "right": {"f0": 1}},
                {"entries": [["u0", "f0", 1], ["u1", "f1", -1]]},
                {"S": ["u0", "f1"]},
                {"S": "*", "T": "*"},
            ],
        )
    ),
}


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Run a command in a folder of files; returns exit status, output and errors in one line."""
    monkeypatch.chdir(tmp_path)
    gc.Graph([0, 1, 2, 4], [1, 2, 3, 5], vertices=6).write(tmp_path / "in.csv")
    rng = np.random.default_rng(0)
    rated = [f"{u},{f},{rng.integers(1, 6)}" for u in USERS for f in FILMS if rng.random() < 0.6]
    for name, text in (FILES | {"ratings.csv": "\n".join(["user,film,weight", *rated])}).items():
        (tmp_path / name).write_text(text)

    def run(*words):
        monkeypatch.setattr("sys.argv", ["graphcuts-dp", *words])
        status = main._status()
        out, err = capsys.readouterr()
        return status, out, " ".join(err.split())

    return run


@pytest.fixture
def release(call):
    """Run the command; returns what it says as JSON, and what was saved."""

    def run(source, target, *options):
        status, out, err = call(
            "release-iteratively", source[0], target, *source[1:], *options, "--json", "--force"
        )
        assert status == 0, err
        return json.loads(out), gc.load(target)

    return run


def test_learns_from_listed_cuts(release, call):
    facts, made = release(READ, "out.graphml", "--delta", "1e-6", *CUTS)
    assert (facts["distinguisher"], len(facts["files"])) == ("exponential", 3)
    assert facts["error_at_most"] == made.accuracy.error
    assert len(made.listed) == 2
    status, out, err = call("answer", "out.graphml", "--from", "0,1", "--json")
    assert status == 0, err
    assert json.loads(out)["value"] == made.answer([0, 1]).value
    status, _, err = call("answer", "out.graphml", "--from", "0,1", "--confidence", "0.9")
    assert (status, "leave out --confidence" in err) == (2, True)


def test_says_what_is_proven(release):
    learn = ("--delta", "1e-6", "--construction", "frieze-kannan")
    facts, _ = release(READ, "out.graphml", *learn, "--rounds", "3")
    assert facts["rounds"] == "3 of at most 3 (practical)"
    holds = "for cuts between disjoint sets at once, with probability 95%"
    assert facts["which_holds"] == holds
    facts, _ = release(READ, "out.graphml", *learn, "--distinguisher", "power-rank-one")
    assert "nothing is proven" in facts["error"]


def test_the_query_player_learns_and_a_list_is_hidden(release):
    game = ("--delta", "1e-6", "--queries", "all.jsonl", "--rounds", "3", "--construction", "game")
    facts, made = release(READ, "out.graphml", *game)
    assert (facts["distinguisher"], len(made.listed)) == ("player: both", 30)
    assert facts["error_at_most"] > 0
    facts, made = release(READ, "out.graphml", *game, "--player", "query", "--hide-queries", "0.5")
    assert (made.listed, made.transcript) == (None, ())
    assert "error_at_most" not in facts


def test_learns_statistics_and_other_queries(release):
    median = ("--delta", "1e-6", "--queries", "asked.jsonl", "--construction", "median")
    facts, made = release(READ, "out.graphml", *median)
    assert (facts["construction"], len(made.listed)) == ("median", 3)
    facts, _ = release(READ, "out.graphml", "--delta", "1e-6", "--queries", "linear.jsonl")
    assert facts["which_holds"].startswith("for the queries given")


def test_chooses_a_graph_from_a_net(release, call):
    facts, every = release(READ, "out.graphml", "--construction", "net", *CUTS, "--edges", "5")
    assert facts["error_at_most"] == every.accuracy.error
    assert (facts["members"], facts["queries"]) == (every.law.members, 2)
    _, some = release(
        READ, "out.graphml", "--construction", "net", *CUTS, "--edges", "3", "--at-most", "2"
    )
    assert (len(some.graph.rows), some.guarantee.protects) == (3, "2 edges")
    found = [
        json.loads(call("answer", "out.graphml", "--from", "0,1", "--json", *more)[1])
        for more in ((), ("--confidence", ".999"))
    ]
    assert found[0]["interval"] == list(some.answer([0, 1]).interval)
    assert found[1]["interval"][1] >= found[0]["interval"][1]
    other = json.loads(call("answer", "out.graphml", "--from", "3", "--to", "4", "--json")[1])
    assert (other["interval"], other["confidence"]) == ([0, 1], 1)


def test_answers_a_few_cuts_and_nothing_else(release, call, tmp_path):
    facts, made = release(READ, "out.npz", "--construction", "answers", *CUTS)
    assert facts["files"] == ["out.npz", "out.npz.json"]
    assert (facts["error_at_most"], facts["queries"]) == (made.accuracy.error, 2)
    assert facts["construction"] == made.settings.construction == "k-norm"
    asked = ("answer", "out.npz", "--from", "0,1", "--json")
    found = json.loads(call(*asked)[1])
    assert (found["value"], found["together"]) == (made.transcript[0].value, 2)
    wider = json.loads(call(*asked, "--confidence", ".999")[1])
    assert wider["interval"][1] >= found["interval"][1]
    status, _, err = call("answer", "out.npz", "--from", "3")
    assert (status, "only the 2 cuts of the list were answered" in err) == (2, True)
    halves = ("--groups", "halves.csv", "--queries", "cuts.csv")
    more = ("--beta", ".01", "--at-most", "3")
    _, many = release(READ, "out.npz", "--construction", "laplace", *halves, *more)
    assert (many.accuracy.confidence, many.guarantee.protects) == (0.99, "3 edges")
    assert many.accuracy.error > 2 * made.accuracy.error
    status, out, _ = call("answer", "out.npz", *halves, "--json")
    values = [each.value for each in many.transcript]
    assert [each["value"] for each in json.loads(out)["answers"]] == values
    (tmp_path / "out.npz").write_bytes(b"x")
    status, _, err = call("answer", "out.npz", "--from", "0,1")
    assert (status, "is not the file that the receipt names" in err) == (2, True)


def test_comedies_rated_by_users_of_seattle(release, call, tmp_path):
    facts, made = release(RATED, "o.npz", "--queries", "sums.csv", *SIDES)
    assert facts["distinguisher"] == "every query"
    assert call("answer", "o.npz", "--queries", "sums.csv", *SIDES, "-o", "a.csv")[0] == 0
    with (tmp_path / "a.csv").open() as handle:
        first, *rows = csv.DictReader(handle)
    assert [row["S"] for row in rows] == ["@Seattle", "@Paris", "@Paris"]
    ratings = gc.BipartiteGraph.read("ratings.csv", vertices=("u.txt", "f.txt"), weight_cap=5.0)
    truth = gc.CutQuery([u for i, u in enumerate(USERS) if i % 3], FILMS[:4]).value(ratings)
    assert float(first["low"]) <= truth <= float(first["high"])
    # Sums that share no rating cost together what one costs.
    assert facts["error_at_most"] < 60
    assert float(first["high"]) - float(first["low"]) <= 2 * facts["error_at_most"]
    other = json.loads(call("answer", "o.npz", "--from", "u0", "--to", "f0", "--json")[1])
    assert (other["interval"], other["confidence"]) == ([0.0, 5.0], 1.0)
    facts, made = release(RATED, "o.npz", "--queries", "q.jsonl", "--rounds", "3")
    assert (facts["distinguisher"], len(made.transcript)) == ("exponential", 3)
    out = call("answer", "o.npz", "--queries", "q.jsonl", "--json")[1]
    assert [each["confidence"] for each in json.loads(out)["answers"]] == [0.95] * 4


LEARN = (*READ, "--delta", "1e-6")
NET, FEW = (*READ, "--construction", "net"), (*READ, *CUTS, "--construction")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("o.net", *LEARN, "--fit", "spectral"), "No such option"),
        (("o.net", *LEARN, "--construction", "average"), "unknown construction='average'; choose"),
        (("o.net", *LEARN, "--queries", "nowhere.jsonl"), "does not exist"),
        (("o.net", *READ), "needs delta"),
        (("o.net", *LEARN, *CUTS, "--hide-queries", "0.5"), "unknown option 'hide-queries'"),
        (("o.net", *LEARN, "--queries", "asked.jsonl"), "construction='median'"),
        (("o.net", *NET), "needs queries"),
        (("o.net", *NET, *CUTS, "--alpha", "-1"), "alpha must be"),
        (("o.net", *NET, *CUTS, "--edges", "16"), "edges must lie in [0, 15]"),
        (("o.net", *NET, *CUTS, "--protect", "vertex", "--degree-bound", "2"), "cannot hide a"),
        (("o.npz", *FEW, "answers", "--queries", "cuts.csv"), "group"),
        (("o.npz", *FEW, "answers", "--queries", "linear.jsonl"), "CutQuery objects only"),
        (("o.npz", *FEW, "k-norm", "--queries", "all.jsonl"), "at most 6"),
        (("o.npz", *FEW, "answers", "--queries", "empty.jsonl"), "needs queries"),
        (("o.npz", *FEW, "answers", "--beta", "0"), "beta"),
        (("o.npz", *FEW, "answers", "--epsilon", "0"), "epsilon"),
        (("o.npz", *FEW, "answers", "--store", "s.db", "--uncounted"), "not both"),
        (("o.csv", "nowhere.csv", *FEW[1:], "answers"), "must end in .npz"),
        (("o.csv", *RATED, "--queries", "q.jsonl"), "must end in .npz"),
        (("o.npz", *RATED, "--queries", "sums.csv"), "group"),
        (("o.npz", *RATED, "--queries", "q.jsonl", "--directed"), "two sides"),
        (("sums.csv", *RATED, "--queries", "sums.csv"), "another file"),
    ],
)
def test_options_that_do_not_fit_are_refused(call, tmp_path, line, message):
    target, source, *rest = line
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    status, _, err = call("release-iteratively", source, target, *rest)
    assert status == 2
    assert message in err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("source", "options", "kind"),
    [
        (NET, (*CUTS, "--edges", "3"), "net"),
        ((*READ, "--construction", "answers"), CUTS, "answers"),
        (RATED, ("--queries", "q.jsonl"), "sensing"),
    ],
)
def test_what_is_spent_stands_in_the_store(release, call, tmp_path, source, options, kind):
    target = "o.net" if kind == "net" else "o.npz"
    store = ("--store", "s.db", "--budget-epsilon", "2.5", "--budget-delta", "1e-5")
    release(source, target, *options, *store)
    assert f'"kind": "{kind}"' in call("store", "status", "s.db", "--json")[1]
    before = (tmp_path / target).read_bytes()
    again = ("release-iteratively", source[0], target, *source[1:], *options, "--force")
    status, _, err = call(*again, "--store", "s.db")
    assert (status, "does not allow" in err) == (2, True)
    status, _, err = call(*again)  # beside the store
    assert (status, "keeps account" in err) == (2, True)
    assert (tmp_path / target).read_bytes() == before


@pytest.mark.parametrize("old", ["release-net", "release-answers", "sense"])
def test_old_names_answer_with_the_new_one(call, old):
    status, _, err = call(old, "in.csv", "out.csv")
    assert status == 2
    assert err.startswith(f"error: {old} is now: graphcuts-dp release-iteratively --construction")
