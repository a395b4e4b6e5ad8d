"""Write the pages of the benchmark from the table of its runs alone."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from string import Template

from scripts.benchmark.base import Contender
from scripts.benchmark.contenders.table import CONTENDERS
from scripts.benchmark.graphs import CASES, GraphCase
from scripts.benchmark.measures import MEASURES
from scripts.benchmark.not_run import NOT_RUN, bound_shares
from scripts.benchmark.ranks import (
    FAILED,
    LEAST,
    OURS,
    RANKED,
    Results,
    Standing,
    geometric_mean,
    needs_groups,
)
from scripts.benchmark.runs import BenchmarkRun

_GRAPHS_OF_BOUNDS = ("blocks-1000", "random-300", "blocks-20000")  # in the order of the cases
_EPSILONS_OF_BOUNDS = (1.0, 5.0)
_UNSOUND, _UNAUDITED = "†", "*"
_TEMPLATE = Template(Path(__file__).with_name("page.md").read_text(encoding="utf-8"))


def main_page(runs: Sequence[BenchmarkRun], *, table: str) -> str:
    """Return the page of all graphs, in Markdown.

    Args:
        runs: as `read_runs` reads them from a table, with its digits.
        table: path of that table, for a link.
    """
    results = Results(runs)
    parts = {
        "what_was_run": _what_was_run(results, table),
        "least": f"{LEAST:g}",
        "failed": f"{FAILED:g}",
        "standings": "\n".join(filter(None, (_measure(results, measure) for measure in RANKED))),
        "behind": _behind(results, OURS, without=set(filter(needs_groups, results.contenders))),
        "behind_with_groups": _behind(results, f"{OURS}-groups"),
        "behind_at_best": _behind(results, None),
        "failures": _failures(results),
        "measures": markdown(
            ("measure", ""), [(measure.name, measure.about) for measure in MEASURES]
        ),
        "contenders": _contenders(results),
        "not_run": _not_run(),
        "graphs": _graphs(results),
    }
    return _TEMPLATE.substitute(parts)


def _what_was_run(results: Results, table: str) -> str:
    per_graph = {graph: results.seeds(graph) for graph in results.graphs}
    fewest, most = min(per_graph.values()), max(per_graph.values())
    seeds = f"{fewest} to {most}" if fewest < most else f"{most}"
    epsilons = ", ".join(f"{epsilon:g}" for epsilon in results.epsilons)
    versions = "; ".join(sorted({run.versions for run in results.runs}))
    return (
        f"{len(results.contenders)} contenders, {len(results.graphs)} graphs, epsilon = {epsilons},"
        f" {seeds} {'seeds' if most > 1 else 'seed'}: {len(results.runs):,} runs, of which "
        f"{sum(bool(run.failure) for run in results.runs)} failed; all of them with every measure: "
        f"[{table}]({table}). {versions}.\n{_old_order(results)}"
    )


def _old_order(results: Results) -> str:
    """Return a paragraph on what is weaker in runs from before vertices were shuffled."""
    old = sum(not run.shuffled for run in results.runs)
    if not old:
        return ""
    graphs = [name for name in results.graphs if name in results.ordered]
    return (
        f"\n**{old:,} of these runs are older**: one seed, without the measures of partitions, and "
        "with the vertices in the order of the file, in which planted groups of generated graphs "
        "are consecutive. Runs of `der`, which divides the matrix in quarters and so reads that "
        "order, are left out of them: it seemed to find groups that it was given. The older runs "
        f"are those on {', '.join(graphs)}; the table of graphs below says so of "
        "each.\n"
    )


def _contenders(results: Results) -> str:
    lines = []
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


def _measure(results: Results, measure: str) -> str:
    """Return the tables of a measure: contenders by epsilons."""
    parts = [f"## {measure[0].upper()}{measure[1:]}\n"]
    for title in results.tables():
        columns = {e: results.standings(e, measure, title) for e in results.epsilons}
        if any(columns.values()):
            parts += [f"### {title}\n", _standings(results, columns)]
    return "\n".join(parts) if parts[1:] else ""


def _standings(results: Results, columns: Mapping[float, Sequence[Standing]]) -> str:
    standings_of: dict[str, dict[float, Standing]] = defaultdict(dict)
    for epsilon, standings in columns.items():
        for standing in standings:
            standings_of[standing.contender][epsilon] = standing
    middle = {
        name: geometric_mean([standing.ratio for standing in mine.values()])
        for name, mine in standings_of.items()
    }
    rows = []
    for name in sorted(
        standings_of, key=lambda name: (name not in results.sound, middle[name], name)
    ):
        mine = standings_of[name]
        bad = max(mine, key=lambda epsilon: mine[epsilon].worst)
        rows.append([
            _named(name, results),
            *(_cell_of(mine.get(epsilon)) for epsilon in columns),
            f"{mine[bad].worst:.3g}: {mine[bad].worst_graph}, {bad:g}",
            "{} of {}".format(*(sum(getattr(standing, count) for standing in mine.values())
                                for count in ("below_empty", "graphs"))),
        ])  # fmt: skip
    graphs = sorted(
        {standing.graphs for mine in standings_of.values() for standing in mine.values()}
    )
    heads = [f"epsilon {epsilon:g}" for epsilon in columns]
    lines = markdown(("contender", *heads, "worst run", "below the empty graph"), rows)
    return f"On {' or '.join(map(str, graphs))} graphs.\n\n{lines}"


def _cell_of(standing: Standing | None) -> str:
    if standing is None:
        return ""
    rank = "-" if standing.rank is None else standing.rank
    return f"{standing.ratio:.3g}; {standing.share:.3g} ({rank})"


def _behind(results: Results, only: str | None, without: Collection[str] = ()) -> str:
    """List the graphs where our best contender, or one of ours, is not first, and by how much."""
    rows = []
    for measure in RANKED:
        duels = [
            results.duels(epsilon, measure, only=only, without=without)
            for epsilon in results.epsilons
        ]
        if any(duels):
            rows.append((measure, *map(_lost, duels)))
    heads = [f"epsilon {epsilon:g}" for epsilon in results.epsilons]
    return markdown(("measure", *heads), rows)


def _lost(duels: Mapping[str, tuple[str, float]]) -> str:
    """Return the duels that were lost, in few words."""
    behind = {graph: duel for graph, duel in duels.items() if duel[1] > 1}
    if not behind:
        return f"0 of {len(duels)}" if duels else ""
    worst = max(behind, key=lambda graph: behind[graph][1])
    mean = geometric_mean([ratio for _, ratio in behind.values()])
    name, ratio = behind[worst]
    most = f"at most {ratio:.2f}: {_plain(name)} on {worst}"
    return f"{len(behind)} of {len(duels)}, by {mean:.2f}; {most}"


def _failures(results: Results) -> str:
    rows = []
    for (name, reason), runs in sorted(results.failures.items()):
        graphs = ", ".join(dict.fromkeys(run.graph for run in runs))
        rows.append((_named(name, results), str(len(runs)), graphs, _plain(reason)))
    table = markdown(("contender", "runs", "on", "why"), rows)
    return f"## What failed\n\n{table}\n" if rows else ""


def _graphs(results: Results) -> str:
    known = {case.name: case for case in CASES}
    names = sorted(results.graphs, key=lambda name: [*known, name].index(name))
    rows = [_line_of(name, known.get(name)) for name in names]
    runs = [(f"{results.seeds(name)}", _order_of(name, results)) for name in names]
    heads = ("graph", "", "vertices", "licence", "seeds", "order of the vertices")
    return markdown(heads, [(*row, *both) for row, both in zip(rows, runs, strict=True)])


def _order_of(graph: str, results: Results) -> str:
    return "of the file" if graph in results.ordered else "shuffled"


def _line_of(name: str, case: GraphCase | None) -> tuple[str, ...]:
    link = f"[{name}](benchmark/{name}.md)"
    if case is None:
        return link, "from a folder", "", ""
    return link, about(case), f"{case.vertices:,}", case.licence


def _not_run() -> str:
    """Return the table of methods that are not run, with bounds over the empty graph's error."""
    sizes = [
        (case.vertices, len(case.make().rows)) for case in CASES if case.name in _GRAPHS_OF_BOUNDS
    ]
    shares = {
        method.name: [bound_shares(method, sizes, epsilon) for epsilon in _EPSILONS_OF_BOUNDS]
        for method in NOT_RUN
    }
    rows = [
        (
            f"{method.name}: {method.source}",
            _plain(method.theorem),
            *(
                "; ".join(f"{share:.3g}" for share in both)
                for both in zip(*shares[method.name], strict=True)
            ),
            _plain(method.reason),
        )
        for method in NOT_RUN
    ]
    return markdown(("method", "its theorem", *_GRAPHS_OF_BOUNDS, "why"), rows)


def about(case: GraphCase) -> str:
    """Describe a graph in few words."""
    kind = "" if case.kind == "undirected" else f"; {case.kind}"
    return f"{case.title}{kind}{'; weighted' if case.weighted else ''}"


def graph_page(runs: Sequence[BenchmarkRun], graph: str) -> str:
    """Return the page of one graph: every measure of every contender, by epsilon.

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
        "Mean over seeds of the error over that of the empty graph, and in brackets the largest; "
        f"seeds: {results.seeds(graph)}; order of the vertices: {_order_of(graph, results)}. The "
        "least mean of each measure among contenders whose claim holds is bold. Seconds and MiB "
        "are absolute. [What the measures are](../benchmark.md).\n"
    )
    lines.append(f"![Errors by epsilon]({graph}.png)\n")
    for epsilon in results.epsilons:
        names = [m.name for m in MEASURES if results.errors(graph, epsilon, m.name)]
        columns, rows = {name: results.errors(graph, epsilon, name) for name in names}, []
        for contender in results.contenders:
            cells = [
                _error(results, columns[name], contender, name)
                + _largest(results.values(contender, graph, epsilon, name))
                for name in names
            ]
            if any(cells):
                rows.append((_named(contender, results), *cells))
        lines.append(f"## epsilon = {epsilon:g}\n\n{markdown(('contender', *names), rows)}")
    return "\n".join(lines)


def _error(results: Results, column: Mapping[str, float], contender: str, measure: str) -> str:
    if contender not in column:
        return ""
    sound = [value for name, value in column.items() if name in results.sound]
    text = f"{column[contender]:.3g}"
    first = measure in RANKED and contender in results.sound and column[contender] == min(sound)
    return f"**{text}**" if first else text


def _largest(values: Sequence[float]) -> str:
    return f" ({max(values):.3g})" if len(values) > 1 else ""


def _named(name: str, results: Results) -> str:
    marks = (_UNSOUND if name not in results.sound else "") + (
        _UNAUDITED if name not in results.audited else ""
    )
    return f"{_plain(name)}{marks.replace('*', chr(92) + '*')}"


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    lines.insert(1, "|" + "---|" * len(heads))
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Return text that breaks no table."""
    return " ".join(text.replace("|", "/").replace("<", "&lt;").split())
