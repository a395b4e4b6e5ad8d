"""The figures by name, with their measurements and pictures. All graphs are simulated or public."""

import inspect
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from matplotlib.figure import Figure

from graphcuts_dp.errors import AccuracyWarning, FileFormatError, ParameterError
from graphcuts_dp.evaluation.tables import NOT_PRIVATE
from graphcuts_dp.files import atomic_write
from graphcuts_dp.resources import Progress, one_blas_thread, silent
from scripts.figures import (
    bipartite_cuts,
    density,
    distances,
    laplace_tail,
    low_rank,
    nikiforov,
    queries,
    real_graphs,
    table_one,
    updates,
)
from scripts.figures.base import Experiment, Table
from scripts.figures.style import save_figure

_BEGIN, _END = "<!-- figures: begin -->", "<!-- figures: end -->"


@final
@dataclass(frozen=True, kw_only=True)
class FigureSpec:
    """A figure of the papers' statements.

    Attributes:
        name: for `make_figure`, words with hyphens.
        shows: what it shows, in one line.
        tests: which statements of which papers: "GRU12 Theorem 6.5".
        measure: makes the table.
        draw: makes the picture from the table alone.
    """

    name: str
    shows: str
    tests: str
    measure: Experiment
    draw: Callable[[Table], Figure]

    def base(self, folder: Path) -> Path:
        """Return the path of its files without the ending."""
        return folder / self.name.replace("-", "_")


def _spec(name: str, module: Any, measure: Experiment | None = None) -> FigureSpec:
    """Describe the figure of a module; the docstring of `measure` says what it is for."""
    measure = measure or module.measure
    text = inspect.getdoc(measure) or ""
    shows, tests = (
        " ".join(part.split()).rstrip(".")
        for part in (text.partition("\n\n")[0], text.partition("Tests: ")[2])
    )
    shown = shows[0].lower() + shows[1:]
    return FigureSpec(name=name, shows=shown, tests=tests, measure=measure, draw=module.draw)


FIGURES: tuple[FigureSpec, ...] = (
    _spec("density", density),
    _spec("table-1", table_one),
    _spec("queries", queries),
    _spec("laplace-tail", laplace_tail),
    _spec("nikiforov", nikiforov),
    _spec("imbalanced", bipartite_cuts, bipartite_cuts.measure_imbalanced),
    _spec("power-law", bipartite_cuts, bipartite_cuts.measure_power_law),
    _spec("updates", updates),
    _spec("low-rank", low_rank),
    _spec("distances", distances),
    _spec("real-graphs", real_graphs),
)


def figure_names() -> tuple[str, ...]:
    """Return all names, in the order of the list."""
    return tuple(spec.name for spec in FIGURES)


def find_figure(name: str) -> FigureSpec:
    """Return the figure of a name; underscores are read as hyphens.

    Raises:
        ParameterError: there is none.
    """
    for spec in FIGURES:
        if spec.name == name.replace("_", "-"):
            return spec
    raise ParameterError(f"no figure {name!r}; there are {', '.join(figure_names())}")


def make_figure(
    name: str,
    folder: str | Path,
    *,
    quick: bool = False,
    seed: int = 0,
    progress: Progress = silent,
) -> Table:
    """Measure, draw and save a figure as .png, .pdf, .csv and .json, replacing what is there.

    The same arguments give the same bytes on one machine.

    Args:
        name: one of `figure_names`.
        folder: where to; it must be there.
        quick: smaller sizes, in seconds instead of minutes.
        seed: >= 0; all randomness comes from it. Graphs are simulated or public, so nothing is at
            stake.
        progress: called with the fraction done and a message.

    Returns:
        The table, with what was found. NOT PRIVATE.

    Raises:
        ParameterError: no such figure, or a negative seed.
        FileFormatError: the folder is not there.
    """
    spec = find_figure(name)
    if seed < 0:
        raise ParameterError("seed must be 0 or larger")
    folder = Path(folder)
    if not folder.is_dir():
        raise FileFormatError(f"the folder {folder} does not exist; create it first")
    with one_blas_thread(), warnings.catch_warnings():  # threads change the last digits
        warnings.simplefilter("ignore", AccuracyWarning)  # where accuracy ends is what is measured
        table = spec.measure(quick=quick, seed=seed, progress=progress)
    save_figure(
        spec.draw(table),
        spec.base(folder),
        columns=table.columns,
        rows=table.rows,
        parameters={
            "figure": spec.name,
            "mark": NOT_PRIVATE,
            "shows": spec.shows,
            "tests": spec.tests,
            "quick": quick,
            "seed": seed,
            "parameters": dict(table.parameters),
            "findings": [
                asdict(finding) | {"verdict": finding.verdict, "text": str(finding)}
                for finding in table.findings
            ],
        },
    )
    return table


def write_index(folder: str | Path) -> None:
    """Rewrite what the folder's README.md says of the figures that lie there.

    A section for each, with all that was found.

    Args:
        folder: with a README.md that has the two marks between which the table stands.

    Raises:
        FileFormatError: no such README.md, or no marks in it.
    """
    readme = Path(folder) / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    before, begin, after_begin = text.partition(_BEGIN)
    _, ended, after = after_begin.partition(_END)
    if not (begin and ended):
        raise FileFormatError(f"{readme} has no lines {_BEGIN} and {_END} for the table")
    entries = [
        (stem.name, json.loads(stem.with_suffix(".json").read_text(encoding="utf-8")))
        for stem in (spec.base(Path(folder)) for spec in FIGURES)
        if stem.with_suffix(".json").is_file()
    ]
    table = "\n\n".join("\n".join(_section(stem, about)) for stem, about in entries)
    with atomic_write(readme, force=True) as handle:
        handle.write(f"{before}{_BEGIN}\n{table}\n{_END}{after}".encode())


def _section(stem: str, about: dict[str, Any]) -> list[str]:
    shows = f"{about['shows'][0].upper()}{about['shows'][1:]}. Tests {about['tests']}."
    lines = [f"### {stem}", "", shows, "", f"![{stem}]({stem}.png)", ""]
    quick = " (quick run)" if about["quick"] else ""
    count = len(about["findings"])
    agree = sum(finding["agrees"] for finding in about["findings"])
    lines += ["<details>", f"<summary>{agree} of {count} statements agree{quick}</summary>", ""]
    lines += ["| statement | claimed | measured | agrees |", "|---|---|---|---|"]
    for finding in about["findings"]:
        claimed = "" if finding["claimed"] is None else f"{finding['claimed']:.3g}"
        verdict = "yes" if finding["agrees"] else "**no**"
        if finding.get("too_small"):
            verdict = "too small to tell"
        lines.append(_row(finding["statement"], claimed, f"{finding['measured']:.3g}", verdict))
    return [*lines, "", "</details>"]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
