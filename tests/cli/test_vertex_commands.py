"""Commands that hide all edges of a vertex, and those that say why they cannot."""

import json

import pytest

import graphcuts_dp as gc


@pytest.fixture(autouse=True)
def files(tmp_path):
    edges = [(f"v{i}", f"v{(3 * i + 1) % 12}") for i in range(12)]
    gc.Graph.of(edges).write(tmp_path / "mail.edges")
    staff = "".join(f"v{i},u{i // 3}\n" for i in range(12))
    (tmp_path / "staff.csv").write_text("person,unit\n" + staff)
    (tmp_path / "labels.txt").write_text("".join(f"v{i}\n" for i in range(12)))


FLOWS = (
    "flows",
    "mail.edges",
    "staff.csv",
    "out.csv",
    "--epsilon",
    "1",
    "--vertices",
    "labels.txt",
)
VERTEX = ("--protect", "vertex:degree-bound=2")


def test_flows_of_vertices_say_whom_they_protect(call, tmp_path):
    status, out, err = call(
        *FLOWS, *VERTEX, "--groups-columns", "levels=unit", "--store", "mail.db"
    )
    assert status == 0
    assert "protects  1 vertex" in out
    assert "counts for at most 2" in out
    # 4 cells of a group, 2 in each: the deviation of discrete Laplace noise of scale 8.
    assert "Expected error of a cell of level 'unit': 11" in err
    made = gc.load(tmp_path / "out.csv")
    assert made.guarantee.protects == "1 vertex"
    status, _, err = call(
        *FLOWS, "--groups-columns", "levels=unit", "--store", "mail.db", "--force"
    )
    assert status != 0
    assert "protect 1 vertex" in err


def test_sessions_of_vertices_are_resumed_as_such(call):
    start = ("session", "start", "mail.edges", "--store", "mail.db", "--epsilon", "50")
    terms = ("--queries", "3", "--vertices", "labels.txt", "--seed", "1")
    status, out, _ = call(*start, *terms, *VERTEX)
    assert status == 0
    assert "protects 1 vertex" in out
    status, out, _ = call("session", "ask", "mail.db", "--from", "v0,v1", "--json")
    assert status == 0
    low, high = json.loads(out)["interval"]
    assert low <= 2 <= high  # v1 with v4 and v8


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--protect", "vertex"), "degree"),
        (("--protect", "vertex:degree-bound=0"), "degree"),
        (("--degree-bound", "3"), "--protect vertex:degree-bound="),
    ],
)
def test_bounds_that_make_no_sense_are_refused(call, options, reason):
    status, _, err = call(*FLOWS, "--groups-columns", "levels=unit", *options)
    assert status == 2
    assert reason in err
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["release", "release-iteratively"])
def test_synthetic_graphs_say_why_they_cannot(call, command):
    more = ("--delta", "1e-6") if command == "release-iteratively" else ()
    status, _, err = call(
        command, "mail.edges", "x.csv", "--epsilon", "1", "--vertices", "labels.txt", *VERTEX, *more
    )
    assert status == 2
    assert "all its 11 pairs change together" in err
    assert "flows" in err
