"""The benchmark's runs: what a method may do wrong, files that go on after any end, ways in."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import FileFormatError, ParameterError
from scripts.benchmark import worker
from scripts.benchmark.base import Contender, Submission
from scripts.benchmark.contenders.table import CONTENDERS
from scripts.benchmark.entering import claiming, is_audited, load_contender
from scripts.benchmark.runner import (
    DELTA,
    EPSILONS,
    QUICK_CONTENDERS,
    SEEDS,
    BenchmarkPlan,
    run_benchmark,
    seed_of,
)
from scripts.benchmark.runs import (
    BenchmarkRun,
    open_runs,
    read_runs,
    write_table,
)
from scripts.benchmark.worker import FAILED, MADE, MEASURED, READY, Job

ROOT = Path(__file__).resolve().parents[2]
METHODS = '''
import os
import time

import numpy as np

from graphcuts_dp import PrivacyGuarantee
from scripts.benchmark.base import Contender, Submission


def zeros(graph, *, epsilon, delta, groups, seed):
    return np.zeros(graph.shape)


class Halves:
    """A class whose objects are called."""

    def __call__(self, graph, *, epsilon, delta, groups, seed):
        return graph.dense() / 2


def raises(graph, *, epsilon, delta, groups, seed):
    raise ValueError("not\\ntoday")


def dies(graph, *, epsilon, delta, groups, seed):
    os._exit(3)


def sleeps(graph, *, epsilon, delta, groups, seed):
    while True:
        time.sleep(60)


def wrong_shape(graph, *, epsilon, delta, groups, seed):
    return np.zeros((2, 2))


def greedy(graph, *, epsilon, delta, groups, seed):
    guarantee = PrivacyGuarantee(epsilon=2 * epsilon, neighbours="one pair")
    return Submission(estimate=np.zeros(graph.shape), guarantee=guarantee)


def loose(graph, *, epsilon, delta, groups, seed):
    guarantee = PrivacyGuarantee(epsilon=epsilon, delta=0.1, neighbours="one pair")
    return Submission(estimate=np.zeros(graph.shape), guarantee=guarantee)


NEEDY = Contender(name="needy", method=zeros, source="a test", needs_delta=True)
NAMED = Contender(name="named", method=zeros, source="a test")
OURS = Contender(name="ours", method=zeros, source="a test")
NUMBER = 3
'''


@pytest.fixture
def methods(tmp_path, monkeypatch):
    """A file with methods in the working directory, as a user has one."""
    (tmp_path / "my_methods.py").write_text(METHODS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("my_methods", None)
    yield tmp_path
    sys.modules.pop("my_methods", None)


def run_of(**fields):
    known = {
        "contender": "ours", "source": "this package", "graph": "karate", "epsilon": 1.0,
        "delta": 0.0, "seed": 0, "claimed_epsilon": 1.0, "claimed_delta": 0.0,
        "claim_holds": True, "audited": True, "failure": "",
        "errors": {"worst cut proven": 0.25, "seconds": 1.5}, "versions": "1",
    }  # fmt: skip
    return BenchmarkRun(**(known | fields))


def told(spec, folder, *, graph="karate", epsilon=1.0, warmed=("all",)):
    """The messages of a worker, in this process."""
    job = Job(contender=spec, folder=str(folder), graph=graph, epsilon=epsilon, delta=0.0, seed=1)
    return list(worker.answers(job, {}, {spec} if warmed else set()))


def test_a_worker_tells_what_a_method_claims_and_its_errors(methods):
    ready, made, measured = told("my_methods:Halves", methods)
    assert ready == (READY,)
    assert made[0] == MADE
    assert (made[1]["epsilon"], made[1]["delta"]) == (1.0, 0.0)
    assert made[1]["seconds"] >= 0
    assert measured[0] == MEASURED
    # Half of every weight is missing, whatever the cut.
    for name in ("worst cut found", "worst cut proven", "group cuts", "s-t cuts"):
        assert measured[1][name] == pytest.approx(0.5), name
    assert measured[1]["modularity"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raises", "ValueError: not today"),
        ("wrong_shape", "shape"),
        ("greedy", "claims epsilon = 2, more than the 1 given"),
        ("loose", "claims delta = 0.1, more than the 0 given"),
    ],
)
@pytest.mark.parametrize("warmed", [True, False])
def test_what_goes_wrong_is_told_in_one_line(name, reason, warmed, methods):
    *_, (what, line) = told(f"my_methods:{name}", methods, warmed=warmed)
    assert what == FAILED
    assert reason in line
    assert "\n" not in line


def test_memory_is_that_of_the_method(methods):
    if sys.platform != "linux":
        pytest.skip("told by the kernel of Linux")
    before = worker.start_of_peak()
    assert before is None or before > 10
    _, (_, facts), _ = told("my_methods:zeros", methods)
    assert facts.get("memory", 0.0) >= 0.0


def test_a_process_that_dies_or_hangs_is_a_run_that_failed(methods):
    """A file is gone on from: what it holds is not run again."""
    path, said = methods / "runs.jsonl", []
    plan = BenchmarkPlan.of(
        graphs=["karate"], contenders=["empty-graph"], added=["my_methods:dies"],
        epsilons=[1.0], seeds=1,
    )  # fmt: skip
    runs = run_benchmark(plan, path, progress=lambda share, _: said.append(share))
    assert {run.contender: run.failure for run in runs} == {
        "empty-graph": "",
        "dies": "the process died, status 3",
    }
    (empty,) = (run for run in runs if run.contender == "empty-graph")
    assert empty.claimed_epsilon == 0.0
    assert (empty.audited, runs[1].audited) == (True, False)
    assert empty.errors["worst cut proven"] == 1.0
    assert "graphcuts_dp" in empty.versions
    assert said == [0.5, 1.0]
    longer = replace(plan, contenders=(*plan.contenders, "my_methods:sleeps"))
    again = run_benchmark(longer, path, seconds=0.2)
    assert again[:2] == runs
    assert [run.failure for run in again[2:]] == ["the method took more than 0.2 seconds"]
    assert read_runs(path) == again


KILLED = """
import sys
from scripts.benchmark.runner import BenchmarkPlan, run_benchmark
if __name__ == "__main__":
    plan = BenchmarkPlan.of(graphs=["karate"], contenders=["empty-graph"], epsilons=[1.0], seeds=40)
    run_benchmark(plan, sys.argv[1])
"""


def test_a_benchmark_that_is_killed_loses_the_run_in_hand_at_most(tmp_path):
    path, script = tmp_path / "runs.jsonl", tmp_path / "killed.py"
    script.write_text(KILLED)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), str(path)]
    first = subprocess.Popen(command, env=environment)
    while first.poll() is None and not (path.is_file() and path.read_bytes().count(b"\n") > 3):
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = read_runs(path)
    assert len(kept) >= 3
    with path.open("ab") as file:
        file.write(b'{"contender": "emp')
    subprocess.run(command, env=environment, check=True)  # the lock went with the process
    runs = read_runs(path)
    assert runs[: len(kept)] == kept
    assert sorted(run.seed for run in runs) == list(range(40))


def test_a_file_of_runs_goes_on_after_half_a_line(tmp_path):
    path = tmp_path / "runs.jsonl"
    with open_runs(path) as file:
        assert file.runs == ()
        file.append(run_of())
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"contender": "ours", "sour')
    assert read_runs(path) == [run_of()]
    with open_runs(path) as file:
        assert file.runs == (run_of(),)
        file.append(run_of(seed=1))
    assert path.read_bytes().startswith(whole)
    assert [run.seed for run in read_runs(path)] == [0, 1]


@pytest.mark.parametrize("cut", [0, 5, 40])
def test_a_file_that_was_hardly_begun_is_begun_again(cut, tmp_path):
    path = tmp_path / "runs.jsonl"
    with open_runs(path):
        pass
    path.write_bytes(path.read_bytes()[:cut])
    with open_runs(path) as file:
        file.append(run_of())
    assert read_runs(path) == [run_of()]


def test_two_benchmarks_do_not_write_to_one_file(tmp_path):
    path = tmp_path / "runs.jsonl"
    with open_runs(path), pytest.raises(FileFormatError, match="another benchmark"):
        open_runs(path).__enter__()


@pytest.mark.parametrize(
    "content",
    [b"my thesis", b"my thesis\nlines\n", b'{"format": "other"}\n',
     b'{"format": "graphcuts_dp benchmark", "version": 1}\n{"contender": 1}\n'],
)  # fmt: skip
def test_other_files_are_left_alone(content, tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"runs\.jsonl"):
        open_runs(path).__enter__()
    assert path.read_bytes() == content
    with pytest.raises(FileFormatError):
        read_runs(path)


def test_places_that_cannot_be_written_or_read(tmp_path):
    with pytest.raises(FileFormatError, match="cannot write"):
        open_runs(tmp_path / "none" / "runs.jsonl").__enter__()
    with pytest.raises(FileFormatError, match="cannot read"):
        read_runs(tmp_path / "none.jsonl")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a table")[:-4])
    with pytest.raises(FileFormatError, match="cannot read"):
        read_runs(tmp_path / "t.csv.gz")


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_table_holds_all_runs_in_six_digits(ending, tmp_path):
    path = tmp_path / f"runs.{ending}"
    runs = [
        run_of(seed=1, errors={"worst cut proven": 1 / 3}),
        run_of(claimed_epsilon=None, claimed_delta=None, failure='it said "a, b"', errors={}),
        run_of(contender="mine", audited=False, claim_holds=False),
    ]
    write_table(runs, path)
    first = path.read_bytes()
    write_table(reversed(runs), path)
    assert path.read_bytes() == first
    mine, failed, third = read_runs(path)
    assert mine == runs[2]
    assert failed == runs[1]
    assert third == replace(runs[0], errors={"worst cut proven": 0.333333})
    path.write_bytes(gzip.compress(b"a,b\n") if ending.endswith("gz") else b"a,b\n")
    with pytest.raises(FileFormatError, match="no table"):
        read_runs(path)


def test_a_plan_runs_each_contender_where_it_can_be_run():
    plan = BenchmarkPlan.of(graphs=["karate", "davis", "counts", "blocks-100000"])
    assert (plan.epsilons, plan.seeds) == (EPSILONS, SEEDS)
    assert plan.contenders == tuple(CONTENDERS)
    pairs = {(known.contender, known.graph) for _, known in plan.runs()}
    assert ("ours", "karate") in pairs
    assert ("ours", "blocks-100000") not in pairs
    assert ("ours-sparse", "blocks-100000") in pairs
    assert ("ours-groups", "davis-women") not in pairs
    assert ("degrees-drawn", "counts-300") not in pairs
    runs = list(plan.runs())
    assert len({known.key for _, known in runs}) == len(runs) == 12 * len(pairs)
    assert all(job.delta in (0.0, DELTA) for job, _ in runs)
    assert len({job.seed for job, _ in runs}) == 4 * 4 * 3  # the same for all contenders
    assert seed_of("karate", 1.0, 0) == seed_of("karate", 1.0, 0) != seed_of("karate", 1.0, 1)


@pytest.mark.usefixtures("methods")
def test_delta_is_for_those_who_need_it():
    plan = BenchmarkPlan.of(
        graphs=["karate"], contenders=["ours"], added=["my_methods:NEEDY"], epsilons=[1], seeds=1
    )
    assert {known.contender: (job.delta, known.delta) for job, known in plan.runs()} == {
        "ours": (0.0, 0.0),
        "needy": (DELTA, DELTA),
    }


def test_two_processes_find_what_one_finds(tmp_path):
    plan = BenchmarkPlan.of(
        graphs=["karate", "davis-women"], contenders=["density", "degrees-chung-lu"],
        epsilons=[1.0], seeds=2,
    )  # fmt: skip
    runs = run_benchmark(plan, tmp_path / "runs.jsonl", jobs=2)
    assert len(runs) == 8
    truths = {}
    for job, known in plan.runs():
        (run,) = (run for run in runs if run.key == known.key)
        *_, (what, errors) = worker.answers(job, truths, {job.contender})
        assert what == MEASURED
        assert {name: run.errors[name] for name in errors} == pytest.approx(errors, rel=1e-9)


def test_a_quick_plan_is_small():
    plan = BenchmarkPlan.of(quick=True)
    assert plan.contenders == QUICK_CONTENDERS
    assert len(list(plan.runs())) <= 15
    assert max(case.vertices for case in plan.cases) < 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 0}, "at least one seed"),
        ({"epsilons": [0.0]}, "epsilon"),
        ({"graphs": ["nowhere"]}, "no graph of the benchmark"),
        ({"contenders": ["nobody"]}, "no contender"),
        ({"added": ["no_such_module:x"]}, "no module"),
    ],
)
def test_plans_that_are_none(options, message):
    with pytest.raises(ParameterError, match=message):
        BenchmarkPlan.of(**options)


def test_contenders_enter_by_name_or_from_a_file(methods):
    assert load_contender("ours") is CONTENDERS["ours"]
    named = load_contender("my_methods:NAMED", methods)
    assert (named.name, named.source) == ("named", "a test")
    plain = load_contender("my_methods:zeros", methods)
    assert isinstance(plain, Contender)
    assert (plain.name, plain.source) == ("zeros", "my_methods:zeros")
    assert not plain.needs_delta
    assert load_contender("my_methods:Halves", methods).name == "Halves"
    assert is_audited("ours")
    assert not is_audited("my_methods:NAMED")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("my_methods", "no contender"),
        ("my_methods:", "no contender"),
        ("my_methods:nothing", "AttributeError"),
        ("my_methods:NUMBER", "neither a Contender nor a function"),
        ("my_methods:OURS", "rename yours"),
        ("broken:x", "cannot be imported: ZeroDivisionError"),
        ("needy:x", "cannot be imported: ModuleNotFoundError: No module named 'not_there'"),
        ("unmade:X", "cannot be made: RuntimeError: no"),
    ],
)
def test_what_cannot_enter_is_refused_in_one_line(spec, message, methods):
    (methods / "broken.py").write_text("1 / 0\n")
    (methods / "needy.py").write_text("import not_there\n")
    (methods / "unmade.py").write_text(
        "class X:\n    def __init__(self):\n        raise RuntimeError('no')\n"
    )
    with pytest.raises(ParameterError, match=message) as problem:
        load_contender(spec, methods)
    assert "\n" not in str(problem.value)


def test_a_plain_function_claims_what_it_is_given():
    graph = gc.Graph([0], [1], vertices=3)
    given = {}

    def mine(graph, **options):
        given.update(options)
        return np.zeros(graph.shape)

    made = claiming(mine)(graph, epsilon=0.5, delta=1e-6, groups=None, seed=4)
    assert given == {"epsilon": 0.5, "delta": 1e-6, "groups": None, "seed": 4}
    assert (made.guarantee.epsilon, made.guarantee.delta) == (0.5, 1e-6)
    assert "pair" in made.guarantee.neighbours
    own = Submission(estimate=np.zeros((3, 3)), guarantee=replace(made.guarantee, epsilon=0.1))
    assert claiming(lambda *_, **__: own)(graph, epsilon=1, delta=0, groups=None, seed=1) is own


def test_the_lines_are_json(tmp_path):
    with open_runs(tmp_path / "runs.jsonl") as file:
        file.append(run_of())
    head, line = (tmp_path / "runs.jsonl").read_text().splitlines()
    assert json.loads(head)["version"] == 1
    assert json.loads(line)["errors"] == {"worst cut proven": 0.25, "seconds": 1.5}
