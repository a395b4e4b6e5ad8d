"""Architecture: unique names, tests that mirror the package, layers and guides that name it all."""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import graphcuts_dp as gc

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "graphcuts_dp"
# Folders of tests that belong to no single subpackage.
OTHER_FOLDERS = {
    *("architecture", "attacks", "audits", "benchmark", "contract", "crash", "figures"),
    *("golden", "scripts", "theorems"),
}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def public_classes() -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name


def subpackages() -> set[str]:
    return {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


@pytest.mark.thorough
def test_no_two_classes_have_one_name():
    assert [name for name, count in Counter(public_classes()).items() if count > 1] == []


def defined_names(tree: ast.Module) -> Iterator[str]:
    """Yield the functions, classes and variables that a module defines at its top level."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            if not any("overload" in ast.unparse(item) for item in node.decorator_list):
                yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = (part for target in targets for part in ast.walk(target))
            yield from (part.id for part in parts if isinstance(part, ast.Name) and part.id != "_")


@pytest.mark.thorough
def test_no_module_defines_a_name_twice():
    """If two files become one, a constant of the second could replace one of the first."""
    for folder in (PACKAGE, ROOT / "scripts"):
        for path in sorted(folder.rglob("*.py")):
            names = Counter(defined_names(tree_of(path)))
            assert [name for name in names if names[name] > 1] == [], path


def test_tests_mirror_the_package():
    tests = ROOT / "tests"
    folders = {path.parent.name for path in tests.glob("*/test_*.py")}
    assert folders - OTHER_FOLDERS <= subpackages()
    assert subpackages() - folders == set()
    for path in tests.glob("test_*.py"):
        module = path.stem.removeprefix("test_")
        assert (PACKAGE / f"{module}.py").exists(), module


def test_every_subpackage_is_in_the_layers_and_in_the_picture():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    layers = re.findall(
        r"graphcuts_dp\.(\w+)", " ".join(settings["importlinter"]["contracts"][0]["layers"])
    )
    modules = {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("_")}
    assert set(layers) == subpackages() | modules
    guide = (ROOT / "docs" / "architecture.md").read_text()
    picture = guide.split("```")[3]
    for name in layers:
        assert re.search(rf"\b{name}\b", picture), name


@pytest.mark.parametrize(("heading", "steps"), [("`release_graph`", 14), ("`Rows.read`", 9)])
def test_every_file_and_name_of_a_walk_through_the_package_exists(heading, steps):
    guide = (ROOT / "docs" / "architecture.md").read_text()
    walk = guide.split(f"## {heading}")[1].partition("\n#")[0]
    inside = [(path, name) for name, path in re.findall(r"`(\w+)` of `([\w/]+\.py)`", walk)]
    names_in_files = inside + [
        (path, name)
        for path, names in re.findall(r"`([\w/]+\.py)` (`\w+`(?:, `\w+`)*)", walk)
        for name in re.findall(r"\w+", names)
    ]
    rows = re.findall(r"^\| \d+ \|.*$", walk, re.MULTILINE)
    assert len(rows) == steps
    assert all(re.search(r"`[\w/]+\.py` `\w+`", row) for row in rows)
    named = set(re.findall(r"[\w/]+\.py", walk)) - {"that.py"}
    assert {path for path, _ in names_in_files} == {path for path in named if "tests/" not in path}
    for path, name in names_in_files:
        assert name in defined_names(tree_of(PACKAGE / path)), (path, name)


def test_every_package_is_installed():
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob("__init__.py")
    }
    assert set(setup["packages"]) == packages | {"graphcuts_dp.bundled"}
    assert setup["package-dir"] == {"graphcuts_dp.bundled": "datasets"}


@pytest.mark.thorough
def test_the_package_imports_nothing_that_is_not_installed_with_it():
    """Only `cli/main.py` uses scripts and tests of a checkout, which it finds by name."""
    imported = {
        name.split(".")[0]
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
    }
    assert not imported & {"scripts", "tests"}


def test_type_checkers_see_every_public_name():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    (type_checking,) = (node for node in tree.body if isinstance(node, ast.If))
    imported = {
        (node.module.removeprefix("graphcuts_dp").lstrip("."), name.name)
        for node in type_checking.body
        for name in node.names
    }
    homes = {(module, name) for name, module in gc._MODULES.items()}
    homes |= {("", name) for name in gc._SUBMODULES}
    assert homes <= imported
    assert all(hasattr(gc, name) for name in gc.__all__)
    for module, name in imported - homes:  # of a subpackage
        assert getattr(gc, name) is getattr(import_module(f"graphcuts_dp.{module}"), name)
        assert any(name in getattr(gc, package).__all__ for package in gc._SUBPACKAGES)
    assert dir(gc) == sorted(gc.__all__)
    assert len(gc.__all__) <= 61
    assert not hasattr(gc, "release_everything")


def test_every_constraint_is_one_exact_version():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[\w.-]+==[\w.!+]+", line)] == []


def test_no_two_files_of_tests_have_one_name():
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
