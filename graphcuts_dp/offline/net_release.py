"""What a user gets from the Net mechanism: a graph, answers with proven intervals, files."""

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Self, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.answers import whole_query
from graphcuts_dp.estimate.noisy_matrix import CutAnswer
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.file_sets import check_writable_files
from graphcuts_dp.offline.release import load_with_arrays, save_with_arrays
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.queries import Subset, answer_all
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.selection import shortfall
from graphcuts_dp.results.receipts import (
    PathLike,
    read_receipt,
    receipt_path,
    telling_damage,
)

_FORMAT = "net 1"


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NetRelease(Displayed):
    """A graph that was chosen privately from a net. All of it may be published.

    Attributes:
        graph: the member; weighted if the net's members are.
        guarantee: the promise of differential privacy.
        cost: the same, for composition.
        members: size of the net.
        alpha: how far the nearest member may be from the truth on any query.
        unit: of the answers that scores are counted in.
        rounding: how far counting in whole units can move a difference of two answers.
        rate: of the noise on each score, for one unit.
        coefficients: of the queries that it is for, shape (queries, X), the pairs in the order of
            `Universe.pairs`.
    """

    graph: AnyGraph
    guarantee: PrivacyGuarantee
    cost: Cost
    members: int
    alpha: float
    unit: float
    rounding: float
    rate: Fraction
    coefficients: FloatMatrix

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return Universe.of(self.graph)

    def error_bound(self, beta: float) -> float:
        """A bound on the error of every query at once that fails with probability beta at most.

        alpha + (2 Delta/epsilon) ln((members - 1)/beta), rounded down to a whole unit, where Delta
        is the sensitivity of the queries; `rounding` is added twice. DR14, Proposition 5.2 has
        members for members - 1. It holds if the truth was in the family that the net is for.

        Args:
            beta: in (0, 1).

        Raises:
            ParameterError: beta out of range.
        """
        if not 0 < beta < 1:
            raise ParameterError(f"beta must be between 0 and 1, not {beta}")
        steps = shortfall(self.members, self.rate, failure=beta)
        return self.alpha + self.unit * steps + 2 * self.rounding

    def answer(
        self,
        S: Subset | LinearQuery,
        T: Subset | None = None,
        *,
        confidence: float = 0.95,
    ) -> CutAnswer:
        """Answer any query from the graph; free, as often as you like.

        The interval holds for all queries that the release is for at once, cut to what a graph
        without weights can have. For others it is all of that, which is certain.

        Args:
            S: vertex labels or a truth vector, or a whole query.
            T: likewise; None for all vertices outside S (all right ones).
            confidence: of the interval, in (0, 1).

        Raises:
            ParameterError: confidence out of range.
            QueryError: an unknown vertex.
        """
        if not 0 < confidence < 1:
            raise ParameterError(f"confidence must be between 0 and 1, not {confidence}")
        query = whole_query(S, T)
        row = self.universe.coefficients(query)[self.universe.pairs()]
        value = float(answer_all([query], self.graph)[0])
        low, high = float(row[row < 0].sum()), float(row[row > 0].sum())
        if (self.coefficients == row).all(axis=1).any():
            # 1 - confidence, rounded down
            error = self.error_bound(math.nextafter(1 - confidence, 0))
            ends = (value - error, value + error)
            low, high = (min(max(end, low), high) for end in ends)
        else:
            confidence = 1.0
        return CutAnswer(
            value=value,
            interval=(low, high),
            confidence=confidence,
            simultaneous=True,
            seeded=not self.guarantee.is_private,
        )

    def answer_all(
        self, queries: Iterable[LinearQuery], *, confidence: float = 0.95
    ) -> list[CutAnswer]:
        """Answer several queries; see `answer`."""
        return [self.answer(query, confidence=confidence) for query in queries]

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write the graph at `path`, the queries and a receipt beside it.

        Args:
            path: where; the ending tells the graph's format. The receipt is `path` + ".json", the
                queries `path` + ".queries.npz".
            force: replace files that are there.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: unknown ending, missing folder, files that are there, a full disk.
                Nothing is left behind then, and older files stay as they are.
        """
        fields = {
            "format": _FORMAT,
            "guarantee": self.guarantee.to_dict(),
            "cost": self.cost.to_dict(),
            "members": self.members,
            "alpha": self.alpha,
            "unit": self.unit,
            "rounding": self.rounding,
            "rate": str(self.rate),
        }
        arrays = {"coefficients": self.coefficients}
        return save_with_arrays(self.graph, _names(path), arrays, fields, force=force)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        receipt = read_receipt(path, _FORMAT)
        with telling_damage(path):
            graph, arrays = load_with_arrays(path, queries_path(path), receipt)
            coefficients = np.array(arrays["coefficients"], dtype=np.float64)
            made = cls(
                graph=graph,
                guarantee=PrivacyGuarantee.from_dict(receipt["guarantee"]),
                cost=Cost.from_dict(receipt["cost"]),
                rate=Fraction(receipt["rate"]),
                coefficients=coefficients,
                **{name: receipt[name] for name in ("members", "alpha", "unit", "rounding")},
            )
            if coefficients.shape[1] != made.universe.size:
                raise ValueError("queries over other pairs")
            made.error_bound(0.5)
        coefficients.flags.writeable = False
        return made

    def _card(self) -> Card:
        return Card(
            title="Release from a net",
            facts=(
                ("members of the net", f"{self.members:,}"),
                ("error at most, with probability 95%", self.error_bound(0.05)),
                *self.guarantee.facts,
            ),
            warning=self.guarantee.warning,
        )

    def __repr__(self) -> str:
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        return f"NetRelease(epsilon={self.guarantee.epsilon:g}, members={self.members}{mark})"


def queries_path(path: PathLike) -> Path:
    """Where the queries of a net release at `path` are."""
    return Path(f"{os.fspath(path)}.queries.npz")


def _names(path: PathLike) -> tuple[Path, Path, Path]:
    return Path(path), queries_path(path), receipt_path(path)


def check_net_path(path: PathLike, *, force: bool = False) -> None:
    """Check that a net release can be written here; call it before anything is spent.

    Raises:
        FileFormatError: unknown ending, missing folder, no permission, or a file that is there.
    """
    check_writable_files(_names(path), force=force)
