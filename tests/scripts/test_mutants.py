"""The list of mutants: it can be made, each of them compiles, and no explanation is out of date."""

import dataclasses
import importlib.util
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
def chosen(mutants):
    return mutants.select(mutants.candidates(), sample=150, seed=1)


def test_the_chosen_mutants_are_many_and_from_every_folder(mutants, chosen):
    assert len(chosen) >= 250
    assert len({mutant.key for mutant in chosen}) == len(chosen)
    folders = {mutant.path.split("/")[1] for mutant in chosen}
    assert folders >= {"privacy", "release", "interactive", "distinguishers", "distances"}
    kinds = {mutant.kind for mutant in chosen}
    assert {"by hand", "noise", "reuse", "drop", "comparison", "constant"} <= kinds
    assert mutants.select(mutants.candidates(), sample=150, seed=1) == chosen


def test_each_mutant_changes_the_code_and_compiles(chosen):
    for mutant in chosen:
        whole = (ROOT / mutant.path).read_bytes()
        assert whole[mutant.start : mutant.stop].decode() != mutant.text, mutant.key
        changed = whole[: mutant.start] + mutant.text.encode() + whole[mutant.stop :]
        compile(changed, mutant.path, "exec", dont_inherit=True)


def test_every_target_is_there(mutants):
    for pattern in mutants.TARGETS:
        assert list((ROOT / "graphcuts_dp").glob(pattern + ".py")), pattern


def test_every_mutant_by_hand_has_one_place_and_is_chosen(mutants, chosen, monkeypatch):
    found = mutants.by_hand()
    assert len(found) == len(mutants.BY_HAND) >= 10
    assert set(found) <= set(chosen)
    assert all("\n" not in mutant.key + mutant.entry for mutant in found)
    for change in ({"old": "nowhere"}, {"old": "="}):
        edit = dataclasses.replace(mutants.BY_HAND[0], **change)
        monkeypatch.setattr(mutants, "BY_HAND", (edit,))
        with pytest.raises(ValueError, match="has changed"):
            mutants.by_hand()


def test_a_call_that_draws_noise_has_its_mutants(mutants):
    source = b"def f(x, rate, source):\n    return x + sample_discrete_laplace(rate, 9, source)\n"
    found = {mutant.text for mutant in mutants.Finder("f.py", source).found}
    assert found == {
        "(x)",
        "__import__('numpy').resize(sample_discrete_laplace(rate, 1, source), 9)",
    }


def test_every_explained_survivor_is_still_in_the_code(mutants):
    entries = {mutant.entry for mutant in mutants.candidates()}
    lines = (ROOT / "tests" / "mutation_survivors.md").read_text().splitlines()
    listed = [line for line in lines if line.startswith("- `")]
    assert listed
    for line in listed:
        known = [entry for entry in entries if line.startswith(f"{entry}: ")]
        assert known, line
        assert len(line) > len(known[0]) + 20, "no explanation"
