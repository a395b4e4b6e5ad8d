"""docs/measured.md is what the benchmarks printed."""

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
measured = importlib.import_module("measured")
KEPT = sorted(measured.KEPT.glob("*.txt"))


def test_the_page_is_made_from_what_was_kept_and_every_benchmark_finds_what_it_measures() -> None:
    assert measured.PAGE.read_text() == measured.page(), "run python scripts/measured.py"
    for script in measured.BENCHMARKS.glob("bench_*.py"):
        assert callable(importlib.import_module(f"scripts.bench.{script.stem}").main)


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_each_result_says_what_was_run_when_and_with_what(kept: Path) -> None:
    command, versions, empty, *printed = kept.read_text().splitlines()
    module = f"bench_{kept.stem}"
    assert re.fullmatch(rf"\$ python -m scripts\.bench\.{module}( --[a-z]+( \S+)*)*", command)
    assert (measured.BENCHMARKS / f"{module}.py").exists()
    # How long it took, or which part of it is shown.
    end = r"[\d,]+ s|[a-z ,]+"
    assert re.match(rf"\d{{4}}-\d\d-\d\d: Python 3\.\d+\.\d+, graphcuts-dp .*; ({end})$", versions)
    assert empty == ""
    assert any(line.strip() for line in printed)
    assert not re.search(r"/(home|tmp|work|root)/", kept.read_text())


def test_a_docstring_gives_title_and_rest(tmp_path: Path) -> None:
    script = tmp_path / "bench_a.py"
    script.write_text('"""Two lines\nof title.\n\nThe rest,\nas it is.\n"""\n')
    assert measured.described(script) == ("Two lines of title", "The rest,\nas it is.")
    script.write_text('"""A title."""\n')
    assert measured.described(script) == ("A title", "")


def test_every_kept_result_has_a_table_that_a_phone_can_show() -> None:
    assert set(measured.CUTS) >= {path.stem for path in KEPT}
    assert all(len(cut.columns) <= 6 for cut in measured.CUTS.values())


def test_a_table_is_cut_out_of_what_was_printed() -> None:
    title = "epsilon = 1: geometric means, and in brackets the largest"
    printed = [title, "graphs   cuts   n   unbiased   graph   list"]
    cells = "   ".join(f"0.{i}0 (1.{i}0)" for i in range(7))
    printed += [f"tuning   {kind}   9   {cells}" for kind in ("halves", "com-com")]
    lines = measured.table(measured.CUTS["answers"], printed).splitlines()
    shown = " | ".join(f"0.{i}0 (1.{i}0)" for i in range(2, 6))
    assert lines[2:] == [f"| 1 | tuning, pairs | {shown} |"]
    with pytest.raises(ValueError, match="no line"):
        measured.table(measured.CUTS["files"], printed)
