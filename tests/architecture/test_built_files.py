"""What a wheel and a source archive hold, and that an unpacked wheel finds its data."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import graphcuts_dp as gc

ROOT = Path(__file__).resolve().parents[2]
DATA = {f"graphcuts_dp/bundled/{file.name}" for file in (ROOT / "datasets").iterdir()}
PAGE = {
    f"graphcuts_dp/{folder}/{file.name}"
    for folder in ("server/page", "page/web", "plotting/web")
    for file in (ROOT / "graphcuts_dp" / folder).iterdir()
}
BESIDE = ("CHANGELOG.md", "SECURITY.md", "CITATION.cff", "LICENSE", "README.md", "pyproject.toml")
LOAD = """
import graphcuts_dp as gc
assert {folder!r} in gc.__file__, gc.__file__
print([len(gc.datasets.load(name).rows) for name in gc.datasets.names()])
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A wheel and a source archive of this tree, by the build backend that its file names."""
    pytest.importorskip("setuptools", "70", reason="the build backend is not installed")
    folder = tmp_path_factory.mktemp("built")
    tree = folder / "tree"
    names = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"],
        check=False,
        capture_output=True,
        text=True,
    )
    if names.returncode:
        pytest.skip("not a checkout")
    for name in names.stdout.splitlines():
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())
    call = "from setuptools import build_meta as b; b.build_wheel('..'); b.build_sdist('..')"
    subprocess.run([sys.executable, "-c", call], cwd=tree, check=True, capture_output=True)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_its_data(built, tmp_path):
    with zipfile.ZipFile(built[0]) as wheel:
        names = set(wheel.namelist())
        wheel.extractall(tmp_path)  # noqa: S202  # built here
    sources = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "graphcuts_dp").rglob("*.py")
        if "__pycache__" not in file.parts
    }
    assert sources <= names
    beside = {name for name in names - sources if ".dist-info/" not in name}
    assert beside == {"graphcuts_dp/py.typed", *DATA, *PAGE}, "nothing that needs a checkout"
    found = subprocess.run(
        [sys.executable, "-c", LOAD.format(folder=str(tmp_path))],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    expected = [len(gc.datasets.load(name).rows) for name in gc.datasets.names()]
    assert found.stdout.strip() == str(expected)


@pytest.mark.slow
def test_the_source_archive_holds_what_a_packager_needs(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert set(BESIDE) <= names
    beside = {
        str(file.relative_to(ROOT))
        for folder in ("docs/examples", "scripts", "tests")
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert beside <= names
    assert {f"datasets/{file.name}" for file in (ROOT / "datasets").iterdir()} <= names
    assert not {name for name in names if "__pycache__" in name or name.startswith(".venv")}


def test_the_citation_is_of_this_version():
    assert f"version: {gc.__version__}" in (ROOT / "CITATION.cff").read_text()
