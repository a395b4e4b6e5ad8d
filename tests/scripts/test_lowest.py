"""The lowest versions that pyproject.toml allows, as constraints."""

import tomllib
from pathlib import Path

import pytest

from scripts.lowest import lowest_versions

ROOT = Path(__file__).parents[2]


def test_each_dependency_names_its_lowest_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for requirements in (project["dependencies"], extras["all"]):
        found = list(lowest_versions(requirements, python=(3, 11)))
        assert all(name.count("==") == 1 for name in found)
        assert len(found) == len({name.partition("==")[0] for name in found})
    assert set(extras["tables"]) | set(extras["server"]) == set(extras["all"])


@pytest.mark.parametrize(("python", "lowest"), [((3, 11), "18"), ((3, 14), "22")])
def test_a_marker_chooses_by_the_version_of_python(python, lowest):
    both = ["pyarrow>=18; python_version < '3.14'", "pyarrow>=22; python_version >= '3.14'"]
    assert list(lowest_versions(both, python=python)) == [f"pyarrow=={lowest}"]


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "a>=1; sys_platform == 'win32'"])
def test_what_names_no_lowest_version_is_refused(requirement):
    with pytest.raises(ValueError, match=r"lowest|comparison"):
        list(lowest_versions([requirement], python=(3, 11)))
