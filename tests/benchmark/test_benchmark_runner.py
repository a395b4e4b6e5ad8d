"""Runs of the benchmark: failures of methods, resumed files, plans, and how contenders enter."""

import gzip
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contender_runs import run_of

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, ParameterError
from scripts.benchmark import worker
from scripts.benchmark.base import Contender, Submission
from scripts.benchmark.contenders.table import CONTENDERS
from scripts.benchmark.entering import claiming, is_audited, load_contender
from scripts.benchmark.measures import measured
from scripts.benchmark.runner import (
    DELTA,
    EPSILONS,
    LARGE_SEEDS,
    QUICK_CONTENDERS,
    SEEDS,
    BenchmarkPlan,
    run_benchmark,
    seed_of,
)
from scripts.benchmark.runs import open_runs, read_runs, write_table
from scripts.benchmark.worker import FAILED, MADE, MEASURED, READY, Job


@pytest.fixture
def methods(tmp_path, monkeypatch):
    """Put a file with methods into the working directory, as a user has one; return the folder."""
    shutil.copy(Path(__file__).with_name("my_methods.py"), tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("my_methods", None)
    yield tmp_path
    sys.modules.pop("my_methods", None)


def worker_messages(name: str, folder: Path, *, warmed: bool) -> list[Any]:
    """Return the messages of a worker that runs a method of the file, in this process."""
    spec = f"my_methods:{name}"
    job = Job(contender=spec, folder=str(folder), graph="karate", epsilon=1.0, delta=0.0, seed=1)
    return list(worker.answers(job, {}, {spec} if warmed else set()))


def test_a_worker_sends_the_guarantee_of_a_method_and_its_errors(methods):
    ready, (made, claim), (measured, errors) = worker_messages("Halves", methods, warmed=True)
    assert (ready, made, measured) == ((READY,), MADE, MEASURED)
    assert (claim["epsilon"], claim["delta"]) == (1.0, 0.0)
    assert claim["seconds"] >= 0
    assert claim.get("memory", 0.0) >= 0  # on Linux only
    megabytes = worker.start_of_peak()
    assert megabytes is None or megabytes > 10
    # Half of every weight is missing, whatever the cut.
    for name in ("worst cut found", "worst cut proven", "group cuts", "s-t cuts"):
        assert errors[name] == pytest.approx(0.5), name
    assert errors["modularity"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.thorough
def test_a_method_that_uses_the_order_of_the_vertices_gains_nothing(methods):
    """The method knows the planted blocks of the file, which would have an error near 0."""
    truths = {}
    errors = []
    for seed in range(3):
        job = Job(contender="my_methods:in_order", folder=str(methods), graph="blocks-150",
                  epsilon=1.0, delta=0.0, seed=seed)  # fmt: skip
        *_, (message, errors_of_seed) = worker.answers(job, truths, {"my_methods:in_order"})
        assert message == MEASURED
        errors.append(errors_of_seed["group cuts"])
        assert errors_of_seed["found communities"] > 0.5
    truth = truths["blocks-150"]
    from my_methods import in_order

    in_true_order = measured(in_order(truth.graph), truth)
    assert in_true_order["group cuts"] < 0.2
    assert in_true_order["found communities"] == 0.0
    assert min(errors) > 1
    assert len(set(errors)) == 3, "each seed has an order of its own"


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
def test_a_failure_of_a_method_is_reported_on_one_line(name, reason, warmed, methods):
    *_, (message, line) = worker_messages(name, methods, warmed=warmed)
    assert message == FAILED
    assert reason in line
    assert "\n" not in line


@pytest.mark.thorough
def test_a_process_that_dies_or_hangs_is_a_failed_run_and_the_file_can_be_resumed(methods):
    """A reported run is in the file; a resumed file loses at most a half-written line."""
    path, reported = methods / "runs.jsonl", []
    plan = BenchmarkPlan.of(
        graphs=["karate"], contenders=["empty-graph"], added=["my_methods:dies"],
        epsilons=[1.0], seeds=1,
    )  # fmt: skip
    runs = run_benchmark(
        plan, path, progress=lambda share, _: reported.append((share, len(read_runs(path))))
    )
    assert reported == [(0.5, 1), (1.0, 2)]
    empty, dead = sorted(runs, key=lambda run: run.failure)
    assert (empty.contender, empty.failure, empty.audited) == ("empty-graph", "", True)
    assert (empty.claimed_epsilon, empty.errors["worst cut proven"]) == (0.0, 1.0)
    assert "graphcuts_dp" in empty.versions
    assert (dead.contender, dead.audited) == ("dies", False)
    assert dead.failure == "the process died, status 3"
    path.write_bytes(path.read_bytes() + b'{"contender": "emp')
    longer = replace(plan, contenders=(*plan.contenders, "my_methods:sleeps"))
    resumed = run_benchmark(longer, path, seconds=0.2)
    assert resumed[:2] == runs
    assert [run.failure for run in resumed[2:]] == ["the method took more than 0.2 seconds"]
    assert read_runs(path) == resumed


@pytest.mark.parametrize("cut", [0, 5, 40])
def test_a_file_with_a_part_of_its_first_line_is_started_again(cut, tmp_path):
    path = tmp_path / "runs.jsonl"
    with open_runs(path) as file:
        assert file.runs == ()
    path.write_bytes(path.read_bytes()[:cut])
    with open_runs(path) as file:
        file.append(run_of())
    head, line = path.read_text().splitlines()
    assert json.loads(head)["version"] == 2
    assert json.loads(line)["errors"] == {"worst cut proven": 0.25, "seconds": 1.5}
    assert read_runs(path) == [run_of()]


@pytest.mark.parametrize(
    "content",
    [b"my thesis", b"my thesis\nlines\n", b'{"format": "other"}\n',
     b'{"format": "graphcuts_dp benchmark", "version": 2}\n{"contender": 1}\n',
     b'{"format": "graphcuts_dp benchmark", "version": 1}\n'],
)  # fmt: skip
def test_files_of_another_format_are_refused_and_unchanged(content, tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"runs\.jsonl"):
        open_runs(path).__enter__()
    assert path.read_bytes() == content
    with pytest.raises(FileFormatError):
        read_runs(path)


def test_locked_missing_and_broken_files_are_refused(tmp_path):
    path = tmp_path / "runs.jsonl"
    with open_runs(path), pytest.raises(FileFormatError, match="another benchmark"):
        open_runs(path).__enter__()
    with pytest.raises(FileFormatError, match="cannot write"):
        open_runs(tmp_path / "none" / "runs.jsonl").__enter__()
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a table")[:-4])
    for name in ("none.jsonl", "t.csv.gz"):
        with pytest.raises(FileFormatError, match="cannot read"):
            read_runs(tmp_path / name)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_a_table_holds_all_runs_in_six_digits(suffix, tmp_path):
    path = tmp_path / f"runs.{suffix}"
    runs = [
        run_of(seed=1, errors={"worst cut proven": 1 / 3}),
        run_of(claimed_epsilon=None, claimed_delta=None, failure='it said "a, b"', errors={}),
        run_of(contender="mine", audited=False, claim_holds=False),
    ]
    write_table(runs, path)
    first = path.read_bytes()
    write_table(reversed(runs), path)
    assert path.read_bytes() == first
    rounded = replace(runs[0], errors={"worst cut proven": 0.333333})
    assert read_runs(path) == [runs[2], runs[1], rounded]
    path.write_bytes(gzip.compress(b"a,b\n") if suffix.endswith("gz") else b"a,b\n")
    with pytest.raises(FileFormatError, match="no table"):
        read_runs(path)


def test_a_plan_runs_each_contender_on_the_graphs_it_supports():
    plan = BenchmarkPlan.of(graphs=["karate", "davis", "counts", "blocks-100000"])
    assert (plan.epsilons, plan.seeds) == (EPSILONS, None)
    repeated = {case.name: plan.seeds_of(case) for case in plan.cases}
    assert (repeated["karate"], repeated["blocks-100000"]) == (SEEDS, LARGE_SEEDS) == (5, 3)
    assert plan.contenders == tuple(CONTENDERS)
    runs = list(plan.runs())
    pairs = {(run.contender, run.graph) for _, run in runs}
    assert {("ours", "karate"), ("ours-sparse", "blocks-100000")} <= pairs
    impossible = {("ours", "blocks-100000"), ("ours-groups", "davis-women")}
    assert not pairs & (impossible | {("degrees-drawn", "counts-300")})
    assert len({run.key for _, run in runs}) == len(runs)
    assert len(runs) == sum(4 * repeated[graph] for _, graph in pairs)
    assert all(job.delta in (0.0, DELTA) for job, _ in runs)
    assert len({job.seed for job, _ in runs}) == 4 * (3 * 5 + 3)  # the same for all contenders
    assert seed_of("karate", 1.0, 0) == seed_of("karate", 1.0, 0) != seed_of("karate", 1.0, 1)


@pytest.mark.usefixtures("methods")
def test_only_contenders_that_need_a_delta_get_one():
    terms = {"graphs": ["karate"], "epsilons": [1], "seeds": 1}
    plan = BenchmarkPlan.of(contenders=["ours"], added=["my_methods:NEEDY"], **terms)
    deltas = {run.contender: (job.delta, run.delta) for job, run in plan.runs()}
    assert deltas == {"ours": (0.0, 0.0), "needy": (DELTA, DELTA)}


@pytest.mark.thorough
def test_two_processes_have_the_errors_of_one(tmp_path):
    plan = BenchmarkPlan.of(
        graphs=["karate", "davis-women"], contenders=["density", "degrees-chung-lu"],
        epsilons=[1.0], seeds=2,
    )  # fmt: skip
    runs = {run.key: run for run in run_benchmark(plan, tmp_path / "runs.jsonl", jobs=2)}
    assert len(runs) == 8
    truths = {}
    for job, run in plan.runs():
        *_, (message, errors) = worker.answers(job, truths, {job.contender})
        assert message == MEASURED
        errors_of_two = runs[run.key].errors
        assert {name: errors_of_two[name] for name in errors} == pytest.approx(errors, rel=1e-9)


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
def test_empty_or_unknown_parts_of_a_plan_are_refused(options, message):
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
def test_a_contender_that_cannot_be_loaded_is_refused_on_one_line(spec, message, methods):
    unmade = "class X:\n    def __init__(self):\n        raise RuntimeError('no')\n"
    files = {"broken": "1 / 0\n", "needy": "import not_there\n", "unmade": unmade}
    for name, text in files.items():
        (methods / f"{name}.py").write_text(text)
    with pytest.raises(ParameterError, match=message) as error:
        load_contender(spec, methods)
    assert "\n" not in str(error.value)


def test_a_plain_function_claims_the_epsilon_and_delta_of_the_call():
    graph = gc.Graph([0], [1], vertices=3)
    options = {"epsilon": 0.5, "delta": 1e-6, "groups": None, "seed": 4}
    received = []

    def zeros(graph, **options):
        received.append(options)
        return np.zeros(graph.shape)

    submission = claiming(zeros)(graph, **options)
    assert received == [options]
    assert (submission.guarantee.epsilon, submission.guarantee.delta) == (0.5, 1e-6)
    assert "pair" in submission.guarantee.neighbours
    own_submission = Submission(
        estimate=np.zeros((3, 3)), guarantee=replace(submission.guarantee, epsilon=0.1)
    )
    assert claiming(lambda *_, **__: own_submission)(graph, **options) is own_submission
