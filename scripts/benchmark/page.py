"""The pages of the benchmark, made of the table of its runs alone."""

from collections.abc import Mapping, Sequence

from scripts.benchmark.base import Contender
from scripts.benchmark.contenders.table import CONTENDERS
from scripts.benchmark.graphs import CASES, GraphCase
from scripts.benchmark.measures import MEASURES
from scripts.benchmark.ranks import (
    FAILED,
    LEAST,
    OURS,
    RANKED,
    Results,
    Standing,
    geometric_mean,
)
from scripts.benchmark.runs import BenchmarkRun

_UNSOUND, _UNAUDITED = "†", "*"
_INTRO = """# PrivateCuts: the benchmark

<!-- made by scripts/benchmark/pages.py of the table of runs: change that, not this -->

How right are the cuts of private graphs? Every contender spends the same epsilon on the same
graphs, at edge level: neighbours differ in one edge, or in one weight within its public cap.
**Less is better, and 1 is what the empty graph gets**, which spends nothing: every error is divided
by that of answering 0 everywhere. `make benchmark` makes all of it again;
[Enter your method](enter-your-method.md) puts yours into the tables.

All noise here is seeded, so that a run can be repeated. That voids every promise: nothing in these
files is a release, and none of these graphs is private. The claims are those of the same code run
without a seed.
"""
_NOTE = """All but the last two are shares of the empty graph's error. A contender that hands in a
function of two sets has the cuts alone; least cuts are of graphs without negative weights, up to a
million edges. What a contender cannot have is left out, not counted as 0.
"""
_BEHIND = """## Where this package is not first

On how many graphs another contender whose claim holds has the least error, of so many on which both
have the measure; how many times as large ours is there, as a geometric mean and at most; and on
which graph. The best of the others is another one on each graph and in each measure: the tables
above say how each does on all of them.
"""
_SIDES = (
    (
        f"The release with its defaults (`{OURS}`), beside contenders that need no public groups",
        OURS,
        False,
    ),
    (
        f"The release with public groups (`{OURS}-groups`), beside everybody, where there are such",
        f"{OURS}-groups",
        True,
    ),
    (
        "The best of all modes of this package (which a user does not know), beside everybody",
        None,
        True,
    ),
)
_RATIOS = f"""In each cell the error over that of the best contender whose claim holds, as the
geometric mean over graphs, and the rank. Errors below {LEAST:g} count as {LEAST:g}, a run that
failed as {FAILED:g}. Contenders are run on different graphs (a column says on how many): compare
ranks with care, and look at the pages of the graphs.
"""


def main_page(runs: Sequence[BenchmarkRun], *, table: str) -> str:
    """The page of all graphs, in Markdown.

    Args:
        runs: as `read_runs` reads them from a table, with its digits.
        table: path of that table, for a link.
    """
    results = Results(runs)
    parts = [_INTRO, _what_was_run(results, table)]
    parts += [_standing(results, measure) for measure in RANKED]
    parts += [_behind(results), _failures(results), _measures()]
    parts += [_contenders(results), _graphs(results)]
    return "\n".join(part for part in parts if part)


def _what_was_run(results: Results, table: str) -> str:
    seeds = len({run.seed for run in results.runs})
    epsilons = ", ".join(f"{epsilon:g}" for epsilon in results.epsilons)
    versions = "; ".join(sorted({run.versions for run in results.runs}))
    return (
        f"{len(results.contenders)} contenders, {len(results.graphs)} graphs, epsilon = {epsilons},"
        f" {seeds} {'seeds' if seeds > 1 else 'seed'}: {len(results.runs):,} runs, of which "
        f"{sum(bool(run.failure) for run in results.runs)} failed; all of them with every measure: "
        f"[{table}]({table}). {versions}.\n"
    )


def _contenders(results: Results) -> str:
    lines = ["## The contenders\n"]
    sources = {run.contender: run.source for run in results.runs}
    for name in results.contenders:
        known = CONTENDERS.get(name)
        note = known.note if known is not None else ""
        if name not in results.sound:
            note = f"**Its claim does not hold.** {note}".strip()
        if name not in results.audited:
            note = f"**Nobody has audited it.** {note}".strip()
        source = _plain(sources[name])
        run_on = f" Run on {_range(known)}." if known is not None else ""
        lines.append(f"- **{_named(name, results)}**: {source}.{run_on} {_plain(note)}".rstrip())
    marks = []
    if set(results.contenders) - results.sound:
        marks.append(f"{_UNSOUND} its claim does not hold: run, and ranked apart.")
    if set(results.contenders) - results.audited:
        marks.append(f"{_UNAUDITED} entered from a file of its own: it claims what it was given.")
    return "\n".join([*lines, "", *marks, ""])


def _range(contender: Contender) -> str:
    kinds = sorted(contender.kinds, reverse=True)
    which = " and ".join(kinds) if len(kinds) < 3 else "all"
    weights = "with or without weights" if contender.weights else "without weights"
    groups = " and public groups" if contender.needs_groups else ""
    delta = "; it needs a delta" if contender.needs_delta else ""
    most = f"up to {contender.most_vertices:,} vertices"
    return f"{which} graphs {weights}{groups}, {most}{delta}"


def _measures() -> str:
    lines = ["## The measures\n", "| measure | |", "|---|---|"]
    lines += [f"| {measure.name} | {measure.about} |" for measure in MEASURES]
    return "\n".join([*lines, "", _NOTE])


def _standing(results: Results, measure: str) -> str:
    """A table of a measure: contenders by epsilons."""
    columns = {epsilon: results.standings(epsilon, measure) for epsilon in results.epsilons}
    found = {
        epsilon: {each.contender: each for each in standings}
        for epsilon, standings in columns.items()
    }
    names = [name for name in results.contenders if any(name in each for each in found.values())]
    if not names:
        return ""
    middle = {
        name: geometric_mean([each[name].ratio for each in found.values() if name in each])
        for name in names
    }
    names.sort(key=lambda name: (name not in results.sound, middle[name], name))
    heads = [f"epsilon {epsilon:g}" for epsilon in results.epsilons]
    lines = [f"## {measure[0].upper()}{measure[1:]}\n"]
    if measure == RANKED[0]:
        lines.append(_RATIOS)
    lines += [
        f"| contender | {' | '.join(heads)} | graphs | worst graph | below the empty graph |",
        f"|---|{'---|' * (len(heads) + 3)}",
    ]
    for name in names:
        mine = {epsilon: each[name] for epsilon, each in found.items() if name in each}
        cells = [_cell_of(mine, epsilon) for epsilon in results.epsilons]
        bad = max(mine, key=lambda epsilon: mine[epsilon].worst)
        below = sum(each.below_empty for each in mine.values())
        total = sum(each.graphs for each in mine.values())
        lines.append(
            f"| {_named(name, results)} | {' | '.join(cells)} | "
            f"{max(each.graphs for each in mine.values())} | {mine[bad].worst:.3g}: "
            f"{mine[bad].worst_graph}, {bad:g} | {below} of {total} |"
        )
    return "\n".join([*lines, ""])


def _cell_of(standings: Mapping[float, Standing], epsilon: float) -> str:
    each = standings.get(epsilon)
    if each is None:
        return ""
    return f"{each.ratio:.3g} ({'-' if each.rank is None else each.rank})"


def _behind(results: Results) -> str:
    """Where this package is not first, and by how much."""
    lines = [_BEHIND]
    needy = {name for name in results.contenders if _needs_groups(name)}
    heads = " | ".join(f"epsilon {epsilon:g}" for epsilon in results.epsilons)
    for title, only, grouped in _SIDES:
        lines += [f"{title}:\n", f"| measure | {heads} |", f"|---|{'---|' * len(results.epsilons)}"]
        without = () if grouped else needy
        for measure in RANKED:
            duels = [
                results.duels(epsilon, measure, only=only, without=without)
                for epsilon in results.epsilons
            ]
            if any(duels):
                lines.append(f"| {measure} | {' | '.join(map(_lost, duels))} |")
        lines.append("")
    return "\n".join(lines)


def _needs_groups(name: str) -> bool:
    known = CONTENDERS.get(name)
    return known is not None and known.needs_groups


def _lost(duels: Mapping[str, tuple[str, float]]) -> str:
    """The duels that were lost, in few words."""
    behind = {graph: duel for graph, duel in duels.items() if duel[1] > 1}
    if not behind:
        return f"0 of {len(duels)}" if duels else ""
    worst = max(behind, key=lambda graph: behind[graph][1])
    mean = geometric_mean([ratio for _, ratio in behind.values()])
    name, ratio = behind[worst]
    most = f"at most {ratio:.2f}: {_plain(name)} on {worst}"
    return f"{len(behind)} of {len(duels)}, by {mean:.2f}; {most}"


def _failures(results: Results) -> str:
    if not results.failures:
        return ""
    lines = ["## What failed\n", "| contender | runs | on | why |", "|---|---|---|---|"]
    for (name, reason), runs in sorted(results.failures.items()):
        graphs = ", ".join(dict.fromkeys(run.graph for run in runs))
        lines.append(f"| {_named(name, results)} | {len(runs)} | {graphs} | {_plain(reason)} |")
    return "\n".join([*lines, ""])


def _graphs(results: Results) -> str:
    lines = ["## The graphs\n", "| graph | | vertices | licence |", "|---|---|---|---|"]
    known = {case.name: case for case in CASES}
    names = sorted(results.graphs, key=lambda name: [*known, name].index(name))
    lines += [_line_of(name, known.get(name)) for name in names]
    lines += ["", "```{toctree}", ":hidden:", ":glob:", "", "benchmark/*", "```", ""]
    return "\n".join(lines)


def _line_of(name: str, case: GraphCase | None) -> str:
    if case is None:
        return f"| [{name}](benchmark/{name}.md) | from a folder | | |"
    return f"| [{name}](benchmark/{name}.md) | {about(case)} | {case.vertices:,} | {case.licence} |"


def about(case: GraphCase) -> str:
    """A graph in few words."""
    kind = "" if case.kind == "undirected" else f"; {case.kind}"
    return f"{case.title}{kind}{'; weighted' if case.weighted else ''}"


def graph_page(runs: Sequence[BenchmarkRun], graph: str) -> str:
    """The page of one graph: every measure of every contender, by epsilon.

    Args:
        runs: as for `main_page`.
        graph: name of the case.
    """
    results = Results([run for run in runs if run.graph == graph])
    known = {case.name: case for case in CASES}.get(graph)
    lines = [f"# {graph}\n"]
    if known is not None:
        groups = "; public groups" if known.groups is not None else ""
        lines.append(f"{about(known)}{groups}; {known.vertices:,} vertices; {known.licence}.\n")
    lines.append(
        "Mean over seeds of the error over that of the empty graph; the least of each measure "
        "among contenders whose claim holds is bold. Seconds and MiB as they are. "
        "[What the measures are](../benchmark.md).\n"
    )
    lines.append(f"![Errors by epsilon]({graph}.png)\n")
    for epsilon in results.epsilons:
        names = [m.name for m in MEASURES if results.errors(graph, epsilon, m.name)]
        lines += [f"## epsilon = {epsilon:g}\n", f"| contender | {' | '.join(names)} |",
                  f"|---|{'---|' * len(names)}"]  # fmt: skip
        columns = {name: results.errors(graph, epsilon, name) for name in names}
        for contender in results.contenders:
            cells = [_error(results, columns[name], contender, name) for name in names]
            if any(cells):
                lines.append(f"| {_named(contender, results)} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _error(results: Results, column: Mapping[str, float], contender: str, measure: str) -> str:
    if contender not in column:
        return ""
    sound = [value for name, value in column.items() if name in results.sound]
    text = f"{column[contender]:.3g}"
    first = measure in RANKED and contender in results.sound and column[contender] == min(sound)
    return f"**{text}**" if first else text


def _named(name: str, results: Results) -> str:
    marks = (_UNSOUND if name not in results.sound else "") + (
        _UNAUDITED if name not in results.audited else ""
    )
    return f"{_plain(name)}{marks.replace('*', chr(92) + '*')}"


def _plain(text: str) -> str:
    """Text that breaks no table."""
    return " ".join(text.replace("|", "/").replace("<", "&lt;").split())
