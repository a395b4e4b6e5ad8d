"""Options about whom a promise protects."""

from dataclasses import dataclass
from functools import partial
from typing import Any, final

from graphcuts_dp.cli.reading import Reading, note_reading
from graphcuts_dp.cli.spelling import spelled
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.owned_rows import PrivateData, bounded_graph, without_rows
from graphcuts_dp.options import PRIVACY, option
from graphcuts_dp.privacy.guarantee import Protect

_privacy = partial(option, group=PRIVACY)


@final
@dataclass(frozen=True, kw_only=True)
class Protecting:
    """Whom what is released protects."""

    protect: str = _privacy(
        "edges", help="What is protected: edges, vertex, or the owner of rows (--owner)."
    )
    at_most: int | None = _privacy(
        None,
        help="Number of edges that are protected together (1 if omitted), or how "
        "much of an owner counts.",
    )

    degree_bound: int | None = _privacy(
        None, help="Largest number of edges of a vertex that a sum counts, for --protect vertex."
    )

    @property
    def of(self) -> Protect:
        """Whom.

        Raises:
            ParameterError: an unknown name, or a bound out of range.
        """
        try:
            return Protect.of(self.protect, at_most=self.at_most, degree_bound=self.degree_bound)
        except ParameterError as problem:
            raise spelled(problem, "") from None

    def options(self, *, vertices: bool = False) -> dict[str, Any]:
        """As the functions of the package take them, checked.

        Args:
            vertices: whether the function knows of vertices; others refuse them by themselves.

        Raises:
            ParameterError: as `of`.
        """
        self.of  # noqa: B018  # refuses
        given = {"protect": self.protect, "at_most": self.at_most}
        return {**given, "degree_bound": self.degree_bound} if vertices else given

    def read(self, reading: Reading, path: str) -> tuple[PrivateData, AnyGraph]:
        """Read what will be released, and say how it was read; with its graph, without any edge.

        Raises:
            GraphCutsError: as `Reading.read_private` and `Reading.read_rows`.
            ParameterError: owners that are not to be protected, or the other way round.
        """
        if self.of.kind == "owner" and reading.owner is None:
            raise ParameterError("--protect owner needs --owner COLUMN, which names whose a row is")
        if reading.owner is None:
            graph = reading.read_private(path)
            return graph, bounded_graph(without_rows(graph), self.of)
        if self.of.kind != "owner":
            raise ParameterError("--owner COLUMN is for --protect owner --at-most K")
        rows = reading.read_rows(path, tell=note_reading)
        note_reading(
            f"Of each owner at most {self.of.steps:,} {rows.what} count; how much is left out is "
            "not told: graphcuts-dp owners tells it, for a part of the budget."
        )
        if rows.counting == "weight":
            note_reading(f"Weights come out in units of {rows.unit:g}.")
        return rows, bounded_graph(without_rows(rows), self.of)
