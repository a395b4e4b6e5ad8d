"""MatrixMarket files: what scipy writes is read as scipy reads it; what is damaged is refused."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.files import read_graph

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
        "  1\t2 0.1000000000000000055511151231257827\n\n% another\n2 1 1e-1  \r\n"
    )
    graph = read_graph(path)
    assert graph.weights.tolist() == [0.1]
    assert graph.n == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("coordinate pattern general\n2 1 2\n1 1\n2 1g\ufffdd\x16", "line 4: malformed row"),
        ("coordinate real general\n2 2 1\n1 2\n", "line 3: malformed row"),
        ("coordinate pattern general\n2 2 1\n1 2 1\n", "line 3: malformed row"),
        ("coordinate real general\n2 2 1\n1 2 1\n2 1 1\n", "not as many entries"),
        ("coordinate real general\n2 2 1\n0 2 1\n", "outside the matrix"),
        ("coordinate real general\n2 2 1\n1 3 1\n", "outside the matrix"),
        ("coordinate real general\n2 2 -1\n", "line 2: expected 3 whole numbers"),
        (f"coordinate real general\n{'9' * 5000} 2 0\n", "line 2: expected 3 whole numbers"),
        ("coordinate real general\n% only comments\n", "ends before the size"),
        ("array real general\n2 2\n1\n2\n3\n", "not as many entries"),
        ("array real symmetric\n2 3\n1\n2\n3\n", "symmetric matrix is square"),
        ("coordinate pattern symmetric\n4 2 2\n2 1\n3 2\n", "symmetric matrix is square"),
        ("array real general\n1 2\n1\nx\n", "line 4: malformed row"),
        ("array pattern general\n1 1\n1\n", "a graph needs"),
        ("coordinate real skew-symmetric\n2 2 1\n2 1 1\n", "a graph needs"),
    ],
)
def test_damaged_files_are_refused_in_a_line_that_tells_no_entry(tmp_path, text, words):
    path = tmp_path / "x.mtx"
    path.write_text(BANNER + text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=words):
        read_graph(path)
