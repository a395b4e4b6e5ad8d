"""A command with a fault while it writes: one line, an exit status, and complete files or none."""

from collections.abc import Callable, Sequence
from pathlib import Path

import command_cases as cases
import faults
import pytest
from command_cases import COMMANDS, Command

EVERY_FAULT = (*faults.ERRORS, *faults.INTERRUPTIONS, faults.READ_ONLY, *faults.DEATHS)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return cases.inputs(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(autouse=True)
def _quick_work():
    with cases.quick_work():
        yield


def check_messages(fault: faults.Fault, command: Command, result: cases.CommandResult) -> bool:
    """Check the exit status and the messages of a command; return whether it reports a problem."""
    assert "Traceback" not in result.err
    problems = [line for line in result.err.splitlines() if line.startswith(("error", "interr"))]
    assert len(problems) <= 1, result.err
    if not command.typed:  # a prompt reports a problem and goes on
        assert len(problems) == (result.status != 0), result.err
    if result.status:
        assert result.status == (130 if fault in faults.INTERRUPTIONS else 2)
        assert result.err.splitlines()[-1] == problems[0]
        assert ".part" not in problems[0] or "the older files and the new ones" in problems[0]
    return bool(problems)


def check_files(
    fault: faults.Fault,
    succeeded: bool,
    folder: Path,
    group: list[str],
    older: dict[str, bytes],
    newer: dict[str, bytes],
) -> None:
    """Check that the files of a group are all older ones or all newer ones.

    After a death or on a read-only disk some may be missing: then the last of the group, the
    receipt, is missing too.
    """
    present = {name: content for name, content in faults.visible(folder).items() if name in group}
    if succeeded:
        assert present == newer
    elif fault in faults.DEATHS or fault is faults.READ_ONLY:
        assert present in (older, newer) or group[-1] not in present
    else:
        assert present in (older, newer)


def sweep(
    command: Command,
    inputs: dict[str, bytes],
    tmp_path: Path,
    faults_at: Callable[[int], Sequence[faults.Fault]],
    *,
    replacing: bool,
) -> int:
    """Run a command with a fault at each call and check what is left; return the number of runs."""
    names = [name for group in command.outputs for name in group]
    older = dict.fromkeys(names, b"older") if replacing else {}
    line = f"{command.line} --force" if replacing else command.line
    work_folders = faults.folders(tmp_path)

    def prepare() -> tuple[Path, Callable[[], cases.CommandResult]]:
        folder = next(work_folders)
        cases.prepare(folder, inputs | older)
        return folder, lambda: cases.call(folder, line, command.typed)

    folder, call = prepare()
    result = call()
    assert result.status == 0, result.err
    written = faults.visible(folder)
    assert set(written) == {*inputs, *names}
    runs = 0
    for fault, folder, result in faults.sweep(prepare, faults_at):
        succeeded = False
        if fault not in faults.DEATHS:
            assert isinstance(result, cases.CommandResult), repr(result)
            succeeded = not check_messages(fault, command, result)
            assert fault is faults.READ_ONLY or not list(folder.glob(".*"))
        for group in command.outputs:
            newer_files = {name: written[name] for name in group}
            older_files = {name: older[name] for name in group if name in older}
            check_files(fault, succeeded, folder, group, older_files, newer_files)
        runs += 1
    return runs


@pytest.mark.thorough
@pytest.mark.parametrize(
    "faults_and_files",
    [
        "one at every fourth call",
        pytest.param("all at each call", marks=pytest.mark.slow),
        pytest.param("all at each call, replacing", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_with_a_fault_reports_it_and_leaves_complete_files_or_none(
    inputs, tmp_path, name, faults_and_files
):
    command = COMMANDS[name]
    if faults_and_files == "one at every fourth call":
        faults_at, minimum = faults.in_turn(EVERY_FAULT, every=4), 2
    else:
        faults_at, minimum = lambda _: EVERY_FAULT, 5 * len(EVERY_FAULT)
    replacing = command.replaces and faults_and_files != "all at each call"
    assert sweep(command, inputs, tmp_path, faults_at, replacing=replacing) >= minimum


_FREE_NOTE = "  (free: it was answered before, or has no pairs)"
SESSIONS = {
    "start": "session start in.csv --store new.db --epsilon 5 --queries 9",
    "ask": "session ask mail.db --from 3",
}


@pytest.mark.thorough
@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_after_a_fault_succeeds_with_the_answer_that_was_shown(
    inputs, tmp_path, name, every
):
    line, work_folders = SESSIONS[name], faults.folders(tmp_path)

    def prepare():
        folder = next(work_folders)
        cases.prepare(folder, inputs)
        return folder, lambda: cases.call(folder, line)

    for fault, folder, first in faults.sweep(prepare, faults.in_turn(EVERY_FAULT, every)):
        second = cases.call(folder, line)
        assert second.status == 0, second.err
        if fault not in faults.DEATHS:
            check_messages(fault, COMMANDS["session run"], first)
            assert fault is faults.READ_ONLY or not list(folder.glob(".*"))
            # An answer that was shown is the same in the second run, where it is free.
            assert first.out in ("", second.out, second.out.replace(_FREE_NOTE, ""))


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
        # Collisions with files that are written beside the output file.
        "release in.csv out.csv --epsilon 9 --store out.csv.json --budget 9",
        "release in.csv out.csv --epsilon 9 --store new.db --vertices out.csv.json",
    ],
)
def test_an_output_that_is_an_input_is_refused_even_with_force(inputs, tmp_path, line):
    cases.prepare(tmp_path / "work", inputs)
    result = cases.call(tmp_path / "work", f"{line} --force")
    assert result.status == 2
    assert "is read or kept by this command; write to another file" in result.err
    assert faults.visible(tmp_path / "work") == inputs
