"""`release-iteratively` on the command line, and the answers from what it wrote."""

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.confidence import DEFAULT_PERCENT

READ = ("in.csv", "--epsilon", "2", "--seed", "1", "--vertices", "6")
RATED = (
    *("ratings.csv", "--epsilon", "2", "--delta", "1e-6", "--seed", "1"),
    *("--vertices", "u.txt,f.txt", "--max-weight", "5", "--construction", "sensing"),
)
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
    "u.txt": "\n".join(USERS),
    "f.txt": "\n".join(FILMS),
    "q.jsonl": '{"left": {"u0": 0.5, "u1": 1}, "right": {"f0": 1}}\n{"S": ["u0", "f1"]}\n',
}


@pytest.fixture(autouse=True)
def files(tmp_path):
    gc.Graph([0, 1, 2, 4], [1, 2, 3, 5], vertices=6).write(tmp_path / "in.csv")
    rng = np.random.default_rng(0)
    rated = [f"{u},{f},{rng.integers(1, 6)}" for u in USERS for f in FILMS if rng.random() < 0.6]
    for name, text in (FILES | {"ratings.csv": "\n".join(["user,film,weight", *rated])}).items():
        (tmp_path / name).write_text(text)


@pytest.fixture
def release(told):
    """Run the command; returns what it says as JSON, and what was saved."""

    def run(source, target, *options):
        line = ("release-iteratively", source[0], target, *source[1:], *options, "--force")
        return told(*line), gc.load(target)

    return run


LEARN = ("--delta", "1e-6", "--construction")


@pytest.mark.parametrize(
    ("options", "facts", "listed"),
    [
        (("frieze-kannan:rounds=3",), {"rounds": "3 of at most 3 (practical)",
         "which_holds": "for cuts between disjoint sets at once, with probability "
         f"{DEFAULT_PERCENT}"}, None),
        (("frieze-kannan:distinguisher=power-rank-one",),
         {"error": "nothing is proven for this distinguisher"}, None),
        (("game:rounds=3", "--queries", "all.jsonl"), {"distinguisher": "player: both"}, 30),
        (("median", "--queries", "asked.jsonl"), {"construction": "median"}, 3),
        (("multiplicative-weights:rounds=2", "--queries", "linear.jsonl"),
         {"which_holds": f"for the queries given at once, with probability {DEFAULT_PERCENT}"}, 2),
    ],
)  # fmt: skip
def test_what_is_proven_of_each_construction_is_said(release, options, facts, listed):
    found, made = release(READ, "out.graphml", *LEARN, *options)
    assert facts.items() <= found.items()
    assert (None if made.listed is None else len(made.listed)) == listed
    assert ("error_at_most" in found) == (made.accuracy.error is not None)


def test_learns_from_listed_cuts(release, told, refused):
    facts, made = release(READ, "out.graphml", "--delta", "1e-6", *CUTS)
    assert (facts["distinguisher"], len(facts["files"])) == ("exponential", 3)
    assert facts["error_at_most"] == made.accuracy.error
    asked = ("answer", "out.graphml", "--from", "0,1")
    assert told(*asked)["value"] == made.answer([0, 1]).value
    assert "leave out --confidence" in refused(*asked, "--confidence", "0.9")


def test_chooses_a_graph_from_a_net(release, told):
    net = ("--construction", "net:edges=3", "--privacy-unit", "edge:group-size=2")
    facts, made = release(READ, "out.graphml", *CUTS, *net)
    assert (facts["members"], facts["queries"]) == (made.law.members, 2)
    assert (len(made.graph.rows), made.guarantee.privacy_unit) == (3, "2 edges")
    asked = ("answer", "out.graphml", "--from", "0,1")
    found, wider = told(*asked), told(*asked, "--confidence", ".999")
    assert found["interval"] == list(made.answer([0, 1]).interval)
    assert wider["interval"][1] >= found["interval"][1]


def test_answers_a_few_cuts_and_nothing_else(release, told, refused):
    facts, made = release(READ, "out.npz", "--construction", "answers", *CUTS)
    assert facts["files"] == ["out.npz", "out.npz.json"]
    assert (facts["error_at_most"], facts["queries"]) == (made.accuracy.error, 2)
    found = told("answer", "out.npz", "--from", "0,1")
    assert (found["value"], found["together"]) == (made.transcript[0].value, 2)
    assert "only the 2 cuts of the list" in refused("answer", "out.npz", "--from", "3")
    halves = ("--groups", "halves.csv", "--queries", "cuts.csv")
    more = ("--beta", ".01", "--privacy-unit", "edge:group-size=3")
    _, many = release(READ, "out.npz", "--construction", "laplace", *halves, *more)
    assert (many.accuracy.confidence, many.guarantee.privacy_unit) == (0.99, "3 edges")
    values = [each["value"] for each in told("answer", "out.npz", *halves)["answers"]]
    assert values == [each.value for each in many.transcript]


MORE = (*READ, "--delta", "1e-6")
NET, FEW = (*READ, "--construction", "net"), (*READ, *CUTS, "--construction")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("o.net", *MORE, "--fit", "spectral"), "No such option"),
        (("o.net", *MORE, "--construction", "average"), "unknown --construction average; choose"),
        (("o.net", *MORE, "--queries", "nowhere.jsonl"), "does not exist"),
        (("o.net", *READ), "needs delta"),
        (("o.net", *MORE, "--construction", "median:hide-queries=.5"), "option 'hide-queries'"),
        (("o.net", *MORE, "--player", "both"), "--construction game:player="),
        (("o.net", *MORE, "--queries", "asked.jsonl"), "--construction median"),
        (("o.net", *NET), "needs queries"),
        (("o.npz", *FEW, "answers", "--queries", "cuts.csv"), "group"),
        (("o.csv", "nowhere.csv", *FEW[1:], "answers"), "must end in .npz"),
        (("o.npz", *RATED, "--queries", "q.jsonl", "--kind", "directed"), "two sides"),
        (("o.npz", *RATED, "--queries", "q.jsonl", "--kind", "directed", "--dry-run"), "two sides"),
        (("cuts.csv", *RATED, "--queries", "cuts.csv"), "another file"),
    ],
)
def test_options_that_do_not_fit_are_refused(refused, line, message):
    target, source, *rest = line
    assert message in refused("release-iteratively", source, target, *rest)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(
    ("source", "options", "kind"),
    [
        ((*NET[:-1], "net:edges=3"), CUTS, "net"),
        ((*READ, "--construction", "answers"), CUTS, "answers"),
        (RATED, ("--queries", "q.jsonl"), "sensing"),
    ],
)
def test_what_is_spent_stands_in_the_store(release, told, refused, source, options, kind):
    target = "o.net" if kind == "net" else "o.npz"
    release(source, target, *options, "--store", "s.db", "--budget", "2.5,delta=1e-5")
    (use,) = told("session", "status", "s.db")["uses"]
    assert use["kind"] == kind
    again = ("release-iteratively", source[0], target, *source[1:], *options, "--force")
    assert "does not allow" in refused(*again, "--store", "s.db")
    assert "keeps account" in refused(*again)  # beside the store
