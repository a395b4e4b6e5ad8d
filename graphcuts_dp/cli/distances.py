"""`graphcuts-dp distances`: the average distance of every vertex of a public map to all people."""

from typing import Annotated

import numpy as np
import typer

from graphcuts_dp.cli.console import (
    accuracy_notes,
    progress_bar,
    say,
    show_facts,
    show_json,
    show_table,
)
from graphcuts_dp.cli.publishing import tell_publishing
from graphcuts_dp.cli.reading import TextReading, check_apart, with_options
from graphcuts_dp.cli.spelling import spelled
from graphcuts_dp.cli.store_options import Spending
from graphcuts_dp.distances.answers import (
    DistanceAnswers,
    answer_distances,
    locations_subject,
)
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.map_files import read_map
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.distances.plan import MECHANISMS, NOISES
from graphcuts_dp.errors import FileFormatError, GraphCutsError, ParameterError
from graphcuts_dp.graph.atomic import check_writable_set
from graphcuts_dp.graph.columns import TextOptions
from graphcuts_dp.plotting.saving import write_figure
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.receipts import receipt_path

EXAMPLE = """Example: graphcuts-dp distances roads.csv people.csv --epsilon 1 --plot map.png

Example: graphcuts-dp distances roads.csv people.csv --epsilon 1 --delta 1e-6 --mechanism learner

MAP is public: a graph whose weights are lengths. Without weights, each edge has length 1. Of
parallel edges the shortest counts. Without coordinates the plot is a computed layout. LOCATIONS
is private: a CSV file with one row for each person that names a vertex of the map, or with
columns vertex and people. The place of any one person is hidden; the number of people is not."""


CoordinatesOption = Annotated[
    str | None,
    typer.Option(help="CSV file with the columns vertex, and x and y, or lon and lat."),
]
LpOption = Annotated[
    float | None,
    typer.Option(
        help="Distances are those of the l_p norm of the --coordinates, p from 1 to 2 (2: straight "
        "lines), not along the map's edges."
    ),
]


@with_options
def distances(
    map_file: Annotated[str, typer.Argument(metavar="MAP", help="The public map.")],
    locations: Annotated[
        str, typer.Argument(metavar="LOCATIONS", help="The private locations of people.")
    ],
    epsilon: Annotated[float, typer.Option(help="Epsilon of one person; smaller is more private.")],
    spending: Spending,
    delta: Annotated[
        float, typer.Option(help="0 for pure differential privacy; otherwise choose far below 1/n.")
    ] = 0.0,
    mechanism: Annotated[
        str, typer.Option(help=f"Mechanism, one of: {', '.join(MECHANISMS)}.")
    ] = "auto",
    noise: Annotated[str, typer.Option(help=f"Noise, one of: {', '.join(NOISES)}.")] = "auto",
    confidence: Annotated[
        float, typer.Option(help="Probability that all intervals hold at once.")
    ] = 0.95,
    coordinates: CoordinatesOption = None,
    ignore_lengths: Annotated[
        bool, typer.Option("--ignore-lengths", help="Give every edge of the map length 1.")
    ] = False,
    lp: LpOption = None,
    at_most: Annotated[int, typer.Option(help="Number of people that are protected together.")] = 1,
    top: Annotated[int, typer.Option(help="Number of best vertices to show; 0 shows all.")] = 20,
    *,
    reading: TextReading,
    output: Annotated[
        str | None, typer.Option(help="CSV file for all answers; a receipt is written beside it.")
    ] = None,
    plot: Annotated[
        str | None, typer.Option(help="Draw the map, coloured by the answers: .png or .pdf.")
    ] = None,
    unit: Annotated[str, typer.Option(help="Unit of the lengths, for the plot.")] = "",
    seed: Annotated[
        int | None, typer.Option(help="Seed of a repeatable run. NOT PRIVATE: for tests only.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Release privately the average distance of all people from every vertex of a map."""
    exact_epsilon(epsilon)
    if top < 0:
        raise ParameterError("--top must be 0 or more")
    store = spending.check()
    check_apart([output, plot], map_file, locations, coordinates, spending.store)
    _check_paths(output, plot, force=force)
    metric = read_map_file(map_file, coordinates, ignore_lengths, reading, lp)
    placed = Locations.read(metric, locations)
    spending.remind(locations_subject(placed), locations)
    with accuracy_notes(), progress_bar("answering") as progress, metric.reporting(progress):
        made = answer_distances(
            metric,
            placed,
            epsilon=epsilon,
            delta=delta,
            at_most=at_most,
            store=store,
            mechanism=mechanism,
            noise=noise,
            confidence=confidence,
            seed=seed,
        )
    written = [] if output is None else list(made.save(output, force=force))
    if plot is not None:
        write_figure(made.plot(unit=unit), plot, force=force)
        written.append(plot)
    if as_json:
        show_json(made.to_dict() | {"files": written})
        return
    _show(made, top, unit)
    for file in written:
        say(f"wrote {file}")
    if written:
        tell_publishing(made.guarantee, written, locations)


def read_map_file(
    path: str,
    coordinates: str | None,
    ignore_lengths: bool,
    reading: TextReading,
    lp: float | None = None,
) -> Metric:
    """The public map of a command; what is wrong with the file is told in the command's words."""
    text = TextOptions(**reading.options())
    if lp is not None and coordinates is None:
        raise ParameterError("--lp needs --coordinates")
    try:
        made = read_map(path, coordinates=coordinates, ignore_lengths=ignore_lengths, text=text)
        if lp is None or made.coordinates is None:
            return made
        return Metric.of_points(made.coordinates, p=lp, vertices=made.vertices)
    except GraphCutsError as problem:
        told = spelled(problem, path)
        told.args = (str(told).replace("--ignore-weights", "--ignore-lengths"),)
        raise told from None


def _show(made: DistanceAnswers, top: int, unit: str) -> None:
    show_facts(
        {
            "guarantee": str(made.guarantee),
            "map": made.plan.title,
            "choice": made.plan.reason,
            "may be the best": f"{len(made.candidates)} of {len(made.values)} vertices",
        }
    )
    order = np.argsort(made.values, kind="stable").tolist()
    answers = made.all()
    shown = [answers[row] for row in (order[:top] if top else order)]
    show_table(
        f"Average distance to all people{f' in {unit}' if unit else ''}, "
        f"nearest {len(shown)} of {len(order)}; intervals hold at once, {made.confidence:.0%}",
        ("vertex", "distance", "low", "high"),
        [(str(a.vertex), *(f"{x:,.4g}" for x in (a.value, *a.interval))) for a in shown],
    )


def _check_paths(output: str | None, plot: str | None, *, force: bool) -> None:
    if plot is not None and not plot.lower().endswith((".png", ".pdf")):
        raise FileFormatError(f"{plot}: a plot ends in .png or .pdf")
    answers = () if output is None else (output, receipt_path(output))
    check_writable_set([*answers, *(() if plot is None else (plot,))], force=force)
