"""Write docs/measured.md from the saved output of benchmarks: docs/measured, a file for each.

`python -m scripts.bench.run --save` keeps their output there. The page has of each a short table,
which is cut out of that output here, and a link to all of it.
"""

import ast
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "scripts" / "bench"
KEPT = ROOT / "docs" / "measured"
PAGE = ROOT / "docs" / "measured.md"

Row = list[str]  # a line of a printed table, parted where two blanks or more are
_GROUPS = ("with", "chance", "pairs, without", "pairs, with")


@dataclass(frozen=True)
class Cut:
    """A table of the page.

    Attributes:
        says: what it shows, a paragraph.
        columns: their names.
        row: makes the cells of a printed line, or None for a line that is left out.
        gather: makes the table of all these cells; None for one line each.
    """

    says: str
    columns: tuple[str, ...]
    row: Callable[[Row, str], Sequence[str] | None]
    gather: Callable[[list[Sequence[str]]], list[Sequence[str]]] | None = None


def _numbers(cells: Row) -> bool:
    return len(cells) > 1 and bool(re.match(r"-?[\d.,]", cells[-1]))


def _answers(cells: Row, part: str) -> Sequence[str] | None:
    if len(cells) != 10 or cells[1] not in {"com-com", "com-rest"}:
        return None
    epsilon = part.partition(":")[0].removeprefix("epsilon = ")
    kind = {"com-com": "pairs", "com-rest": "against the rest"}[cells[1]]
    return epsilon, f"{cells[0]}, {kind}", *cells[5:9]


def _by_kind(rows: list[Sequence[str]]) -> list[Sequence[str]]:
    values_of: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
    for kind, epsilon, *values in rows:
        values_of[kind, epsilon].append(tuple(map(float, values)))
    lines: list[Sequence[str]] = []
    for (kind, epsilon), runs in values_of.items():
        release, noisy, interval, proven = zip(*runs, strict=True)
        worst = min if kind in ("max-cut", "clusters") else max
        both = [f"{statistics.median(part):.2f} ({worst(part):.2f})" for part in (release, noisy)]
        medians = [f"{statistics.median(part):.2f}" for part in (interval, proven)]
        lines.append((f"{kind}, at {epsilon}", *both, *medians))
    return lines


def _baselines(cells: Row, part: str) -> Sequence[str] | None:  # noqa: ARG001
    if len(cells) != 12 or cells[1] not in {"real", "tuning", "validation"}:
        return None
    return cells[0], cells[1], *(f"{cells[at]} ({cells[at + 1]})" for at in (4, 6, 8, 10))


def _sparse(cells: Row, part: str) -> Sequence[str] | None:
    methods = {"raw", "degrees", "filter", "public", "none"}
    if cells[0] not in methods or "degree 10, mean weight 20" not in part or len(cells) != 7:
        return None
    shown = [f"{float(value):,.4g}" if float(value) < 1e4 else f"{float(value):,.0f}"
             for value in (cells[1], cells[3], cells[4], cells[6])]  # fmt: skip
    return part.partition(",  ")[0].split(", average")[0].removeprefix("n = "), cells[0], *shown


def _files(cells: Row, part: str) -> Sequence[str] | None:  # noqa: ARG001
    cells = [" ".join(cells[:2]), *cells[2:]] if cells[0] == "read" else cells
    return cells if len(cells) == 4 and "100,000 " not in cells[0] else None


def _groups(cells: Row, part: str) -> Sequence[str] | None:  # noqa: ARG001
    graph, colon, figures = cells[0].partition("): ")
    if not colon or "with " not in figures:
        return None
    values = dict(re.findall(r"([a-zA-Z, ]+) ([\d.]+ \([\d.]+\))", figures.replace("; ", "")))
    return graph.partition(" (")[0], *(values[name] for name in _GROUPS)


def _starts(cells: Row, part: str) -> Sequence[str] | None:
    match = re.match(r"([a-z-]+): total (\S+ \(.*?\)); groups (\S+ \(.*?\)); chance", cells[0])
    return (part.partition(" (")[0], *match.groups()) if match else None


def _weighted(cells: Row, part: str) -> Sequence[str] | None:
    if len(cells) != 8 or not cells[0].startswith("all, mean"):
        return None
    epsilon = part.partition(":")[0].removeprefix("epsilon = ")
    return f"{cells[1]}, at {epsilon}", *cells[2:5], *cells[6:]


def _typical(cells: Row, part: str) -> Sequence[str] | None:
    del part
    summary = re.fullmatch(
        r"(\w+): (\d+ %) of (\d+) ratios from 0.7 to 1.5, (\d+ %) below .5, "
        r"least ([\d.]+), largest ([\d.]+)",
        " ".join(cells),
    )
    return summary and summary.groups()


def _side_by_side(rows: list[Sequence[str]]) -> list[Sequence[str]]:
    """Return a row for each measure, with its values in all runs."""
    values: dict[str, list[str]] = defaultdict(list)
    for measure, value in rows:
        values[measure].append(value)
    return [(measure, *runs) for measure, runs in values.items()]


def _oracles(cells: Row, part: str) -> Sequence[str] | None:
    del part
    if len(cells) != 10 or cells[0] == "n":
        return None
    return ", ".join(cells[:3]), *cells[3:5], *cells[6:8], f"{cells[8]} to {cells[9]}"


CUTS = {
    "answers": Cut(
        'Errors of `estimate="shrunk"` on cuts between communities, divided by other errors. '
        "*Baseline*: by those of the best simple release at the same epsilon, in a list of one "
        "kind. *Laplace*: the same, where the simple releases have Laplace noise. *Better*: by "
        "those of the better of unbiased answers and the synthetic graph, in a list of one kind "
        "and in a list of all kinds. Geometric means over the graphs, and in brackets the "
        "largest.",
        ("epsilon", "cuts", "baseline", "Laplace", "better, one kind", "better, mixed"),
        _answers,
    ),
    "baselines": Cut(
        "Errors of the default release over those of the best simple baseline at the same epsilon "
        "and seed: geometric means, and in brackets the largest. The thresholds were chosen only "
        'on the graphs called "tuning". *Laplace* is the worst cut if the noisy entries among '
        "the baselines have Laplace noise, and not the smaller noise of randomised response. "
        "*Rounded* is the worst cut of the synthetic graph without weights, divided by that of "
        "its weights.",
        ("epsilon", "graphs", "worst cut", "Laplace", "rounded", "degrees"),
        _baselines,
    ),
    "coverage": Cut(
        "Share of releases whose intervals of 95 % miss, mean over the numbers that are compared "
        "and the worst of them, of so many releases with generated data. The limit is 5 % and "
        "three standard errors.",
        ("release", "numbers", "releases", "mean", "worst", "limit"),
        lambda cells, _: cells if len(cells) == 6 and cells[0] != "release" else None,
    ),
    "cut_norm": Cut(
        "Time, and the certified upper bound divided by the lower one: median and worst.",
        ("matrix", "seconds", "upper/lower", "worst"),
        lambda cells, _: (cells[0], cells[1], cells[6], cells[7]) if len(cells) > 7 else None,
    ),
    "dense_releases": Cut(
        "Processor seconds and memory of the whole command `graphcuts-dp release`, which writes "
        "the synthetic graph, its receipt and its certificate, beside those of an earlier commit "
        "on the same graphs, measured in turns.",
        ("vertices", "seconds", "MB", "seconds before", "MB before", "ratio of seconds"),
        lambda cells, _: cells[:6] if len(cells) == 7 and _numbers(cells) else None,
    ),
    "error_sizes": Cut(
        "Errors of releases at epsilon = 1, as medians of three seeds: of cuts between random "
        "halves, divided by n/2; the same for shrunk answers; of the worst cut that was found, "
        "divided by n^1.5; and the proven bound, divided by the error of the worst cut that was "
        "found.",
        ("graph", "n", "halves", "shrunk", "worst cut", "bound"),
        lambda cells, _: (
            (*cells[:4], cells[5], cells[6]) if len(cells) == 8 and _numbers(cells) else None
        ),
    ),
    "files": Cut(
        "Processor seconds from a file to a graph, of this package and of other readers. A ratio "
        "above 1 means that the other reader is slower.",
        ("task", "tool", "seconds", "ratio"),
        _files,
    ),
    "first_answers": Cut(
        "Time from an empty folder to a first result, including all steps.",
        ("who", "seconds"),
        lambda cells, _: cells if len(cells) == 2 else None,
    ),
    "cut_trees": Cut(
        "The least cuts of all pairs of vertices at epsilon = 1. The table has the share of pairs "
        "for which one vertex alone is the least cut, and the mean errors of two estimates of its "
        "weight: the lesser of two noisy degrees, and the tree of a synthetic graph.",
        ("graph", "n", "one alone", "noisy degrees", "synthetic graph", "n/epsilon"),
        lambda cells, _: (
            (*cells[:4], cells[5], cells[8]) if len(cells) == 9 and cells[1] == "400" else None
        ),
    ),
    "flows": Cut(
        "Root mean square errors of sums between groups of three levels, between unions of "
        "groups, and between halves of the map: flows with each workload, beside other ways to "
        "get the same numbers.",
        ("way", "tract", "county", "state", "unions", "halves"),
        lambda cells, _: cells if len(cells) == 6 else None,
    ),
    "group_starts": Cut(
        "Sessions of a thousand answers at epsilon = 1 and delta = 1e-6, which start from the "
        "noisy total, or from noisy sums between groups: the guaranteed error, and in brackets "
        "the mean and the largest error of the first answers.",
        ("graph", "method", "start: total", "start: groups"),
        _starts,
    ),
    "groups": Cut(
        "Errors of releases with public groups, divided by those of the same release without "
        "groups: of the worst cut, and of the worst cut with random groups. For sums between "
        "groups the errors are divided by those of the noisy entries. Median and worst.",
        ("graph", "worst cut, with", "by chance", "pairs, without", "pairs, with"),
        _groups,
    ),
    "least_cuts": Cut(
        "How much more than the least cut a cut between two terminals weighs at epsilon = 1. The "
        "table has the mean over twelve generators with four pairs of terminals each, and in "
        "brackets the median, for private least cuts and for the least cut of the noisy matrix; "
        "on how many generators the former are not worse; and their worst mean, divided by "
        "n/epsilon, which a theorem bounds by 1.",
        ("graphs", "n", "private cut", "noisy matrix", "not worse on", "worst over n/epsilon"),
        lambda cells, _: (
            (*cells[:2], f"{cells[2]} ({cells[3]})", f"{cells[4]} ({cells[5]})", *cells[6:])
            if len(cells) == 8 and cells[0] in {"weights", "no weights"}
            else None
        ),
    ),
    "trivial_cuts": Cut(
        "Least cuts between two terminals on 32 graphs, with four pairs of terminals and five "
        "runs each, as ratios to the optimum. *Trivial* is the better of the two cuts that cut "
        "off one terminal alone, *noisy cut* the noisy cut with all of epsilon, and *returned* "
        "the cut that is returned. Means over the graphs, and in brackets the worst run. *Above "
        "the bound* counts runs in which the returned cut weighed more than the better trivial "
        "cut, by more than was stated before, with 95 %.",
        ("epsilon", "trivial", "noisy cut", "returned", "runs", "above the bound"),
        lambda cells, _: (
            (*cells[1:3], f"{cells[3]} ({cells[4]})", f"{cells[5]} ({cells[6]})", *cells[7:])
            if len(cells) == 9 and cells[0].isdigit()
            else None
        ),
    ),
    "linear_sessions": Cut(
        "Sessions for a million queries on ratings of two kinds of users and items, at epsilon = "
        "1 and delta = 1e-6: the guaranteed error, and the largest measured one.",
        ("users and items", "method", "guaranteed", "largest"),
        lambda cells, _: (
            (cells[0], cells[4], cells[-4], cells[-3])
            if len(cells) > 8 and cells[1] == "2"
            else None
        ),
    ),
    "million": Cut(
        "A million vertices and ten million edges at the command line.",
        ("step", "time", "memory"),
        lambda cells, _: (cells[0], cells[1], cells[-1]) if len(cells) == 4 else None,
    ),
    "mirror_sessions": Cut(
        "Sessions on JT12's two bipartite families, for 10,000 queries, at epsilon = 1 and delta "
        "= 1e-6: the guaranteed error, and the largest measured one.",
        ("family", "V", "method", "guaranteed", "largest"),
        lambda cells, _: (
            (cells[0], cells[1], cells[4], cells[-4], cells[-3])
            if len(cells) > 8 and cells[1] in {"200", "2,000"} and "as JT12" not in cells[4]
            else None
        ),
    ),
    "people": Cut(
        "Counts of edges of the US flights at epsilon = 1. *Half* is one cut between random "
        "halves, asked alone; *cells* are all sums between five regions at once. *Bias* is what "
        "the bound leaves out; it can be shown because the truth is known here.",
        ("privacy unit", "half: bias", "half: noise", "cells: bias", "cells: noise"),
        lambda cells, _: (
            (cells[0], cells[1], cells[2], cells[4], cells[5])
            if len(cells) > 6 and _numbers(cells)
            else None
        ),
    ),
    "oracles": Cut(
        "The cutting-plane fit with each oracle, on the same noisy matrices of two seeds: rounds, "
        "seconds, the gap, why the fit ended, and the lower and upper bound on the cut norm of "
        "its error.",
        ("n, seed, oracle", "rounds", "seconds", "gap", "ended", "cut norm left"),
        _oracles,
    ),
    "partitions": Cut(
        "Seven graphs, five releases of each. The table has the value, in the true graph, of the "
        "partition that was found in a release, divided by the best value that is known: the "
        "median of the graphs, and in brackets the worst graph. *Noisy*: the same search in the "
        "noisy matrix. *Half interval* and *proven* (by how much it may be worse than the best) "
        "are divided by the best value, too. No interval was wrong in 200 releases of each of "
        "four other graphs.",
        ("kind, at epsilon", "release", "noisy", "half interval", "proven"),
        lambda cells, _: (
            (cells[1], cells[2], cells[4], cells[6], cells[8], cells[9])
            if len(cells) == 10 and _numbers(cells)
            else None
        ),
        _by_kind,
    ),
    "planted": Cut(
        "50 releases of each kind of graph. The signal of the smallest block is stated as a "
        "multiple of the noise. Errors of sums between two blocks are divided by those of the "
        "noisy matrix. *Outside* counts releases with a sum outside its 95 % interval, and in "
        "brackets those without a warning.",
        ("n, blocks, densities, epsilon", "signal", "mean error", "largest", "outside"),
        lambda cells, _: (
            (cells[0], cells[-9], cells[-8], cells[-6], f"{cells[-4]} ({cells[-3]})")
            if len(cells) > 9
            else None
        ),
    ),
    "rows": Cut(
        "A hundred million rows of ten million users in Parquet: the time of each method, divided "
        "by the time of a group-by without bounds.",
        ("way", "seconds", "times", "GB", "kept"),
        lambda cells, _: (
            (cells[0], cells[1], cells[2], cells[5], cells[7])
            if len(cells) == 8 and _numbers(cells)
            else None
        ),
    ),
    "regret": Cut(
        "Graphs on which no threshold was chosen. Regret is the error of the worst cut, divided "
        "by that of the best of five fixed shares for degrees in hindsight. For each graph it is "
        "the geometric mean over the seeds; the table has the mean and the largest over the "
        "graphs. *Kept .8*: of the graphs on which the best share keeps more than half of the "
        "modularity of the communities, the part that keeps at least .8 of this. A fixed share "
        "spends nothing on tests. Near the threshold one draw decides, so a single graph can lose "
        "everything that the best share keeps.",
        ("epsilon", "choice", "graphs", "mean", "largest", "kept .8"),
        lambda cells, _: (
            (*cells[:3], *cells[4:6], f"{cells[7]} of {cells[8]}") if len(cells) == 10 else None
        ),
    ),
    "shares": Cut(
        "Error of the worst cut at epsilon = 2, divided by that of the best simple baseline, on "
        "graphs on which no threshold was tuned: for the default; for fixed shares of epsilon for "
        "degrees; for the best of four shares in hindsight, which no choice can know; and for a "
        "graph that has the true degrees without any noise. Where hindsight is near 1, no other "
        "choice would gain anything.",
        ("graph", "default", ".1", ".6", "hindsight", "true degrees"),
        lambda cells, _: (
            (*cells[:3], cells[4], *cells[6:]) if len(cells) == 8 and _numbers(cells) else None
        ),
    ),
    "sparse": Cut(
        "Mean absolute errors at epsilon = 1, with mean weight 20 and average degree 10. The worst "
        "cut that was found is divided by twice the total weight.",
        ("n", "release", "halves", "degrees", "pairs of groups", "worst cut"),
        _sparse,
    ),
    "server": Cut(
        "Twenty analysts who ask without a pause, beside a FastAPI application that only echoes, "
        "in one run of a minute: with the store in memory, and on a disk. The machine had other "
        "work, and so had the disk. The complete output has a run of 15 seconds on the disk, too, "
        "where the ratio at 99 % is 10.1.",
        ("measure", "in memory", "on a disk"),
        lambda cells, part: cells if len(cells) == 2 and " 60 s," in part else None,
        _side_by_side,
    ),
    "many_sessions": Cut(
        "A server with many sessions that nobody closes: processor milliseconds to open a session "
        "and to ask, memory, open files, and the number of database statements for one query.",
        ("sessions", "open", "ask", "megabytes", "files", "statements"),
        lambda cells, _: (
            (cells[0], cells[2], cells[3], *cells[5:7], cells[8])
            if len(cells) == 10 and _numbers(cells)
            else None
        ),
    ),
    "typical_errors": Cut(
        "Stated typical errors, divided by measured errors, as root mean squares: ratios of eight "
        "kinds of cuts, on each of the graphs without weights on which no constant was tuned, at "
        "epsilon = 1. The complete output has each kind, and also neighbourhoods of vertices, for "
        "which typical errors are not meant.",
        ("answers", ".7 to 1.5", "ratios", "below .5", "least", "largest"),
        _typical,
    ),
    "weighted": Cut(
        "Twelve graphs with whole weights. First the number of edges of the synthetic graph, "
        "divided by the true number: the least and the largest ratio. Then errors, as means and "
        "in brackets the largest: of the clustering coefficient without and with weights, of the "
        "distribution of weights (divided by their mean), and of random halves (divided by half "
        "of the weight). *All pairs* is the fit before it is rounded; *chung-lu* has noisy "
        "weighted degrees with all of epsilon.",
        ("graph, at epsilon", "edges", "clustering", "weighted", "weights", "halves"),
        _weighted,
    ),
}


def described(script: Path) -> tuple[str, str]:
    """Return the first line of a script's docstring, and the rest of it."""
    text = ast.get_docstring(ast.parse(script.read_text())) or script.stem
    title, _, body = text.partition("\n")
    if body.strip() and not body.startswith("\n"):  # a title of two lines
        more, _, body = body.partition("\n\n")
        title = f"{title} {' '.join(more.split())}"
    return title.rstrip("."), body.strip()


def cells_of(cut: Cut, printed: Sequence[str]) -> list[Sequence[str]]:
    """Return the rows that are cut out of the output of a benchmark."""
    rows: list[Sequence[str]] = []
    part = ""
    for line in printed:
        cells = re.split(r"\s{2,}", line.strip())
        if line.startswith("$ "):  # a second command: other tables
            break
        row = cut.row(cells, part) if any(map(str.isdigit, line)) else None
        if row is not None:
            rows.append(row)
        elif len(cells) == 1 and cells[0]:
            part = cells[0]
    if not rows:
        raise ValueError(f"no line for the table of {cut.columns}")
    return cut.gather(rows) if cut.gather else rows


def table(cut: Cut, printed: Sequence[str]) -> str:
    """Return the rows of a benchmark as a table of the page."""
    lines = [cut.columns, ["---"] * len(cut.columns), *cells_of(cut, printed)]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |"
                     for line in lines)  # fmt: skip


def kept_lines(name: str) -> list[str]:
    """Return the saved lines of a benchmark: command, versions, an empty line, and its output."""
    return (KEPT / f"{name}.txt").read_text().splitlines()


def section(script: Path) -> str:
    """Write the section of one benchmark: what it measures, and a table of what it printed."""
    name = script.stem.removeprefix("bench_")
    command, versions, _, *printed = kept_lines(name)
    parts = [f"\n## {name.replace('_', ' ').capitalize()}\n", f"{described(script)[0]}.\n"]
    if cut := CUTS.get(name):
        parts += [f"{cut.says}\n", f"{table(cut, printed)}\n"]
    ran = f"`{command.removeprefix('$ ')}`, {versions.partition(':')[0]}"
    parts.append(f"Run as {ran}: [all that it printed](measured/{name}.txt).\n")
    return "\n".join(parts)


def page() -> str:
    """Return the text of docs/measured.md; what stands before its first section stays."""
    head = PAGE.read_text().partition("\n## ")[0]
    scripts = sorted(BENCHMARKS.glob("bench_*.py"))
    names = {script: script.stem.removeprefix("bench_") for script in scripts}
    saved = [script for script in scripts if (KEPT / f"{names[script]}.txt").exists()]
    unsaved = [script for script in scripts if script not in saved]
    descriptions = [f"- `{script.stem}`: {described(script)[0]}." for script in unsaved]
    last = "\n## Not kept\n\n`make bench` runs these too; nothing of what they print is kept:\n\n"
    return (
        head
        + "".join(map(section, saved))
        + (last + "\n".join(descriptions) + "\n" if descriptions else "")
    )


def main() -> int:
    """Write the page."""
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
