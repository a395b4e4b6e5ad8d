"""What `release` ends with, and `release --dry-run`."""

import json

import numpy as np
import pytest

import graphcuts_dp as gc

OWNER = ("--protect", "owner:at-most=2", "--columns", "owner=caller")
DRY = ("release", "private.csv", "out.csv", "--epsilon", "2")


@pytest.fixture(autouse=True)
def folder(tmp_path):
    edges = "".join(f"{i} {(i + step) % 30}\n" for i in range(30) for step in (1, 2, 3, 5, 7))
    (tmp_path / "in.edges").write_text(edges)
    (tmp_path / "staff.csv").write_text(
        "vertex,half\n" + "".join(f"{i},{i // 15}\n" for i in range(30))
    )
    return tmp_path


def test_a_release_ends_with_what_it_is_good_for(call):
    line = ("release", "in.edges", "out.csv", "--epsilon", "4", "--vertices", "30")
    status, told, _ = call(*line, "--groups", "staff.csv")
    assert status == 0
    table = told[told.index("Is it good for my questions?") :]
    for words in ("one vertex with all others", "two groups", "two halves", "any cut", "Advice: "):
        assert words in table
    release, everything = gc.Release.load("out.csv"), np.ones(30, dtype=bool)
    total = release.answer(gc.CutQuery(everything, everything)).value
    assert f"edges {total:,.0f} in [" in " ".join(told.split())
    status, told, _ = call(*line, "--force", "--json", "--mechanism", "sparse")
    assert status == 0
    good = json.loads(told)["good_for"]
    assert good["questions"][0]["told"] in ("well", "roughly", "drowns in noise")
    assert good["advice"]


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--mechanism", "sparse"),
        ("--fit", "none"),
        (
            "--kind",
            "directed",
        ),
        ("--groups", "staff.csv"),
        ("--protect", "edges:at-most=3"),
        ("--weight-cap", "5", "--noise", "laplace"),
        ("--hide-change", "1", "--noise", "laplace"),
        OWNER,
    ],
)
def test_a_dry_run_reads_and_writes_nothing(options, call, folder):
    before = sorted(folder.iterdir())
    status, told, err = call(*DRY, "--vertices", "30", "--dry-run", "150", *options)
    assert status == 0, err
    assert "edges  150 (a public guess)" in told
    assert "Advice: " in told
    assert "no graph was read" in err
    assert sorted(folder.iterdir()) == before  # private.csv was never there
    assert call(*DRY, "--vertices", "30", "--dry-run", "150", *options)[1] == told


def test_a_dry_run_forecasts_what_a_release_then_says(call):
    """The same public numbers, the same mechanism: errors of the same size."""
    line = ("--epsilon", "4", "--vertices", "30", "--mechanism", "response", "--json")
    dry = call("release", "in.edges", "x.csv", *line, "--dry-run", "150")[1]
    made = json.loads(call("release", "in.edges", "x.csv", *line)[1])["good_for"]
    forecast = json.loads(dry)
    assert forecast["dry_run"] is True
    assert forecast["edges"] == 150
    for before, after in zip(forecast["questions"][:2], made["questions"][:2], strict=True):
        assert before["what"] == after["what"]
        assert before["off_by_at_most"] == pytest.approx(after["off_by_at_most"])


def test_two_sides(call):
    status, told, _ = call(*DRY, "--kind", "bipartite", "--vertices", "20,10", "--dry-run", "99")
    assert status == 0
    assert "two halves" in told


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        ("9", (), "name its vertices by --vertices"),
        ("0", ("--vertices", "30"), "must be above 0"),
        ("436", ("--vertices", "30"), "at most 435"),
        ("nan", ("--vertices", "30"), "--dry-run must be a number"),
        ("9", ("--vertices", "30", *OWNER, "--counting", "rows"), "--counting edges"),
        ("9", ("--vertices", "30", "--protect", "vertex"), "needs degree-bound"),
    ],
)
def test_what_a_dry_run_needs(edges, options, message, call):
    status, told, err = call(*DRY, "--dry-run", edges, *options)
    assert (status, told) == (2, "")
    assert message in err
    assert err.count("\n") == 1
