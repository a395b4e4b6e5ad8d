"""Reading of saved results that somebody has altered in order to harm.

`tests/crafted_bundles.py` makes them, and reads them by `gc.load` and by `graphcuts-dp inspect`, in
a process whose memory is measured.
"""

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from crafted_bundles import npy, npy_header, npz, receipt_bytes, sources, zeros

import graphcuts_dp as gc
from graphcuts_dp import BudgetPlan, FileFormatError
from graphcuts_dp.array_archive import MOST_RATIO, most_unpacked, read_arrays, write_arrays
from graphcuts_dp.results import bundle
from graphcuts_dp.results.bundle import KINDS, receipt_path
from graphcuts_dp.results.receipts import RECEIPTS, check_fields

EVERY = 600  # altered fields of which one is read; all of them take minutes
MOST_BYTES = 200_000_000
ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    """The path of a saved release."""
    return sources(tmp_path_factory.mktemp("saved"))[0]


@pytest.mark.thorough
@pytest.mark.parametrize("every", [EVERY, pytest.param(30, marks=pytest.mark.slow)])
def test_crafted_bundles_are_refused_in_one_line_and_take_little_memory(every, tmp_path):
    command = [sys.executable, str(ROOT / "tests" / "crafted_bundles.py"), str(tmp_path)]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
    }
    done = subprocess.run(
        [*command, "0", "1", str(every)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["failures"] == []
    least, ratio = (250, 3) if every == EVERY else (400, 4)
    assert sum(report["counts"].values()) >= least
    assert report["counts"]["refused"] > ratio * report["counts"]["loaded"]
    assert report["peak"] < MOST_BYTES, report["peaks"]


def test_every_kind_of_results_has_a_model_of_its_receipt():
    assert set(RECEIPTS) == set(KINDS)


def written(arrays, always_allowed):
    handle = io.BytesIO()
    write_arrays(handle, arrays, always_allowed=always_allowed)
    return handle.getvalue()


def test_no_archive_that_is_written_is_refused_for_its_size():
    arrays = {"matrix": np.zeros((1000, 1000)), "list": np.arange(5)}
    for always_allowed in (1 << 10, 1 << 20, 1 << 30):
        packed = written(arrays, always_allowed)
        limit = most_unpacked(len(packed), always_allowed)
        found = read_arrays(io.BytesIO(packed), limit=limit)
        assert sorted(found) == ["list", "matrix"]
        assert (found["matrix"] == arrays["matrix"]).all()
    plain = written(arrays, 1 << 30)
    assert len(plain) * MOST_RATIO < 8_000_000
    with pytest.raises(FileFormatError, match="as bombs do"):
        read_arrays(io.BytesIO(plain), limit=most_unpacked(len(plain), 1 << 20))


def test_small_archives_have_the_members_that_numpy_writes():
    with zipfile.ZipFile(io.BytesIO(written({"a/b 1": np.arange(3)}, 1 << 20))) as archive:
        assert archive.namelist() == ["a/b 1.npy"]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(3, dtype=">i4"),
        np.array("text"),
        np.array([b"x", b"yz"]),
        np.zeros((0, 3)),
        np.array([True, False]),
        np.float32(2.5),
    ],
)
def test_arrays_come_back_as_numpy_reads_them(array):
    (found,) = read_arrays(io.BytesIO(npz([("x.npy", npy(array))])), limit=10_000).values()
    assert found.shape == np.shape(array)
    assert found.dtype == array.dtype.newbyteorder("=")
    assert np.array_equal(found, array)
    assert found.flags.writeable


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no archive",
        npz([("x.npy", npy(np.array([{}], dtype=object)))]),
        npz([("x.npy", npy(np.zeros(2, dtype=[("a", "<i8")])))]),
        npz([("x.npy", npy_header("'<i8'", "(2,)", bytes(8)))]),
        npz([("x.npy", npy_header("'<i8'", "(2,)", bytes(24)))]),
        npz([("x.npy", npy_header("'<i8'", "(-2,)", bytes(16)))]),
        npz([("x.npy", npy(np.zeros(2))), ("x.npy", npy(np.zeros(2)))]),
        npz([("../x.npy", npy(np.zeros(2)))]),
        npz([("x.txt", npy(np.zeros(2)))]),
        npz([("x.npy", zeros("u1", 10**7))]),
        npz([("x.npy", npy(np.zeros(2)))], zipfile.ZIP_LZMA),
        npz([(f"x{number}.npy", npy(np.zeros(1))) for number in range(1001)]),
    ],
    ids=range(13),
)
def test_other_archives_are_refused(content):
    with pytest.raises(FileFormatError) as caught:
        read_arrays(io.BytesIO(content), limit=10**6)
    assert "\n" not in str(caught.value)


def test_names_of_a_receipt_do_not_lead_out_of_its_folder(dense, tmp_path):
    (tmp_path / "secret").write_text("a secret")
    fields = json.loads(receipt_path(dense).read_text())
    digest = bundle.sha256_of(tmp_path / "secret")
    for name in ("../secret", "/etc/passwd", "..", ".", "", "a/../../secret", "x\0y"):
        folder = tmp_path / "inside"
        folder.mkdir(exist_ok=True)
        listed = fields | {"files": fields["files"] | {name: digest}}
        receipt_path(folder / "g.edges").write_bytes(receipt_bytes(listed))
        with pytest.raises(FileFormatError, match="damaged"):
            bundle.read_receipt(receipt_path(folder / "g.edges"))


def test_a_link_is_read_only_if_it_leads_to_what_the_receipt_names(dense, tmp_path):
    for file in dense.parent.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / dense.name
    (tmp_path / "elsewhere").write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    gc.load(path)
    (tmp_path / "elsewhere").write_text("0 1\n")
    with pytest.raises(FileFormatError, match="not the file that the receipt names"):
        gc.load(path)


def test_receipts_of_another_size_or_kind_of_file_are_refused(dense, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "LARGEST_RECEIPT", 100)
    with pytest.raises(FileFormatError, match="larger than"):
        gc.load(dense)
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(FileFormatError, match="is not a file"):
        gc.load(tmp_path / "pipe")


def test_the_message_names_the_field(dense):
    fields = json.loads(receipt_path(dense).read_text())
    fields["shape"] = [10**18, 6]
    with pytest.raises(FileFormatError, match=r"shape\[\] must be a whole number from 1 to 2,147"):
        check_fields("release", fields)


def test_a_plan_of_a_budget_with_too_many_decisions_is_refused():
    step = {"statistic": "", "name": "", "share": ["1/2", "1/3"], "distribution": "laplace"}
    steps = [step | {"statistic": f"s{number}", "conditions": []} for number in range(13)]
    plan = {"amount": "1", "currency": "epsilon", "delta": 0.0, "group_size": 1, "ran": None}
    with pytest.raises(ValueError, match="too many"):
        BudgetPlan.from_dict(plan | {"steps": steps})
    assert BudgetPlan.from_dict(plan | {"steps": steps[:2]}).spent > 0
