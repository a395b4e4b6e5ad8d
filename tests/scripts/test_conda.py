"""The recipe for conda asks for what pyproject.toml asks for."""

import re
import tomllib
from pathlib import Path

import pytest

import graphcuts_dp as gc

ROOT = Path(__file__).resolve().parents[2]
RECIPE = (ROOT / "conda" / "meta.yaml").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Names that are others on conda-forge; matplotlib-base is matplotlib without Qt.
NAMES = {"duckdb": "python-duckdb", "igraph": "python-igraph", "matplotlib": "matplotlib-base"}


def listed(key, recipe=RECIPE):
    """The requirements below a key: name and lowest version."""
    block = re.search(rf"^  {key}:\n((?:    - .*\n)+)", recipe, re.M)[1]
    pairs = [line.removeprefix("    - ").partition(" ") for line in block.splitlines()]
    return {name: version for name, _, version in pairs}


def required(requirements):
    """The same of pyproject.toml.

    Where the lowest version depends on Python's, the lowest of all counts: conda's solver takes
    a build for the version of Python, and older versions have none.
    """
    lowest = {}
    for requirement in requirements:
        name, version = re.fullmatch(r"([\w-]+)>=([\d.]+)(?:;.*)?", requirement).groups()
        parts = tuple(map(int, version.split(".")))
        name = NAMES.get(name, name)
        lowest[name] = min(lowest.get(name, (parts, version)), (parts, version))
    return {name: f">={version}" for name, (_, version) in lowest.items()}


def test_it_asks_for_what_the_project_asks_for():
    project = PROJECT["project"]
    python = {"python": project["requires-python"]}
    assert listed("run") == python | required(project["dependencies"])
    assert listed("run_constrained") == required(project["optional-dependencies"]["all"])
    build = required(PROJECT["build-system"]["requires"])
    assert listed("host") == python | {"pip": ""} | build


def test_a_requirement_that_differs_is_noticed():
    other = RECIPE.replace("scipy >=1.17", "scipy >=1.16")
    assert listed("run", other) != listed("run")


@pytest.mark.parametrize("key", ["name", "license", "description"])
def test_it_says_what_the_project_says(key):
    assert f": {PROJECT['project'][key]}\n" in RECIPE


def test_it_has_the_version_and_the_command():
    assert f'version = "{gc.__version__}"' in RECIPE
    ((name, target),) = PROJECT["project"]["scripts"].items()
    assert f"- {name} = {target}\n" in RECIPE


def test_the_core_has_no_part_of_the_server():
    core, extras = PROJECT["project"]["dependencies"], PROJECT["project"]["optional-dependencies"]
    server = {re.split(r"[>=]", requirement)[0] for requirement in extras["server"]}
    assert {"fastapi", "uvicorn"} <= server
    assert not server & {re.split(r"[>=]", requirement)[0] for requirement in core}
