"""Runs: whatever is killed, and when, there is a result that is paid for, or a message."""

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
from page_cases import MAIL, TRIPS, PageProcess, placed

import graphcuts_dp as gc
from graphcuts_dp.ledger.charges import begin_charge
from graphcuts_dp.page.app import NOT_PRIVATE
from graphcuts_dp.page.products import PRODUCTS
from graphcuts_dp.page.result import fragment
from graphcuts_dp.page.runs import DONE, LOST, REFUSED, RUNNING, STOPPED, Runs
from graphcuts_dp.plugins import Cost
from graphcuts_dp.release.usefulness import usefulness_of
from graphcuts_dp.results.bundle import receipt_path

KILLS = 20


def planned(folder, **more):
    """A run that has its plan, and nothing else yet."""
    own = folder / "results" / "one" / ".run"
    own.mkdir(parents=True)
    (own / "lock").touch()
    plan = {"product": "graph", "store": str(folder / "mail.db"), "uses": 0, "time": "now"}
    plan |= {
        "expected": {"epsilon": 1.0, "unit_in_words": ""},
        "words": [],
        "source": "",
        "values": {},
    } | more
    (own / "plan.json").write_text(json.dumps(plan))
    return Runs(folder / "results").find("one")


def spend(folder, *, kind="release", epsilon=1.0):
    """A charge that nothing follows."""
    graph = gc.datasets.load("karate")
    guarantee = gc.PrivacyGuarantee(epsilon=epsilon, neighbours="any one pair")
    store, cost = folder / "mail.db", Cost.of_pure(epsilon)
    begin_charge(store, graph, kind=kind, parameters={}, cost=cost, guarantee=guarantee)


def saved(run):
    """A result, whole."""
    made = gc.release_graph(gc.datasets.load("karate"), epsilon=1.0, fit="none", seed=1)
    made.save(run.folder / "x.edges")
    receipt_path(run.result).write_text("{}")


@pytest.mark.parametrize(
    ("spent", "notes", "made", "state", "words"),
    [
        ([], "", False, STOPPED, "nothing was spent"),
        ([], "note: read\nerror: no such column\n", False, REFUSED, "Nothing was spent"),
        ([{"kind": "flows"}], "", False, STOPPED, "nothing was spent"),
        ([{"epsilon": 2.0}], "", False, STOPPED, "nothing was spent"),
        ([{}], "", False, LOST, "epsilon = 1 is spent"),
        ([{}], "error: the disk is full\n", False, LOST, "costs nothing more"),
        ([{"kind": "flows"}, {}], "", False, LOST, "is spent"),
        ([{}], "", True, DONE, ""),
    ],
)
def test_what_a_run_is_when_its_process_is_gone(spent, notes, made, state, words, tmp_path):
    run = planned(tmp_path)
    for use in spent:
        spend(tmp_path, **use)
    (run.folder / ".run" / "notes.txt").write_text(notes)
    if made:
        saved(run)
    told = run.state()
    assert told["state"] == state
    assert words in told["message"]
    assert told["errors"] == [line[7:] for line in notes.splitlines() if "error: " in line]
    spend(tmp_path)  # by somebody else, later: it is not taken for that of the run
    assert run.state() == told


def test_what_was_spent_before_a_run_is_not_its_own(tmp_path):
    spend(tmp_path)
    assert planned(tmp_path, uses=1).state()["state"] == STOPPED


def test_only_a_run_without_its_result_is_resumed(page, tmp_path):
    planned(tmp_path)
    refusal = page.post("resume", run="one", status=422)
    assert "only a run that was charged" in refusal["detail"]


def test_a_run_is_at_work_while_a_process_holds_its_lock(page, tmp_path):
    run = planned(tmp_path)
    (run.folder / ".run" / "progress").write_text("0.25 fitting")
    with (run.folder / ".run" / "lock").open("ab") as lock:
        lock_descriptor(lock.fileno())
        told = page.post("run", run="one")
        assert (told["state"], told["done"], told["message"]) == (RUNNING, 0.25, "fitting")
        values = placed(MAIL, tmp_path)
        (tmp_path / "mail.csv").write_text("from,to\na,b\n")
        (tmp_path / "staff.txt").write_text("a\nb\nc\n")
        (tmp_path / "staff.csv").write_text("p,d\na,1\nb,1\nc,2\n")
        begin = {"product": "graph", "values": values | {"dry-run": "2", "epsilon": "9"}}
        begin["confirmed"] = 9
        refusal = page.post("start", **begin, source=str(tmp_path / "mail.csv"), status=422)
        assert "at work" in refusal["detail"]
        refusal = page.post("start", **begin, source="", status=422)
        assert "private file" in refusal["detail"]
    assert page.post("run", run="one")["state"] == STOPPED
    assert [each["state"] for each in page.post("runs")] == [STOPPED]


def test_a_page_goes_on_with_what_is_in_its_folder(page, tmp_path):
    """Something else in the folder is passed over."""
    planned(tmp_path)
    (tmp_path / "results" / "data").mkdir()
    (tmp_path / "results" / "two" / ".run").mkdir(parents=True)
    assert [each["run"] for each in page.post("runs")] == ["one"]


def started(page, name, values, source):
    about = {"product": name, "values": values, "source": str(source)}
    confirmed = page.post("preview", **about)["epsilon"]
    return page.post("start", **about, confirmed=confirmed)["run"]


@pytest.mark.slow
def test_the_command_and_the_notebook_do_the_same_again(page, trips, tmp_path):
    values = placed(TRIPS, tmp_path) | {"budget.epsilon": "2", "plot": "table.png"}
    run = started(page, "table", values, trips)
    told = page.end_of(run)
    assert told["state"] == DONE
    assert "± " in told["html"]
    again = tmp_path / "again"
    again.mkdir()
    words = shlex.split(told["command"])
    assert words[0] == "graphcuts-dp"
    line = [sys.executable, "-m", "graphcuts_dp", *words[1:]]
    subprocess.run(line, cwd=again, check=True, capture_output=True)
    made = {file: (again / file).exists() for file in told["files"]}
    assert all(made.values()), made
    store = tmp_path / "results" / "trips.db"
    assert gc.store_status(store).epsilon == 2.0
    # The notebook shows the result that lies beside it, and names no place of this machine.
    cells = json.loads(page.file(run, "notebook.ipynb"))["cells"]
    code = "\n\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
    assert str(tmp_path) not in json.dumps(cells)
    call = [sys.executable, "-c", code]
    subprocess.run(call, cwd=tmp_path / "results" / run, check=True, capture_output=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ended = subprocess.run(call, cwd=elsewhere, check=False, capture_output=True, text=True)
    assert "`graphcuts-dp resume trips.db` writes it again" in ended.stderr
    # A second release of the same data says what is left.
    page.post("runs")
    about = {"product": "table", "values": values, "source": str(trips)}
    budget = page.post("preview", **about)["budget"]
    assert (budget["used"], budget["left"], budget["total"]) == (2.0, 0.0, 2.0)
    refusal = page.post("start", **about, confirmed=1, status=422)
    assert "used up" in refusal["detail"]
    assert gc.store_status(store).epsilon == 2.0


def process_in(folder):
    """The process whose folder this is, or None."""
    for each in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (each / "cwd").readlink() == folder:
                return int(each.name)
    return None


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="finds processes in /proc")
def test_kill_9_at_any_time_leaves_a_result_that_is_paid_for_or_a_message(mail, tmp_path):
    folder, values = tmp_path / "results", placed(MAIL, tmp_path) | {"fit": "maximum-entropy"}
    store = folder / "mail.db"
    drawn, states = random.Random(1), []
    page = PageProcess(folder)
    began = time.monotonic()
    page.asked.end_of(started(page.asked, "graph", values, mail))
    usual = time.monotonic() - began
    for turn in range(KILLS):
        before = gc.store_status(store).uses
        run = started(page.asked, "graph", values, mail)
        if turn % 2:
            time.sleep(drawn.uniform(0, 1.1) * usual)
        else:  # once it is charged
            touched = store.stat().st_mtime_ns
            deadline = time.monotonic() + 60
            while store.stat().st_mtime_ns == touched and time.monotonic() < deadline:
                time.sleep(0.002)
            time.sleep(drawn.uniform(0, 0.05) * usual)
        if turn % 3 != 1:
            child = process_in(folder / run)
            if child is not None:
                os.kill(child, signal.SIGKILL)
        if turn % 3:
            page.end(signal.SIGKILL)
            page = PageProcess(folder)
        told = page.asked.end_of(run)
        uses = gc.store_status(store).uses[len(before) :]
        made = receipt_path(folder / run / "synthetic.graphml").exists()
        assert len(uses) <= 1
        assert made <= bool(uses), "a result without a charge"
        assert told["state"] == (DONE if made else LOST if uses else STOPPED), told
        words = {DONE: "", LOST: "is spent", STOPPED: "nothing was spent"}
        assert words[told["state"]] in told["message"]
        if told["state"] == LOST:
            assert page.asked.post("resume", run=run)["run"] == run
            assert page.asked.end_of(run)["state"] == DONE
            assert len(gc.store_status(store).uses) == len(before) + 1
        if uses:
            gc.Release.load(folder / run / "synthetic.graphml")
        states.append(told["state"])
    page.end()
    assert {LOST, STOPPED} & set(states)
    assert len(states) == KILLS


@pytest.mark.parametrize(
    ("spent", "made", "replaced", "confirmed", "used"),
    [
        (False, False, True, True, 0.0),  # nothing came out
        (True, False, False, False, 1.0),  # charged: needed to finish it
        (True, True, False, True, 1.0),  # done: only a confirmed deletion
    ],
)
def test_a_copy_stays_while_a_run_needs_it(page, tmp_path, spent, made, replaced, confirmed, used):
    copy = tmp_path / "results" / "data" / "1" / "mail.csv"
    copy.parent.mkdir(parents=True)
    run = planned(tmp_path, source=str(copy))
    if spent:
        spend(tmp_path)
    if made:
        saved(run)
    for more, deleted in (({}, replaced), ({"confirmed": True}, confirmed)):
        copy.parent.mkdir(exist_ok=True)
        copy.write_text("")
        assert page.post("forget", path=str(copy), **more) == {"deleted": deleted}
        assert copy.exists() is not deleted
    (listed,) = page.post("runs")
    assert listed["epsilon"] == used


def test_a_refused_run_uses_nothing_up_and_leads_to_the_step_to_change(page, tmp_path):
    run = planned(tmp_path, product="table")
    notes = "error: trips.csv: line 3: no user; leave such rows out with --columns on-bad=skip\n"
    (run.folder / ".run" / "notes.txt").write_text(notes)
    told = page.post("run", run="one")
    assert (told["state"], told["step"], told["has_reasons"]) == (REFUSED, "check", True)
    assert "line 3" not in page.replies[-1].text
    (reason,) = page.post("reasons", run="one")["reasons"]
    assert reason.endswith("\u201cRows that cannot be used\u201d: leave them out")
    assert "line 3" in reason
    assert NOT_PRIVATE in page.replies[-1].headers
    (listed,) = page.post("runs")
    assert (listed["state"], listed["epsilon"]) == (REFUSED, 0)


def test_a_simulated_network_is_described_in_plain_words_before_its_details(tmp_path):
    run = planned(tmp_path)
    network = gc.release_graph(gc.datasets.load("karate"), epsilon=1.0, seed=1)
    network.save(run.result)
    questions = usefulness_of(network).to_dict()
    (run.folder / ".run" / "report.json").write_text(json.dumps({"good_for": questions}))
    told = fragment(run)
    plain, _, details = told.partition("<details>")
    assert "34 members" in plain
    assert f"{len(network.graph.rows):,} simulated links" in plain
    assert "one place with all others" in plain
    for word in ("vertex", "vertices", "maximum-entropy", "neighbours", "<svg", "<img"):
        assert word not in plain
    assert "vertices" in details


def test_a_forecast_does_not_deny_a_proof_that_the_result_has(mail, tmp_path):
    errors = PRODUCTS["graph"].preview(placed(MAIL, tmp_path))["errors"]
    assert any(
        "the result states its own bound, which is proven" in error["of"] for error in errors
    )
    assert not any("no proof" in error["of"] for error in errors)
    assert mail.exists()
