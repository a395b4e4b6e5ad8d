"""The cut that a user gets: which part each vertex is in. It was put out with noise: all public."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import QueryError
from graphcuts_dp.files import PathLike
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.vertices import Arcs, Label, VertexSet
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, promise_text
from graphcuts_dp.privacy.noise import SEEDED_WARNING
from graphcuts_dp.results import bundle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND = "cut"


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LeastCut(Displayed):
    """A partition of the vertices that keeps its terminals apart, at little weight.

    The partition is all that was put out; what it weighs is not known from it. To ask for that is
    one noisy cut more: `gc.release_flows(graph, cut.groups, epsilon=0.5)`, whose `total` and cells
    have intervals, or `ask(*cut.parts)` of a session.

    Attributes:
        space: the public vertices, or `Arcs` of a directed graph.
        terminals: the labels that were to be kept apart, a tuple for each part.
        codes: the number of the part of each vertex, in the order of the vertices, shape (n,).
        guarantee: the promise of differential privacy.
        excess: with 95 % the cut weighs at most this more than the least one; of more than two
            parts than the least cuts at each step of halving, added up. In units of weight.
    """

    space: VertexSet | Arcs
    terminals: tuple[tuple[Label, ...], ...]
    codes: npt.NDArray[np.int32]
    guarantee: PrivacyGuarantee
    excess: float

    @property
    def vertices(self) -> VertexSet:
        """The public vertex set."""
        return self.space.vertices if isinstance(self.space, Arcs) else self.space

    @cached_property
    def parts(self) -> tuple[tuple[Label, ...], ...]:
        """The labels in each part, in the order of the terminals; of two, S and T."""
        labels = self.vertices.labels
        return tuple(
            tuple(labels[row] for row in np.flatnonzero(self.codes == part).tolist())
            for part in range(len(self.terminals))
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many vertices each part has."""
        return tuple(np.bincount(self.codes, minlength=len(self.terminals)).tolist())

    @property
    def names(self) -> tuple[Label, ...]:
        """A name for each part: its first terminal."""
        return tuple(ends[0] for ends in self.terminals)

    def part_of(self, vertex: Label) -> Label:
        """The name of the part that a vertex is in.

        Raises:
            QueryError: an unknown vertex.
        """
        row = self.vertices.find(vertex)
        if row is None:
            raise QueryError(f"unknown vertex {vertex!r:.60}; it is not in the public vertex set")
        return self.names[int(self.codes[row])]

    @cached_property
    def groups(self) -> Groups:
        """The parts as public groups, by which `release_flows` tells what passes between them."""
        names = self.names
        return Groups(self.vertices, {"part": [names[code] for code in self.codes.tolist()]})

    @property
    def notes(self) -> tuple[str, ...]:
        """What follows from the partition alone, a sentence for each part that is only its end."""
        alone = [
            ends
            for ends, size in zip(self.terminals, self.sizes, strict=True)
            if size == len(ends) and size < len(self.codes)
        ]
        return tuple(
            f"Only {', '.join(map(str, ends[:3]))}{', ...' if ends[3:] else ''} was cut off: its "
            "own edges seem to weigh less than any other cut, so nothing tells where else the "
            "graph breaks."
            for ends in alone
        )

    def plot(
        self, positions: Mapping[Label, tuple[float, float]], *, title: str | None = None
    ) -> "Figure":
        """Draw the vertices on a map, each part in a colour and shape of its own.

        Args:
            positions: where each vertex is, (longitude, latitude) or any plane. Vertices without
                a place are left out.
            title: above the picture; None for the terminals and the guarantee.

        Returns:
            A figure of matplotlib: `figure.savefig("cut.png")`.

        Raises:
            GraphError: no vertex has a position.
        """
        from graphcuts_dp.plotting.partition_plot import map_figure  # slow: matplotlib

        names = ", ".join(map(str, self.names))
        told = f"A cut between {names} ({promise_text(self.guarantee)})"
        return map_figure(
            positions,
            self.vertices.labels,
            self.codes.astype(np.int64),
            title=told if title is None else title,
        )

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write a table with the columns vertex and part, and a receipt.

        The table is one of public groups, too: `graphcuts-dp flows` takes it.

        Args:
            path: of the table, ending in .csv; of a seeded run it also has a column `mark`, which
                says in every row that it is not private. The receipt is `path` + ".json".
            force: replace files that are there.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: another ending, a missing folder, files that are there, a full disk.
        """
        fields = {
            **bundle.space_fields(self.space),
            "terminals": [list(ends) for ends in self.terminals],
            "excess": self.excess,
        }
        parts = [self.names[code] for code in self.codes.tolist()]
        table = bundle.table_of_parts(self.guarantee, self.vertices, parts)
        return bundle.save(KIND, path, self.guarantee, fields, table=table, force=force)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        with bundle.opened(path, KIND) as saved:
            terminals = tuple(tuple(ends) for ends in saved.fields["terminals"])
            code = {str(ends[0]): part for part, ends in enumerate(terminals)}
            with Path(path).open(newline="", encoding="utf-8") as handle:
                rows = csv.reader(handle)
                next(rows)
                codes = [code[part] for _, part, *_ in rows]
            space: Any = saved.space
            cut = cls(
                space=space,
                terminals=terminals,
                codes=np.array(codes, dtype=np.int32),
                guarantee=saved.guarantee,
                excess=float(saved.fields["excess"]),
            )
            if len(codes) != len(cut.vertices):
                raise ValueError("a table of other vertices")
            return cut

    def _card(self) -> Card:
        rows: list[Sequence[object]] = [
            (name, size, ", ".join(map(str, part[:10])) + (", ..." if part[10:] else ""))
            for name, size, part in zip(self.names, self.sizes, self.parts, strict=True)
        ]
        return Card(
            title="A cut that keeps its terminals apart",
            facts=(*self.guarantee.facts, ("above the least, 95 %", self.excess)),
            columns=("part of", "vertices", "which"),
            rows=rows,
            warning=self.guarantee.warning,
            notes=self.notes,
        )

    def __repr__(self) -> str:
        parts = " | ".join(
            f"{name!r}: {size:,}" for name, size in zip(self.names, self.sizes, strict=True)
        )
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        return f"LeastCut({parts}, epsilon={self.guarantee.epsilon:g}{mark})"
