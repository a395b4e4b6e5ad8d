"""Every word that help offers for a method, a mechanism, a fit, a noise or a norm runs as typed."""

import numpy as np
import pytest

from graphcuts_dp.cli.main import loaded_command
from graphcuts_dp.iterative.learning import DISTINGUISHER_NAMES
from graphcuts_dp.learn.norms import NORMS
from graphcuts_dp.options import described

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")

LEFT, RIGHT = tuple("abcd"), tuple("vwxy")
COMMANDS = {"release": (), "session": ("start",), "release-iteratively": ()}
BIPARTITE = ("--kind", "bipartite", "--vertices", "left.txt,right.txt")
PLAIN = ("--vertices", "all.txt")
FEW = ("--vertices", "few.txt")
CUTS = ("--queries", "cuts.csv")
WEIGHED = (*BIPARTITE, "--max-weight", "3")
GROUPS = ("--groups", "sides.csv")
FEW_GROUPS = (*GROUPS, "--groups-columns", "unknown=ignore")
# Words that are right in another place alone: what the refusal says.
REFUSED = {
    "median:start=groups": "start='groups' is for methods",
    "mirror-descent:start=groups": "start='groups' is for methods",
}


def known(command):
    """The options of a command by their keys, as its help lists them."""
    loaded = loaded_command(command)
    for word in COMMANDS[command]:
        loaded = loaded.commands[word]
    return {about.key: about for about in loaded.known}


def words(command, option):
    """Return all that help offers for an option: its names, and of each name its choices."""
    about = known(command)[option]
    yield from about.choices
    for name, kind in about.kinds.items():
        yield name
        for key in described(kind):
            choices = key.choices if key.typed else ()
            if key.key == "norm" and name == "mirror-descent":
                choices = ("auto", *NORMS, "2,1.25", "l1.5", "schatten-1.5")
            if key.key == "distinguisher" and name == "multiplicative-weights":
                choices = DISTINGUISHER_NAMES
            yield from (f"{name}:{key.key}={choice}" for choice in choices)


def cases(command, *options):
    return [(option, word) for option in options for word in words(command, option)]


@pytest.fixture(autouse=True)
def files(tmp_path):
    """Private graphs of two sides, their public vertices and groups, and queries."""
    rng = np.random.default_rng(3)
    edges = [(u, v, 1 + i % 3) for i, u in enumerate(LEFT) for v in RIGHT if rng.random() < 0.6]
    few = {"a", "b", "v", "w"}

    def table(name, *rows):
        (tmp_path / name).write_text("".join(",".join(map(str, row)) + "\n" for row in rows))

    table("mail.csv", ("source", "target"), *(edge[:2] for edge in edges))
    table("few.csv", ("source", "target"), *(edge[:2] for edge in edges if {*edge[:2]} <= few))
    table("ratings.csv", ("source", "target", "weight"), *edges)
    for name, labels in (("left", LEFT), ("right", RIGHT), ("all", LEFT + RIGHT), ("few", few)):
        table(f"{name}.txt", *((label,) for label in sorted(labels)))
    table("sides.csv", ("vertex", "side"), *((v, v in LEFT) for v in LEFT + RIGHT))
    (tmp_path / "cuts.csv").write_text("S,T\na,v\nb,v\n")
    (tmp_path / "sums.jsonl").write_text('{"left": {"a": 1}, "right": {"v": 1}}\n')


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("option", "word"), cases("release", "mechanism", "fit", "noise"))
def test_release_takes_each_word_of_its_help(call, option, word):
    data = (
        ("ratings.csv", *WEIGHED)
        if option == "noise" and word != "binary"
        else ("mail.csv", *PLAIN)
    )
    status, _, err = call(
        "release", data[0], "out.graphml", "--epsilon", "8", f"--{option}", word, *data[1:]
    )
    name, _, oracle = word.partition(":oracle=")
    if oracle not in ("", "low-rank") and name not in ("auto", "cutting-plane"):
        assert "an oracle can be chosen for --fit cutting-plane only" in err
    else:
        assert status == 0, err


@pytest.mark.thorough(cases=5)
@pytest.mark.usefixtures("no_forecast")
@pytest.mark.parametrize(("option", "word"), cases("session", "method"))
def test_sessions_take_each_word_of_their_help(call, option, word):
    data = ("mail.csv", *PLAIN)
    if "norm=2," in word or "norm=schatten" in word:
        data = ("mail.csv", *BIPARTITE)
    if word.startswith("median"):
        data = ("few.csv", *FEW)
    if "start=groups" in word:
        data = (*data, *(FEW_GROUPS if word.startswith("median") else GROUPS))
    epsilon = 1 if "calibration" in word else 8  # the papers' theorems are for at most 1
    status, _, err = call(
        "session", "start", data[0], "--store", "mail.db", "--epsilon", epsilon, "--delta", "1e-6",
        "--queries", "10", f"--{option}", word, *data[1:],
    )  # fmt: skip
    if word in REFUSED:
        assert REFUSED[word] in err
    else:
        assert status == 0, err


@pytest.mark.thorough(cases=9)
@pytest.mark.parametrize(("option", "word"), cases("release-iteratively", "construction"))
def test_iterative_releases_take_each_word_of_their_help(call, option, word):
    data = ("mail.csv", *PLAIN)
    if "norm=2," in word or "norm=schatten" in word:
        data = ("mail.csv", *BIPARTITE)
    if word.startswith(("median", "net")):
        data = ("few.csv", *FEW, *CUTS)
    if word.startswith(("game", "answers", "k-norm", "laplace")) or word.endswith(
        ("exponential", "released")
    ):
        data = (*data, *CUTS)
    if word == "sensing":
        data = ("ratings.csv", *WEIGHED, "--queries", "sums.jsonl")
    status, _, err = call(
        "release-iteratively", data[0], "out.npz", "--epsilon", "8", "--delta", "1e-6",
        f"--{option}", word, *data[1:],
    )  # fmt: skip
    if word.endswith(("=gru12", "=dr14", "=nik17")):  # their bounds are too large for small graphs
        assert "would run no round on any graph of this size" in err
    else:
        assert status == 0, err
