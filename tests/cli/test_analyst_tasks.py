"""Tasks of an analyst in an empty folder: each takes two commands at most, without a stumble."""

import csv
import shlex
import subprocess
import sys

import duckdb
import page_files
import pytest

import graphcuts_dp as gc

TRIPS = "--epsilon 1 --kind directed --privacy-unit user:max-contributions=20 --columns user=user"
LEVELS = "--groups-columns levels=region/area"
RELEASE = "graphcuts-dp release mail.csv synthetic.graphml --epsilon 2 --groups staff.csv"
EXPORT = 'duckdb.connect("t.duckdb").sql("from trips").write_parquet("t.parquet")'
MONTHS = "period=date,on-bad=skip --periods 2026-01..2026-06"
TASKS = {
    "trips to a monthly table": [
        f"graphcuts-dp flows trips.csv zones.csv out.csv {TRIPS},{MONTHS}"
    ],
    "mail to a synthetic graph": [RELEASE],
    "three cut queries of a release": [
        RELEASE,
        "graphcuts-dp answer synthetic.graphml --queries questions.csv -o answers.csv",
    ],
    "Parquet on two levels": [
        f"graphcuts-dp flows trips.parquet areas.csv out.csv {TRIPS} {LEVELS}",
        "graphcuts-dp answer out.csv --from coast --to inland",
    ],
    "DuckDB on two levels": [
        f"python -c 'import duckdb; {EXPORT}'",
        f"graphcuts-dp flows t.parquet areas.csv out.csv {TRIPS} {LEVELS}",
    ],
}


@pytest.fixture
def folder(tmp_path):
    page_files.make_files(tmp_path)
    with duckdb.connect(tmp_path / "t.duckdb") as database:
        database.execute(f"create table trips as from '{tmp_path}/trips.parquet'")
    return tmp_path


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("task", TASKS)
def test_a_task_takes_two_commands_at_most(task, folder, done):
    assert len(TASKS[task]) <= 2
    for line in TASKS[task]:
        program, *words = shlex.split(line)
        if program == "python":
            ended = subprocess.run([sys.executable, *words], check=False, cwd=folder)
            assert ended.returncode == 0
        else:
            done(*words)
    if (folder / "synthetic.graphml").exists():
        assert gc.load("synthetic.graphml").graph.n == len(page_files.STAFF)
    else:
        flows = gc.load("out.csv")
        assert flows.total.interval[0] < 6000 <= flows.total.interval[1] + 1000
        assert len(flows.levels) == (1 if "monthly" in task else 2)
        assert (flows.periods is None) == ("monthly" not in task)
    if (folder / "answers.csv").exists():
        with (folder / "answers.csv").open() as file:
            answers = list(csv.DictReader(file))
        assert [row["S"] for row in answers] == ["ann,bob", "ann", "@Sales"]


def test_a_database_is_refused_with_the_line_that_exports_it(folder, refused):
    line = refused("flows", "t.duckdb", "areas.csv", "out.csv", "--epsilon", "1")
    code = line.partition("in Python: ")[2].replace("FILE", f"'{folder}/t.duckdb'")
    exec(code.replace("TABLE", "trips"), {"duckdb": duckdb})  # noqa: S102  # our own words
    assert (folder / "table.parquet").exists()
