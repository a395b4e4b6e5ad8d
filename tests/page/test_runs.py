"""Runs of the page: a kill at any time leaves a charged result, or a message that says what to do.

A run is a process with a folder; the page reads its state from the folder and the store.
"""

import contextlib
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from filelock import lock_descriptor
from page_cases import MAIL, TRIPS, PageClient, PageProcess, with_paths_in

import graphcuts_dp as gc
from graphcuts_dp.ledger.charges import begin_charge
from graphcuts_dp.page.app import NOT_PRIVATE
from graphcuts_dp.page.products import PRODUCTS
from graphcuts_dp.page.result import fragment
from graphcuts_dp.page.runs import DONE, LOST, REFUSED, RUNNING, STOPPED, PageRun, Runs
from graphcuts_dp.plugins import Cost
from graphcuts_dp.release.usefulness import usefulness_of
from graphcuts_dp.results.bundle import receipt_path

KILLS = 20


def write_plan(folder: Path, **fields: object) -> PageRun:
    """Write the plan of a run named `one`, which has done nothing yet, and return the run."""
    run_folder = folder / "results" / "one" / ".run"
    run_folder.mkdir(parents=True)
    (run_folder / "lock").touch()
    plan = {
        "product": "graph",
        "store": str(folder / "mail.db"),
        "uses": 0,
        "time": "now",
        "expected": {"epsilon": 1.0, "unit_in_words": ""},
        "words": [],
        "source": "",
        "values": {},
    }
    (run_folder / "plan.json").write_text(json.dumps(plan | fields))
    return Runs(folder / "results").find("one")


def charge(folder: Path, *, kind: str = "release", epsilon: float = 1.0) -> None:
    """Charge the store of `write_plan` without a measurement or a result."""
    graph = gc.datasets.load("karate")
    guarantee = gc.PrivacyGuarantee(epsilon=epsilon, neighbours="any one pair")
    store, cost = folder / "mail.db", Cost.of_pure(epsilon)
    begin_charge(store, graph, kind=kind, parameters={}, cost=cost, guarantee=guarantee)


def save_result(run: PageRun) -> None:
    """Write a complete result of a run with an empty receipt."""
    release = gc.release_graph(gc.datasets.load("karate"), epsilon=1.0, fit="none", seed=1)
    release.save(run.folder / "x.edges")
    receipt_path(run.result).write_text("{}")


@pytest.mark.parametrize(
    ("charges", "notes", "has_result", "state", "message"),
    [
        pytest.param([], "", False, STOPPED, "nothing was spent", id="no charge"),
        pytest.param(
            [],
            "note: read\nerror: no such column\n",
            False,
            REFUSED,
            "Nothing was spent",
            id="an error before the charge",
        ),
        pytest.param(
            [{"kind": "flows"}], "", False, STOPPED, "nothing was spent", id="of another kind"
        ),
        pytest.param(
            [{"epsilon": 2.0}], "", False, STOPPED, "nothing was spent", id="of another epsilon"
        ),
        pytest.param([{}], "", False, LOST, "epsilon = 1 is spent", id="a charge"),
        pytest.param(
            [{}],
            "error: the disk is full\n",
            False,
            LOST,
            "costs nothing more",
            id="an error after the charge",
        ),
        pytest.param(
            [{"kind": "flows"}, {}], "", False, LOST, "is spent", id="also one of another kind"
        ),
        pytest.param([{}], "", True, DONE, "", id="a result"),
    ],
)
def test_the_state_of_a_run_without_a_process_follows_from_its_charge_and_its_result(
    charges, notes, has_result, state, message, tmp_path
):
    run = write_plan(tmp_path)
    for options in charges:
        charge(tmp_path, **options)
    (run.folder / ".run" / "notes.txt").write_text(notes)
    if has_result:
        save_result(run)
    run_state = run.state()
    assert run_state["state"] == state
    assert message in run_state["message"]
    assert run_state["errors"] == [line[7:] for line in notes.splitlines() if "error: " in line]
    charge(tmp_path)  # a later charge of somebody else is not the run's
    assert run.state() == run_state


def test_what_was_spent_before_a_run_is_not_its_own(tmp_path):
    charge(tmp_path)
    assert write_plan(tmp_path, uses=1).state()["state"] == STOPPED


def test_a_run_that_was_not_charged_cannot_be_resumed(page, tmp_path):
    write_plan(tmp_path)
    refusal = page.post("resume", run="one", status=422)
    assert "only a run that was charged" in refusal["detail"]


@pytest.fixture
def locked_run(tmp_path):
    """Yield the file of a run's lock, which is held as by the run's process."""
    run = write_plan(tmp_path)
    (run.folder / ".run" / "progress").write_text("0.25 fitting")
    with (run.folder / ".run" / "lock").open("ab") as lock:
        lock_descriptor(lock.fileno())
        yield lock


def test_a_run_is_running_while_a_process_holds_its_lock(page, locked_run):
    run_state = page.post("run", run="one")
    assert (run_state["state"], run_state["done"]) == (RUNNING, 0.25)
    assert run_state["message"] == "fitting"
    locked_run.close()
    assert page.post("run", run="one")["state"] == STOPPED
    assert [past_run["state"] for past_run in page.post("runs")] == [STOPPED]


@pytest.mark.usefixtures("locked_run")
def test_no_second_run_of_an_account_starts_while_one_is_running(page, tmp_path):
    (tmp_path / "mail.csv").write_text("from,to\na,b\n")
    (tmp_path / "staff.txt").write_text("a\nb\nc\n")
    (tmp_path / "staff.csv").write_text("p,d\na,1\nb,1\nc,2\n")
    values = with_paths_in(MAIL, tmp_path) | {"dry-run": "2", "epsilon": "9"}
    form = {"product": "graph", "values": values, "confirmed": 9}
    refusal = page.post("start", **form, source=str(tmp_path / "mail.csv"), status=422)
    assert "at work" in refusal["detail"]
    refusal = page.post("start", **form, source="", status=422)
    assert "private file" in refusal["detail"]


def test_folders_that_are_no_runs_are_not_listed(page, tmp_path):
    write_plan(tmp_path)
    (tmp_path / "results" / "data").mkdir()
    (tmp_path / "results" / "two" / ".run").mkdir(parents=True)
    assert [past_run["run"] for past_run in page.post("runs")] == ["one"]


def start_run(page: PageClient, product: str, values: dict[str, str], source: Path) -> str:
    """Confirm the epsilon of the preview and start a run; return its name."""
    form = {"product": product, "values": values, "source": str(source)}
    epsilon = page.post("preview", **form)["epsilon"]
    return page.post("start", **form, confirmed=epsilon)["run"]


@pytest.mark.slow
def test_the_command_of_a_run_writes_the_same_files_and_its_notebook_reads_them(
    page, trips, tmp_path
):
    values = with_paths_in(TRIPS, tmp_path) | {"budget.epsilon": "2", "plot": "table.png"}
    run = start_run(page, "table", values, trips)
    run_state = page.wait_for(run)
    assert run_state["state"] == DONE
    assert "± " in run_state["html"]
    command_folder = tmp_path / "command"
    command_folder.mkdir()
    program, *arguments = shlex.split(run_state["command"])
    assert program == "graphcuts-dp"
    command = [sys.executable, "-m", "graphcuts_dp", *arguments]
    subprocess.run(command, cwd=command_folder, check=True, capture_output=True)
    assert [file for file in run_state["files"] if not (command_folder / file).exists()] == []
    store = tmp_path / "results" / "trips.db"
    assert gc.store_status(store).epsilon == 2.0
    # The notebook shows the result in its own folder, and names no folder of this machine.
    cells = json.loads(page.file(run, "notebook.ipynb"))["cells"]
    code = "\n\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
    assert str(tmp_path) not in json.dumps(cells)
    notebook = [sys.executable, "-c", code]
    subprocess.run(notebook, cwd=tmp_path / "results" / run, check=True, capture_output=True)
    empty_folder = tmp_path / "empty"
    empty_folder.mkdir()
    process = subprocess.run(
        notebook, cwd=empty_folder, check=False, capture_output=True, text=True
    )
    assert "`graphcuts-dp resume trips.db` writes it again" in process.stderr
    # Both runs are charged, so a third one is refused.
    form = {"product": "table", "values": values, "source": str(trips)}
    budget = page.post("preview", **form)["budget"]
    assert (budget["used"], budget["left"], budget["total"]) == (2.0, 0.0, 2.0)
    refusal = page.post("start", **form, confirmed=1, status=422)
    assert "used up" in refusal["detail"]
    assert gc.store_status(store).epsilon == 2.0


def process_in(folder: Path) -> int | None:
    """Return the pid of the process whose working directory is a folder; None if there is none."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink() == folder:
                return int(process.name)
    return None


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="finds processes in /proc")
def test_kill_9_at_any_time_leaves_a_charged_result_or_a_message(mail, tmp_path):
    folder = tmp_path / "results"
    values = with_paths_in(MAIL, tmp_path) | {"fit": "maximum-entropy"}
    store = folder / "mail.db"
    rng, states = random.Random(1), []
    page = PageProcess(folder)
    start_time = time.monotonic()
    page.client.wait_for(start_run(page.client, "graph", values, mail))
    usual_duration = time.monotonic() - start_time
    for kill in range(KILLS):
        uses_before = len(gc.store_status(store).uses)
        run = start_run(page.client, "graph", values, mail)
        if kill % 2:
            time.sleep(rng.uniform(0, 1.1) * usual_duration)
        else:  # shortly after the charge, where a result can be lost
            modified = store.stat().st_mtime_ns
            deadline = time.monotonic() + 60
            while store.stat().st_mtime_ns == modified and time.monotonic() < deadline:
                time.sleep(0.002)
            time.sleep(rng.uniform(0, 0.05) * usual_duration)
        if kill % 3 != 1:
            pid = process_in(folder / run)
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
        if kill % 3:
            page.end(signal.SIGKILL)
            page = PageProcess(folder)
        run_state = page.client.wait_for(run)
        new_uses = gc.store_status(store).uses[uses_before:]
        has_result = receipt_path(folder / run / "synthetic.graphml").exists()
        assert len(new_uses) <= 1
        assert not has_result or new_uses, "a result without a charge"
        assert run_state["state"] == (DONE if has_result else LOST if new_uses else STOPPED)
        messages = {DONE: "", LOST: "is spent", STOPPED: "nothing was spent"}
        assert messages[run_state["state"]] in run_state["message"]
        if run_state["state"] == LOST:
            assert page.client.post("resume", run=run)["run"] == run
            assert page.client.wait_for(run)["state"] == DONE
            assert len(gc.store_status(store).uses) == uses_before + 1
        if new_uses:
            gc.Release.load(folder / run / "synthetic.graphml")
        states.append(run_state["state"])
    page.end()
    assert {LOST, STOPPED} & set(states)
    assert len(states) == KILLS


@pytest.mark.parametrize(
    ("is_charged", "has_result", "unconfirmed_deletes", "confirmed_deletes"),
    [
        pytest.param(False, False, True, True, id="run without a charge"),
        pytest.param(True, False, False, False, id="charged run without a result"),
        pytest.param(True, True, False, True, id="run with a result"),
    ],
)
def test_an_uploaded_copy_is_not_deleted_while_a_run_needs_it(
    page, tmp_path, is_charged, has_result, unconfirmed_deletes, confirmed_deletes
):
    copy = tmp_path / "results" / "data" / "1" / "mail.csv"
    copy.parent.mkdir(parents=True)
    run = write_plan(tmp_path, source=str(copy))
    if is_charged:
        charge(tmp_path)
    if has_result:
        save_result(run)
    for options, deleted in (
        ({}, unconfirmed_deletes),
        ({"confirmed": True}, confirmed_deletes),
    ):
        copy.parent.mkdir(exist_ok=True)
        copy.write_text("")
        assert page.post("forget", path=str(copy), **options) == {"deleted": deleted}
        assert copy.exists() is not deleted
    (past_run,) = page.post("runs")
    assert past_run["epsilon"] == float(is_charged)


def test_a_refused_run_spends_nothing_and_names_the_step_to_change(page, tmp_path):
    run = write_plan(tmp_path, product="table")
    notes = "error: trips.csv: line 3: no user; leave such rows out with --columns on-bad=skip\n"
    (run.folder / ".run" / "notes.txt").write_text(notes)
    run_state = page.post("run", run="one")
    assert (run_state["state"], run_state["step"]) == (REFUSED, "check")
    assert run_state["has_reasons"]
    assert "line 3" not in page.replies[-1].text
    (reason,) = page.post("reasons", run="one")["reasons"]
    assert reason.endswith("\u201cRows that cannot be used\u201d: leave them out")
    assert "line 3" in reason
    assert NOT_PRIVATE in page.replies[-1].headers
    (past_run,) = page.post("runs")
    assert (past_run["state"], past_run["epsilon"]) == (REFUSED, 0)


@pytest.mark.thorough
def test_a_simulated_network_is_described_in_plain_words_before_its_details(tmp_path):
    run = write_plan(tmp_path)
    network = gc.release_graph(gc.datasets.load("karate"), epsilon=1.0, seed=1)
    network.save(run.result)
    questions = usefulness_of(network).to_dict()
    (run.folder / ".run" / "report.json").write_text(json.dumps({"good_for": questions}))
    description, _, details = fragment(run).partition("<details>")
    assert "34 members" in description
    assert f"{len(network.graph.rows):,} simulated links" in description
    assert "one place with all others" in description
    for word in ("vertex", "vertices", "maximum-entropy", "neighbours", "<svg", "<img"):
        assert word not in description
    assert "vertices" in details


@pytest.mark.usefixtures("mail")
def test_a_forecast_of_a_network_says_that_the_result_has_a_proven_bound(tmp_path):
    errors = PRODUCTS["graph"].preview(with_paths_in(MAIL, tmp_path))["errors"]
    labels = [error["of"] for error in errors]
    assert any("the result states its own bound, which is proven" in label for label in labels)
    assert not any("no proof" in label for label in labels)
