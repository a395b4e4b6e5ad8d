"""The list of mutants: it can be made, each of them compiles, and no explanation is out of date."""

import ast
import dataclasses
import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def mutants():
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "scripts" / "mutants.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        patch.setitem(sys.modules, "mutants", module)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def candidates(mutants):
    return mutants.candidates()


@pytest.fixture(scope="module")
def chosen(mutants, candidates):
    return mutants.select(candidates, sample=150, seed=1)


@pytest.mark.thorough
def test_the_chosen_mutants_are_many_and_from_every_folder(mutants, candidates, chosen):
    assert len(chosen) >= 250
    assert len({mutant.key for mutant in chosen}) == len(chosen)
    folders = {mutant.path.split("/")[1] for mutant in chosen}
    assert folders >= {"privacy", "release", "session", "iterative", "distances"}
    kinds = {mutant.kind for mutant in chosen}
    assert {"by hand", "noise", "reuse", "drop", "comparison", "constant"} <= kinds
    assert mutants.select(candidates, sample=150, seed=1) == chosen


@pytest.mark.thorough
def test_each_mutant_changes_the_code_and_compiles(chosen):
    for mutant in chosen:
        whole = (ROOT / mutant.path).read_bytes()
        assert whole[mutant.start : mutant.stop].decode() != mutant.text, mutant.key
        compile(mutant.applied(whole), mutant.path, "exec", dont_inherit=True)


@pytest.mark.thorough
def test_the_numbers_of_mutants_are_recorded_for_modules_that_exist(mutants, candidates):
    for folder, pattern in mutants.targets():
        assert list((ROOT / "graphcuts_dp" / folder).glob(pattern)), pattern
    record = json.loads((ROOT / "tests" / "golden" / "mutation_scores.json").read_text())
    targets = {mutant.path for mutant in candidates}
    known = {f"graphcuts_dp/{name}.py" for name in record["modules"]}
    assert known == targets, "python scripts/mutate.py --record writes them"
    assert all(noticed <= run for noticed, run in record["noticed"].values())


def test_every_mutant_by_hand_has_one_place_and_is_chosen(mutants, chosen, monkeypatch):
    found = mutants.by_hand()
    assert len(found) == len(mutants.BY_HAND) >= 60
    assert set(found) <= set(chosen)
    assert all("\n" not in mutant.key + mutant.entry for mutant in found)
    for change in ({"old": "nowhere"}, {"old": "="}):
        edit = dataclasses.replace(mutants.BY_HAND[0], **change)
        monkeypatch.setattr(mutants, "BY_HAND", (edit,))
        with pytest.raises(ValueError, match="has moved or changed"):
            mutants.by_hand()


@pytest.mark.thorough
def test_every_mistake_by_hand_names_a_test_that_exists(mutants):
    named = [edit for edit in mutants.BY_HAND if edit.killed_by]
    assert len(named) >= len(mutants.BY_HAND) - 5  # a whole run of mutate.py tells of the others
    for edit in named:
        path, name = edit.killed_by.split("::")
        tree = ast.parse((ROOT / path).read_text())
        tests = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name.split("[")[0] in tests, edit


def test_a_mistake_by_hand_is_found_wherever_its_function_stands(mutants, monkeypatch, tmp_path):
    inner = b"class Price:\n    def of(self):\n        def wide():\n            return 1\n"
    found = [(name, inner[begin:end]) for name, begin, end in mutants.functions_of(inner)]
    assert [name for name, _ in found] == ["Price", "Price.of", "Price.of.wide"]
    assert found[2][1].decode().strip() == "def wide():\n            return 1"
    edit = dataclasses.replace(mutants.BY_HAND[0], function="Price.of", old="1", new="2")
    monkeypatch.setattr(mutants, "BY_HAND", (edit,))
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    (tmp_path / "graphcuts_dp" / "moved").mkdir(parents=True)
    (tmp_path / "graphcuts_dp" / "moved" / "here.py").write_bytes(inner)
    (one,) = mutants.by_hand()
    assert (one.path, inner[one.start : one.stop]) == ("graphcuts_dp/moved/here.py", b"1")
    (tmp_path / "graphcuts_dp" / "twice.py").write_bytes(inner)
    with pytest.raises(ValueError, match="2 functions"):
        mutants.by_hand()


def test_a_call_that_draws_noise_has_its_mutants(mutants):
    source = b"def f(x, rate, source):\n    return x + sample_discrete_laplace(rate, 9, source)\n"
    found = {mutant.text for mutant in mutants.Finder("f.py", source).found}
    assert found == {
        "(x)",
        "__import__('numpy').resize(sample_discrete_laplace(rate, 1, source), 9)",
    }


def test_every_explained_survivor_is_still_in_the_code(candidates):
    entries = {mutant.entry for mutant in candidates}
    lines = (ROOT / "tests" / "mutation_survivors.md").read_text().splitlines()
    listed = [line for line in lines if line.startswith("- `")]
    assert listed
    for line in listed:
        known = [entry for entry in entries if line.startswith(f"{entry}: ")]
        assert known, line
        assert len(line) > len(known[0]) + 20, "no explanation"
