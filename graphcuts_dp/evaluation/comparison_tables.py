"""A comparison of synthetic graphs with a real one: plain values, which a table or a plot shows.

They were computed from the real graph, so they are not private.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, final

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.display import Card, Tabled, short
from graphcuts_dp.evaluation.tables import NOT_PRIVATE, READS_TRUTH
from graphcuts_dp.files import PathLike
from graphcuts_dp.frames import made_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHUNG_LU, EMPTY = "Chung-Lu", "empty graph"
BASELINES = (CHUNG_LU, EMPTY)
_MOST_COLUMNS = 4  # of synthetic graphs in a printed table; of more their mean, least and largest


@final
@dataclass(frozen=True)
class ComparisonRow:
    """One statistic of the real graph and of all others.

    Attributes:
        topic: what it is about: "cuts", "size", "degrees", "weights", "clustering", "mixing",
            "communities", "paths" or "spectrum".
        statistic: its name.
        measure: "value" for a number that each graph has, best where it is that of the real one;
            "error" for a distance from the real graph, best where it is 0.
        real: the number of the real graph, 0 for an error; None if it is not defined.
        values: of each graph, in the order of `GraphComparison.graphs`; None if not defined.
        unit: what an error of 1 stands for, such as the mean weight of the cuts; 1 for a value.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> gc.compare(club, {"itself": club}).row("edges").real
        78.0
    """

    topic: str
    statistic: str
    measure: Literal["value", "error"]
    real: float | None
    values: tuple[float | None, ...]
    unit: float = 1.0

    @property
    def errors(self) -> tuple[float | None, ...]:
        """The error of each graph: of a value |value - real| / |real|; None if not defined."""
        if self.measure == "error":
            return self.values
        if not self.real:
            return (None,) * len(self.values)
        scale = abs(self.real)
        return tuple(
            None if value is None else abs(value - self.real) / scale for value in self.values
        )


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class GraphComparison(Tabled):
    """Statistics of synthetic graphs beside those of the real one. NOT PRIVATE: it reads the truth.

    Attributes:
        graphs: names of the compared graphs, in the order of the columns: the synthetic ones, then
            "Chung-Lu" and "empty graph".
        rows: the statistics.
        notes: sentences on how statistics were computed, and what was sampled.
        seed: of the random cuts, of the graph of Chung and Lu, and of the samples.
        degrees: number of edges of each vertex, of the real graph and then of each of `graphs`; of
            a directed graph in and out together, of a bipartite one left and then right.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> comparison = gc.compare(club, gc.release_graph(club, epsilon=1.0))
        >>> comparison.graphs
        ('synthetic', 'Chung-Lu', 'empty graph')
        >>> comparison.row("edges").real
        78.0
        >>> comparison.row("worst cut, at most").values[-1]
        1.0
    """

    graphs: tuple[str, ...]
    rows: tuple[ComparisonRow, ...]
    notes: tuple[str, ...]
    seed: int
    degrees: tuple[FloatVector, ...] = field(compare=False)

    @property
    def synthetic(self) -> tuple[str, ...]:
        """Names of the synthetic graphs."""
        return self.graphs[: -len(BASELINES)]

    def row(self, statistic: str) -> ComparisonRow:
        """Return the row of a statistic.

        Args:
            statistic: its name, as the table has it.

        Raises:
            KeyError: there is none of this name.
        """
        for row in self.rows:
            if row.statistic == statistic:
                return row
        raise KeyError(statistic)

    def __repr__(self) -> str:
        return str(self)

    def _card(self) -> Card:
        several = len(self.synthetic) > _MOST_COLUMNS
        names = ("mean", "least", "largest") if several else self.synthetic
        table = []
        for row in self.rows:
            values = row.values[: -len(BASELINES)]
            if several:
                values = _summary(values)
            cells = (row.real, *values, *row.values[-len(BASELINES) :])
            label = row.statistic + (" (error)" if row.measure == "error" else "")
            table.append((label, *map(_cell, cells)))
        count = f" of {len(self.synthetic)} synthetic graphs" if several else ""
        return Card(
            title=f"comparison with the real graph{count} ({NOT_PRIVATE})",
            columns=("", "real", *names, *BASELINES),
            rows=table,
            warning=READS_TRUTH,
            notes=(*self.notes, READS_TRUTH),
        )

    def _picture(self) -> "Figure | None":
        return self.plot()

    def plot(self, path: PathLike | None = None, *, force: bool = False) -> "Figure":
        """Draw the comparison, as wide as one column of a paper; see `comparison_figure`.

        Args:
            path: a file to write as well: .pdf or .svg for vectors, .png for pixels; None if the
                figure is only returned.
            force: replace a file that exists.

        Returns:
            A figure of matplotlib.

        Raises:
            FileFormatError: the file cannot be written, exists, or has another ending.
        """
        # matplotlib is slow to import
        from graphcuts_dp.evaluation.comparison_figure import comparison_figure
        from graphcuts_dp.plotting.style import write_figure

        figure = comparison_figure(self)
        if path is not None:
            write_figure(figure, path, force=force)
        return figure

    def to_frame(self, kind: Any = None) -> Any:
        """Return a table with one row for each statistic. NOT PRIVATE.

        Its columns are "topic", "statistic", "measure", "unit", "real", and one for each graph. A
        number that is not defined is missing.

        Args:
            kind: "pandas", "polars" or "pyarrow", or a table whose kind it shall have; None for the
                first of these that is installed.

        Raises:
            ParameterError: none is installed, or another kind.
        """
        columns: dict[str, list[Any]] = {
            name: [getattr(row, name) for row in self.rows]
            for name in ("topic", "statistic", "measure", "unit")
        }
        numbers = [(row.real, *row.values) for row in self.rows]
        for name, column in zip(("real", *self.graphs), zip(*numbers, strict=True), strict=True):
            columns[name] = list(column)
        return made_frame(columns, kind)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, marked as not private; None for what is not defined."""
        return {
            "mark": NOT_PRIVATE,
            "warning": READS_TRUTH,
            "seed": self.seed,
            "notes": list(self.notes),
            "graphs": list(self.graphs),
            "rows": [
                {
                    "topic": row.topic,
                    "statistic": row.statistic,
                    "measure": row.measure,
                    "unit": row.unit,
                    "real": row.real,
                    "values": dict(zip(self.graphs, row.values, strict=True)),
                }
                for row in self.rows
            ],
        }


def _summary(values: tuple[float | None, ...]) -> tuple[float | None, ...]:
    """Return the mean, the least and the largest of the values that are defined."""
    defined = [value for value in values if value is not None]
    if not defined:
        return None, None, None
    return math.fsum(defined) / len(defined), min(defined), max(defined)


def _cell(value: float | None) -> str:
    """Return a number as text; "-" if it is not defined."""
    return "-" if value is None else short(value)
