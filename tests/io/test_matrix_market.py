"""MatrixMarket files: what scipy writes is read as scipy reads it.

What is damaged, and what scipy misreads or dies of, is refused: `MATRICES` of `test_files`.
"""

import contextlib

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from graphcuts_dp import FileFormatError, read_graph

BANNER = "%%MatrixMarket matrix "


@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("dense", [False, True])
def test_matrices_of_scipy_are_read_as_scipy_reads_them(tmp_path, field, symmetry, dense):
    if dense and field == "pattern":
        field = "real"
    rng = np.random.default_rng(7)
    matrix = np.triu(rng.integers(0, 4, (9, 9)) * rng.integers(0, 2, (9, 9)), 1)
    matrix = matrix + matrix.T if symmetry == "symmetric" else matrix
    path = tmp_path / "x.mtx"
    scipy.io.mmwrite(
        path,
        matrix.astype(float if field == "real" else int) if dense else sp.coo_array(matrix),
        field=field,
        symmetry=symmetry,
    )
    expected = scipy.io.mmread(path, spmatrix=False)
    expected = expected if dense else expected.toarray()
    found = read_graph(path, vertices=9)
    assert found.weighted == (field != "pattern")
    assert (found.adjacency.toarray() == np.maximum(expected, expected.T)).all()


def test_numbers_with_many_digits_and_rows_with_odd_blanks_are_read(tmp_path):
    path = tmp_path / "x.mtx"
    path.write_text(
        f"{BANNER}coordinate real general\n% a comment\n\n 2  2 2\n"
        "  1\t2 0.1000000000000000055511151231257827\n\n \r\n02 1 1e-1  \r\n"
    )
    graph = read_graph(path)
    assert graph.weights.tolist() == [0.1]
    assert graph.n == 2
    path.write_text(f"{BANNER}coordinate integer general\n2 2 1\n1 2 1.5\n")  # scipy reads a 1
    assert read_graph(path).weights.tolist() == [1.5]


def test_one_careless_pair_of_a_symmetric_matrix_changes_no_other_pair(tmp_path):
    """Old readers took a matrix whose pair stands in both triangles for one of arcs."""
    path = tmp_path / "x.mtx"
    path.write_text(f"{BANNER}coordinate real symmetric\n3 3 3\n2 1 3\n1 2 5\n3 2 7\n")
    assert read_graph(path).weights.tolist() == [8, 7]
    assert read_graph(path, merge="max").weights.tolist() == [5, 7]


def test_what_our_check_lets_pass_never_ends_the_process(tmp_path):
    """Rows of all lengths and numbers, with and without a last newline."""
    path = tmp_path / "x.mtx"
    rng = np.random.default_rng(3)
    for _ in range(300):
        form = str(rng.choice(["coordinate real", "coordinate pattern", "array real"]))
        words = ["1", "2", "3", "00", "7" * 30, "0." + "1" * 60, "-.5", "1e-400", "1E9", "9."]
        columns = {"coordinate real": 3, "coordinate pattern": 2, "array real": 1}[form]
        rows = [
            str(rng.choice([" ", "\t  "])).join(
                [*map(str, rng.integers(0, 4, columns - 1)), str(rng.choice(words))]
            )
            for _ in range(rng.integers(0, 5))
        ]
        size = "2 2" if columns == 1 else f"3 3 {rng.integers(0, 5)}"
        end = str(rng.choice(["", "\n", "\r\n", "\n \n"]))
        path.write_text(f"{BANNER}{form} general\n{size}\n" + "\n".join(rows) + end)
        with contextlib.suppress(FileFormatError):
            read_graph(path)
