"""`graphcuts-dp figures`: measure and draw the figures of the papers' statements."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from graphcuts_dp.cli.console import progress_bar, say, show_json, show_table
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.files import check_writable
from scripts.figures.base import Finding
from scripts.figures.registry import FIGURES, FigureSpec, find_figure, make_figure
from scripts.figures.style import ENDINGS


def figures(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME ...|all]", help="Figures to make; without any, list them."),
    ] = None,
    folder: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Folder to write to; created if missing."
        ),
    ] = ".",
    quick: Annotated[
        bool, typer.Option("--quick", help="Use smaller sizes: seconds instead of minutes.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Measure and draw statements of the papers and say whether they hold; or list the figures.

    Example: graphcuts-dp figures

    Example: graphcuts-dp figures laplace-tail nikiforov --quick -o .

    The command writes four files for each figure: .png, .pdf, .csv (its table) and .json
    (parameters and findings). All graphs are simulated or public.
    """
    if not names:
        _show_list(as_json)
        return
    _make_folder(Path(folder))
    specs = FIGURES if names == ["all"] else tuple(find_figure(name) for name in names)
    for spec in specs:
        for ending in ENDINGS:
            check_writable(spec.base(Path(folder)).with_suffix(ending), force=force)
    findings: list[tuple[FigureSpec, Finding]] = []
    for spec in specs:
        with progress_bar(spec.name) as progress:
            table = make_figure(spec.name, folder, quick=quick, seed=seed, progress=progress)
        findings += [(spec, finding) for finding in table.findings]
        if not as_json:
            say(f"wrote {spec.base(Path(folder))}.png .pdf .csv .json")
    if as_json:
        show_json(
            [
                {"figure": spec.name, **asdict(finding), "verdict": finding.verdict}
                for spec, finding in findings
            ]
        )
    else:
        _show_findings(findings)


def _make_folder(folder: Path) -> None:
    """Make it where it is missing; the folder above it must be there."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as problem:
        raise FileFormatError(f"cannot make the folder {folder}: {problem.strerror}") from None


def _show_list(as_json: bool) -> None:
    if as_json:
        show_json([{"name": s.name, "tests": s.tests, "shows": s.shows} for s in FIGURES])
    else:
        rows = [(spec.name, spec.tests) for spec in FIGURES]
        show_table("Figures; name some, or all", ("name", "tests"), rows)


def _show_findings(findings: list[tuple[FigureSpec, Finding]]) -> None:
    rows = []
    for spec, finding in findings:
        claimed = "" if finding.claimed is None else f"{finding.claimed:.3g}"
        measured = f"{finding.measured:.3g}"
        rows.append((spec.name, finding.statement, claimed, measured, finding.verdict))
    show_table("Findings", ("figure", "statement", "claimed", "measured", "agrees"), rows)
