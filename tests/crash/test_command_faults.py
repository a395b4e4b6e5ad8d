"""Whatever goes wrong while a command writes: one line, a status, and whole files or none."""

import command_cases as cases
import faults
import pytest
from command_cases import COMMANDS

ALL = (*faults.ERRORS, *faults.INTERRUPTIONS, faults.READ_ONLY, *faults.DEATHS)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return cases.inputs(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(autouse=True)
def _quick_work():
    with cases.quick_work():
        yield


def judge_words(trouble, command, ended):
    """What a user reads, and what a script sees; returns whether it is about a problem."""
    assert "Traceback" not in ended.err
    problems = [line for line in ended.err.splitlines() if line.startswith(("error", "interr"))]
    assert len(problems) <= 1, ended.err
    if not command.typed:  # a prompt says what is wrong and goes on
        assert len(problems) == (ended.status != 0), ended.err
    if ended.status:
        assert ended.status == (130 if trouble in faults.INTERRUPTIONS else 2)
        assert ended.err.splitlines()[-1] == problems[0]
        assert ".part" not in problems[0] or "the older files and the new ones" in problems[0]
    return bool(problems)


def judge_files(trouble, well, folder, group, older, newer):
    """A group of files is the older one, the newer one, or was never there."""
    found = {name: text for name, text in faults.visible(folder).items() if name in group}
    if well:
        assert found == newer
    elif trouble in faults.DEATHS or trouble is faults.READ_ONLY:
        assert found in (older, newer) or group[-1] not in found
    else:
        assert found in (older, newer)


def sweep(command, inputs, tmp_path, pick, *, replacing):
    """Strike a command at each call, and judge what is left; returns how often."""
    names = [name for group in command.outputs for name in group]
    older = dict.fromkeys(names, b"older") if replacing else {}
    line = f"{command.line} --force" if replacing else command.line
    places = faults.folders(tmp_path)

    def fresh():
        folder = next(places)
        cases.prepare(folder, inputs | older)
        return folder, lambda: cases.call(folder, line, command.typed)

    folder, act = fresh()
    ended = act()
    assert ended.status == 0, ended.err
    written = faults.visible(folder)
    assert set(written) == {*inputs, *names}
    struck = 0
    for trouble, folder, result in faults.sweep(fresh, pick):
        well = False
        if trouble not in faults.DEATHS:
            assert isinstance(result, cases.Ended), repr(result)
            well = not judge_words(trouble, command, result)
            assert trouble is faults.READ_ONLY or not list(folder.glob(".*"))
        for group in command.outputs:
            new = {name: written[name] for name in group}
            old = {name: older[name] for name in group if name in older}
            judge_files(trouble, well, folder, group, old, new)
        struck += 1
    return struck


EVERY = pytest.param("every", marks=pytest.mark.slow)
EVERY_AND_REPLACING = pytest.param("every, replacing", marks=pytest.mark.slow)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("how", ["every fourth", EVERY, EVERY_AND_REPLACING])
@pytest.mark.parametrize("name", COMMANDS)
def test_one_trouble_at_every_fourth_call_or_every_trouble_at_each(inputs, tmp_path, name, how):
    command = COMMANDS[name]
    one = how == "every fourth"
    pick, least = (faults.one_of(ALL, every=4), 2) if one else (lambda _: ALL, 5 * len(ALL))
    replacing = command.replaces and how != "every"
    assert sweep(command, inputs, tmp_path, pick, replacing=replacing) >= least


_FREE = "  (free: it was answered before, or has no pairs)"
SESSIONS = {
    "start": "session start in.csv --store new.db --epsilon 5 --queries 9",
    "ask": "session ask mail.db --from 3",
}


@pytest.mark.thorough
@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_goes_on_after_trouble_at_each_call(inputs, tmp_path, name, every):
    line, places = SESSIONS[name], faults.folders(tmp_path)

    def fresh():
        folder = next(places)
        cases.prepare(folder, inputs)
        return folder, lambda: cases.call(folder, line)

    for trouble, folder, first in faults.sweep(fresh, faults.one_of(ALL, every)):
        again = cases.call(folder, line)
        assert again.status == 0, again.err
        if trouble not in faults.DEATHS:
            judge_words(trouble, COMMANDS["session run"], first)
            assert trouble is faults.READ_ONLY or not list(folder.glob(".*"))
            # What was shown once is shown again, as an answer that is free now.
            assert first.out in ("", again.out, again.out.replace(_FREE, ""))


@pytest.mark.parametrize(
    "line",
    [
        "release in.csv in.csv --epsilon 1",
        "distances map.csv people.csv --output people.csv --epsilon 1",
        "evaluate in.csv in.csv --plot in.csv",
        "evaluate release in.csv g.edges.gz --plot ./g.edges.gz",
        "session run mail.db q.jsonl -o mail.db",
        "session run mail.db q.jsonl -o q.jsonl",
        "session export mail.db -o mail.db",
        # Files that are written beside the one that is named.
        "release in.csv out.csv --epsilon 9 --store out.csv.json --budget 9",
        "release in.csv out.csv --epsilon 9 --store new.db --vertices out.csv.json",
    ],
)
def test_what_is_read_is_never_written_over(inputs, tmp_path, line):
    cases.prepare(tmp_path / "work", inputs)
    ended = cases.call(tmp_path / "work", f"{line} --force")
    assert ended.status == 2
    assert "is read or kept by this command; write to another file" in ended.err
    assert faults.visible(tmp_path / "work") == inputs
