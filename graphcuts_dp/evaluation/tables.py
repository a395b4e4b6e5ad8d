"""Tables of measured errors: plain values that a plot or a terminal can show.

They were computed from the private graph, so they are not private.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.frames import made_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOT_PRIVATE = "not private: evaluation"
READS_TRUTH = "this reads the private graph: its output is not private"


@final
@dataclass(frozen=True)
class CutErrorRow:
    """Errors on one kind of cut.

    Attributes:
        kind: of the cuts, in words.
        cuts: how many were tried; 0 for the worst of all cuts.
        size: the mean true value of the cuts; for the worst of all cuts, the sum of all entries of
            the matrix, in which an undirected edge counts twice.
        errors: mean absolute error for each estimate, in the order of `CutErrorTable.estimates`.
    """

    kind: str
    cuts: int
    size: float
    errors: tuple[float, ...]


@final
@dataclass(frozen=True)
class CutPoint:
    """One cut with its true value and its answer.

    Attributes:
        truth: true value.
        synthetic: value on the synthetic graph; None without one.
        noisy: (estimate, low, high): the estimate from the noisy matrix, and its interval; None if
            there is no release.
    """

    truth: float
    synthetic: float | None
    noisy: tuple[float, float, float] | None = None


@final
@dataclass(frozen=True)
class PropertyRow:
    """A property of the true graph and of each estimate, such as the modularity.

    Attributes:
        kind: name of the property.
        truth: its value in the true graph.
        values: its value in each estimate, in the order of `CutErrorTable.estimates`.
    """

    kind: str
    truth: float
    values: tuple[float, ...]


@final
@dataclass(frozen=True)
class PropertyTable(Displayed):
    """Properties of a true graph and of each estimate of it. Not private.

    Attributes:
        estimates: names of the columns.
        rows: one for each property.
    """

    estimates: tuple[str, ...]
    rows: tuple[PropertyRow, ...]

    def _card(self) -> Card:
        return Card(
            title=f"what is kept ({NOT_PRIVATE})",
            columns=("", "true", *self.estimates),
            rows=[
                (row.kind, *(f"{value:,.3g}" for value in (row.truth, *row.values)))
                for row in self.rows
            ],
            notes=("modularity: of the communities of the true graph (Louvain), in each",),
        )


@final
@dataclass(frozen=True)
class CutErrorTable(Displayed):
    """Cut errors of several estimates of one graph. Not private.

    Attributes:
        title: what was measured, with epsilon and noise.
        estimates: names of the columns.
        rows: one for each kind of cut.
        points: single cuts with their answers, for a plot.
        properties: modularity of the communities that the Louvain method finds in the true graph,
            and quantiles of degrees.
    """

    title: str
    estimates: tuple[str, ...]
    rows: tuple[CutErrorRow, ...]
    points: tuple[CutPoint, ...]
    properties: tuple[PropertyRow, ...] = ()

    def _picture(self) -> "Figure | None":
        return self.plot()

    def _card(self) -> Card:
        return Card(
            title=f"{self.title} ({NOT_PRIVATE})",
            columns=("mean error", "cuts", "true size", *self.estimates),
            rows=[
                (
                    row.kind,
                    f"{row.cuts:,}" if row.cuts else "all",
                    f"{row.size:,.1f}",
                    *(f"{error:,.1f}" for error in row.errors),
                )
                for row in self.rows
            ],
            notes=("worst cut: a proven upper bound, edges inside both sets counted twice",),
        )

    def plot(self) -> "Figure":
        """Draw it, as a figure of matplotlib; see `cut_error_figure`."""
        from graphcuts_dp.evaluation.cut_error_figure import cut_error_figure  # matplotlib is slow

        return cut_error_figure(self)

    def to_frame(self, kind: Any = None) -> Any:
        """Make a table with a row for each kind of cut. Not private.

        Its columns are kind, cuts, size, and a mean error for each of `estimates`.

        Args:
            kind: see `Graph.to_frame`.

        Raises:
            ParameterError: see `Graph.to_frame`.
        """
        columns: dict[str, list[Any]] = {
            "kind": [row.kind for row in self.rows],
            "cuts": [row.cuts for row in self.rows],
            "size": [row.size for row in self.rows],
        }
        for index, name in enumerate(self.estimates):
            columns[name] = [row.errors[index] for row in self.rows]
        return made_frame(columns, kind)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, marked as not private."""
        return {
            "mark": NOT_PRIVATE,
            "title": self.title,
            "rows": [
                {
                    "kind": row.kind,
                    "cuts": row.cuts,
                    "size": row.size,
                    "errors": dict(zip(self.estimates, row.errors, strict=True)),
                }
                for row in self.rows
            ],
            "kept": [
                {
                    "kind": row.kind,
                    "true": row.truth,
                    "estimates": dict(zip(self.estimates, row.values, strict=True)),
                }
                for row in self.properties
            ],
        }


def index_of_single_cuts(kinds: Sequence[str]) -> int:
    """Return the index of the kind of cuts that `CutErrorTable.points` are of.

    It is the last kind if that is "given ..." or "between ..." (groups or communities); else the
    first, cuts around single vertices.

    Args:
        kinds: of cuts, in the order of a table, without the worst of all cuts.
    """
    return len(kinds) - 1 if kinds[-1].startswith(("between", "given")) else 0
