"""`graphcuts-dp evaluate cut-norm --norm`: three norms, each with a certificate that holds."""

import itertools
import json

import numpy as np
import pytest

import graphcuts_dp as gc

EDGES = {"a.edges": "0 1\n1 2\n2 3\n3 4\n", "b.edges": "0 1\n0 2\n0 3\n1 4\n"}


@pytest.fixture
def call(command_line, tmp_path):
    for name, text in EDGES.items():
        (tmp_path / name).write_text(text)
    return lambda *arguments: command_line("evaluate", "cut-norm", *arguments)


def masks(size):
    return [np.array(bits) for bits in itertools.product([0.0, 1.0], repeat=size)]


def value(norm, matrix, rows, columns):
    """What a pair of sets, given as 0 and 1, attains."""
    if norm == "infinity-to-one":
        return abs((2 * rows - 1) @ matrix @ (2 * columns - 1))
    size = rows.sum() * columns.sum()
    found = abs(rows @ matrix @ columns)
    return found if norm == "cut" else found / np.sqrt(max(size, 1.0))


@pytest.mark.parametrize("second", [None, "b.edges"])
@pytest.mark.parametrize("norm", ["cut", "infinity-to-one", "normalised"])
def test_each_norm_is_that_of_all_pairs_of_sets(call, tmp_path, norm, second):
    files = ["a.edges", *([] if second is None else [second])]
    status, out, err = call(*files, "--vertices", "5", "--norm", norm, "--json")
    assert status == 0, err
    told = json.loads(out)
    matrix = gc.read_graph(tmp_path / "a.edges", vertices=5).dense().astype(float)
    if second is not None:
        matrix -= gc.read_graph(tmp_path / second, vertices=5).dense()
    largest = max(value(norm, matrix, x, y) for x in masks(5) for y in masks(5))
    assert told["norm"] == norm
    assert told["lower"] <= largest * (1 + 1e-12)
    assert told["upper"] >= largest * (1 - 1e-12)
    assert told["lower"] == pytest.approx(largest, rel=1e-9)
    x, y = (np.isin(np.arange(5), told[side]).astype(float) for side in "ST")
    assert value(norm, matrix, x, y) == pytest.approx(told["lower"], rel=1e-9)
    status, out, _ = call(*files, "--vertices", "5", "--norm", norm)
    assert status == 0
    assert norm in out
    assert "at most" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--norm", "nuclear"), "unknown --norm nuclear"),
        (("--norm", "infinity-to-one", "--method", "spectral"), "low-rank"),
        (("--norm", "normalised", "--method", "sdp"), "auto, exact, spectral"),
        (("--norm", "normalised", "--time-limit", "3"), "time limit"),
        (("--norm", "cut", "--method", "magic"), "unknown --method magic"),
    ],
)
def test_what_a_norm_does_not_have_is_refused_in_one_line(call, options, message):
    for files in (("a.edges",), ("a.edges", "b.edges", "--vertices", "5")):
        status, out, err = call(*files, *options)
        assert (status, out) == (2, "")
        assert message in err
        assert err.count("\n") == 1


def test_help_has_examples(call):
    status, out, _ = call("--help")
    assert status == 0
    assert "--norm infinity-to-one" in out
