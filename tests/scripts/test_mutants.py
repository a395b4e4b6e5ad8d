"""Mutants: they are selected from every folder, compile, and their explanations are up to date."""

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
def selected(mutants, candidates):
    return mutants.select(candidates, sample=150, seed=1)


@pytest.mark.thorough
def test_the_selected_mutants_are_many_and_from_every_folder(mutants, candidates, selected):
    assert len(selected) >= 250
    assert len({mutant.key for mutant in selected}) == len(selected)
    folders = {mutant.path.split("/")[1] for mutant in selected}
    assert folders >= {"privacy", "release", "session", "iterative", "distances"}
    kinds = {mutant.kind for mutant in selected}
    assert {"by hand", "noise", "reuse", "drop", "comparison", "constant"} <= kinds
    assert mutants.select(candidates, sample=150, seed=1) == selected


@pytest.mark.thorough
def test_each_mutant_changes_the_code_and_compiles(selected):
    for mutant in selected:
        whole = (ROOT / mutant.path).read_bytes()
        assert whole[mutant.start : mutant.stop].decode() != mutant.text, mutant.key
        compile(mutant.applied(whole), mutant.path, "exec", dont_inherit=True)


@pytest.mark.thorough
def test_the_numbers_of_mutants_are_recorded_for_modules_that_exist(mutants, candidates):
    for folder, pattern in mutants.targets():
        assert list((ROOT / "graphcuts_dp" / folder).glob(pattern)), pattern
    record = json.loads((ROOT / "tests" / "golden" / "mutation_scores.json").read_text())
    targets = {mutant.path for mutant in candidates}
    recorded = {f"graphcuts_dp/{name}.py" for name in record["modules"]}
    assert recorded == targets, "python scripts/mutate.py --record writes them"
    assert all(noticed <= run for noticed, run in record["noticed"].values())


@pytest.mark.thorough
def test_every_mutant_by_hand_has_one_position_and_is_selected(mutants, selected, monkeypatch):
    by_hand = mutants.by_hand()
    assert len(by_hand) == len(mutants.BY_HAND) >= 60
    assert set(by_hand) <= set(selected)
    assert all("\n" not in mutant.key + mutant.entry for mutant in by_hand)
    for change in ({"old": "nowhere"}, {"old": "="}):
        edit = dataclasses.replace(mutants.BY_HAND[0], **change)
        monkeypatch.setattr(mutants, "BY_HAND", (edit,))
        with pytest.raises(ValueError, match="has moved or changed"):
            mutants.by_hand()


@pytest.mark.thorough
def test_every_mistake_by_hand_names_a_test_that_exists(mutants):
    with_test = [edit for edit in mutants.BY_HAND if edit.killed_by]
    assert (
        len(with_test) >= len(mutants.BY_HAND) - 5
    )  # a whole run of mutate.py tells of the others
    for edit in with_test:
        path, name = edit.killed_by.split("::")
        tree = ast.parse((ROOT / path).read_text())
        tests = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name.split("[")[0] in tests, edit


def test_a_mistake_by_hand_is_found_in_whichever_module_has_its_function(
    mutants, monkeypatch, tmp_path
):
    source = b"class Price:\n    def of(self):\n        def wide():\n            return 1\n"
    functions = [(name, source[begin:end]) for name, begin, end in mutants.functions_of(source)]
    assert [name for name, _ in functions] == ["Price", "Price.of", "Price.of.wide"]
    assert functions[2][1].decode().strip() == "def wide():\n            return 1"
    edit = dataclasses.replace(mutants.BY_HAND[0], function="Price.of", old="1", new="2")
    monkeypatch.setattr(mutants, "BY_HAND", (edit,))
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    (tmp_path / "graphcuts_dp" / "moved").mkdir(parents=True)
    (tmp_path / "graphcuts_dp" / "moved" / "here.py").write_bytes(source)
    (mutant,) = mutants.by_hand()
    assert (mutant.path, source[mutant.start : mutant.stop]) == ("graphcuts_dp/moved/here.py", b"1")
    (tmp_path / "graphcuts_dp" / "twice.py").write_bytes(source)
    with pytest.raises(ValueError, match="2 functions"):
        mutants.by_hand()


def test_a_call_that_draws_noise_has_its_mutants(mutants):
    source = b"def f(x, rate, source):\n    return x + sample_discrete_laplace(rate, 9, source)\n"
    texts = {mutant.text for mutant in mutants.Finder("f.py", source).found}
    assert texts == {
        "(x)",
        "__import__('numpy').resize(sample_discrete_laplace(rate, 1, source), 9)",
    }


def test_every_explained_survivor_is_still_in_the_code(candidates):
    entries = {mutant.entry for mutant in candidates}
    lines = (ROOT / "tests" / "mutation_survivors.md").read_text().splitlines()
    explained = [line for line in lines if line.startswith("- `")]
    assert explained
    for line in explained:
        matches = [entry for entry in entries if line.startswith(f"{entry}: ")]
        assert matches, line
        assert len(line) > len(matches[0]) + 20, "no explanation"
