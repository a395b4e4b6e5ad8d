"""Reading a graph from a text file loads no library that it does not need."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from graphcuts_dp.io.batches import integer_view


@pytest.mark.thorough
def test_edges_between_numbers_are_read_without_pandas(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,2\n")
    code = (
        "import sys, graphcuts_dp as gc\n"
        "assert len(gc.read_graph('edges.csv', vertices=3).rows) == 2\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.int64()])
def test_integers_of_arrow_are_shared(kind):
    array = pa.array([5, 7, 9, 11], kind)
    assert integer_view(array).tolist() == [5, 7, 9, 11]
    assert integer_view(array.slice(1, 2)).tolist() == [7, 9]
    assert integer_view(array.slice(4)).tolist() == []
    assert integer_view(array).dtype == np.dtype(str(kind))
    assert integer_view(pa.array([], kind)).tolist() == []
