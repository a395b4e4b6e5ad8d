"""What a user gets of a few cuts that were answered together: answers, a picture, files."""

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast, final

import numpy as np

from graphcuts_dp.display import Card, Displayed, size_text
from graphcuts_dp.errors import FileFormatError, ParameterError, QueryError
from graphcuts_dp.estimate.answers import AnswerList
from graphcuts_dp.estimate.noisy_matrix import CutAnswer
from graphcuts_dp.files import atomic_set, atomic_write, check_writable_set
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.offline.cut_list import CutList
from graphcuts_dp.pairs.layout import possible_part
from graphcuts_dp.pairs.linear_query import LinearQuery, is_query
from graphcuts_dp.pairs.linear_steps import as_cut
from graphcuts_dp.pairs.mixed_cuts import understood
from graphcuts_dp.pairs.queries import CutQuery, RankOneQuery, Subset
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import VertexSet, labels_or_number, sets_in
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, promise_text
from graphcuts_dp.privacy.k_norm import NORMS, KNormNoise
from graphcuts_dp.results.receipts import (
    PathLike,
    form_at,
    read_arrays,
    read_receipt,
    receipt_path,
    sha256_of,
    telling_damage,
    write_receipt,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FORMAT = "answers 1"
_ENDING = ".npz"


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FewAnswers(Displayed):
    """Answers to a list of cuts that were bought together. All of it may be published.

    Attributes:
        queries: the list.
        values: the noisy answers in weight, in order.
        guarantee: the promise of differential privacy.
        noise: "k-norm" or "laplace".
        law: the distribution of the noise, in steps of the grid.
        grid: how cuts were counted.
        confidence: of all intervals at once, in (0, 1), where none is asked for.
    """

    queries: CutList
    values: tuple[float, ...]
    guarantee: PrivacyGuarantee
    noise: str
    law: KNormNoise
    grid: Grid
    confidence: float

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return self.queries.universe

    @cached_property
    def answers(self) -> AnswerList:
        """`CutAnswer` for each cut, in order; the intervals hold for all of them at once."""
        return self.answer_all(self.queries)

    @cached_property
    def radius(self) -> float:
        """By how much noise has moved any answer, in weight, but for 1 - confidence."""
        return self.radius_at(self.confidence)

    def radius_at(self, confidence: float) -> float:
        """By how much noise has moved any answer, in weight, with this probability for all at once.

        Half the length of every interval, before it is cut to what is possible.

        Args:
            confidence: in (0, 1).

        Raises:
            ParameterError: confidence out of range.
        """
        if not 0 < confidence < 1:
            raise ParameterError(f"confidence must be between 0 and 1, not {confidence}")
        # 1 - confidence, rounded down
        return self.law.radius(math.nextafter(1 - confidence, 0)) * self.grid.unit

    def answer(
        self,
        S: Subset | LinearQuery,
        T: Subset | None = None,
        *,
        confidence: float | None = None,
    ) -> CutAnswer:
        """The answer to a cut of the list; free, as often as you like.

        Args:
            S: vertex labels or a truth vector, or a whole query.
            T: likewise; None for all vertices outside S (all right ones).
            confidence: of the intervals of all cuts of the list at once, in (0, 1); None for that
                of the release.

        Raises:
            ParameterError: confidence out of range.
            QueryError: an unknown vertex, or a query that is not in the list.
        """
        if is_query(S):
            if T is not None:
                raise QueryError("give either a whole query or two sets, not both")
            asked: LinearQuery = S
        else:
            asked = CutQuery(cast(Subset, S), T)
        return self.answer_all([asked], confidence=confidence)[0]

    def answer_all(
        self, queries: Iterable[LinearQuery], *, confidence: float | None = None
    ) -> AnswerList:
        """Answer several cuts of the list; see `answer`."""
        level = self.confidence if confidence is None else confidence
        radius = self.radius if confidence is None else self.radius_at(level)
        made = AnswerList()
        for query in queries:
            place = self._place(query)
            pairs = self.universe.pairs_between(self.queries[place])
            value = self.values[place]
            ends = value - radius, value + radius + self.grid.rounding(pairs)
            made.append(
                CutAnswer(
                    value=value,
                    interval=possible_part(ends, self.grid.most(pairs)),
                    confidence=level,
                    together=len(self.queries),
                    seeded=not self.guarantee.is_private,
                )
            )
        return made

    def _place(self, query: LinearQuery) -> int:
        """Where a query stands in the list."""
        space = self.universe.space
        known = understood(query, space)
        if isinstance(known, RankOneQuery):
            known = as_cut(known, space) or known
        place = self.queries.find(known) if isinstance(known, CutQuery) else None
        if place is None:
            raise QueryError(
                f"only the {len(self.queries):,} cuts of the list were answered, and this query is"
                " none of them"
            )
        return place

    def plot(self, *, title: str | None = None) -> "Figure":
        """Draw the answers with their intervals, in order.

        Args:
            title: above the picture, before the guarantee.

        Returns:
            A figure of matplotlib.
        """
        from graphcuts_dp.plotting.answer_lists import answer_list_figure  # slow: matplotlib

        ends = np.array([answer.interval for answer in self.answers])
        return answer_list_figure(
            values=np.array(self.values),
            low=ends[:, 0],
            high=ends[:, 1],
            title=f"{title or 'Cuts'} ({promise_text(self.guarantee)})",
            across=f"cut, in the order of the list; {self.confidence:.0%} for all at once",
        )

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write the cuts and their answers at `path`, a receipt at `path` + ".json".

        Args:
            path: where; it ends in .npz.
            force: replace files that are there.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: another ending, a missing folder, files that are there, a full disk.
                Nothing is left behind then, and older files stay as they are.
        """
        check_answers_path(path, force=force)
        names = Path(path), receipt_path(path)
        with atomic_set(names, force=force) as (arrays_file, receipt_file):
            with atomic_write(arrays_file) as handle:
                S, T = self.queries.words
                np.savez_compressed(handle, S=S, T=T, values=self.values, facets=self.law.facets)
            write_receipt(receipt_file, self._receipt(arrays_file))
        return tuple(str(file) for file in names)

    def _receipt(self, file: Path) -> dict[str, Any]:
        grid, universe = self.grid, self.universe
        return {
            "format": _FORMAT,
            "guarantee": self.guarantee.to_dict(),
            "noise": self.noise,
            "rate": str(self.law.rate),
            "weight": self.law.weight,
            "confidence": self.confidence,
            "error": self.radius,
            "queries": len(self.queries),
            "grid": {"unit": grid.unit, "sensitivity": grid.sensitivity, "cap": grid.cap},
            "directed": universe.directed,
            "vertices": [labels_or_number(side) for side in sets_in(universe.space)],
            "files": {file.name: sha256_of(file)},
        }

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
            return cls._read(receipt, read_arrays(path, receipt))

    @classmethod
    def _read(cls, receipt: dict[str, Any], arrays: dict[str, Any]) -> Self:
        universe = Universe(
            *(VertexSet(labels) for labels in receipt["vertices"]), directed=receipt["directed"]
        )
        made = cls(
            queries=CutList.of_words(universe, arrays["S"], arrays["T"]),
            values=tuple(arrays["values"].tolist()),
            guarantee=PrivacyGuarantee.from_dict(receipt["guarantee"]),
            noise=receipt["noise"],
            law=KNormNoise(arrays["facets"], receipt["weight"], Fraction(receipt["rate"])),
            grid=Grid(**receipt["grid"]),
            confidence=receipt["confidence"],
        )
        if not len(made.values) == len(made.queries) == made.law.counts or made.noise not in NORMS:
            raise ValueError("answers to other cuts")
        made.radius  # noqa: B018  # refuses what is no confidence
        return made

    def _card(self) -> Card:
        return Card(
            title=f"{len(self.values):,} answers",
            facts=(
                ("vertices", size_text(self.universe.shape)),
                ("noise", self.noise),
                ("off by at most", f"{self.radius:,.5g}"),
                *self.guarantee.facts,
            ),
            warning=self.guarantee.warning,
        )

    def __repr__(self) -> str:
        mark = f", {self.guarantee.warning}" if self.guarantee.warning else ""
        return (
            f"FewAnswers({len(self.values)} cuts, epsilon={self.guarantee.epsilon:g}, "
            f"noise={self.noise!r}{mark})"
        )


def check_answers_path(path: PathLike, *, force: bool = False) -> None:
    """Check that answers can be written here; call it before anything is spent.

    Raises:
        FileFormatError: another ending than .npz, a missing folder, or a file that is there.
    """
    if not os.fspath(path).lower().endswith(_ENDING):
        raise FileFormatError(f"{path!s} must end in {_ENDING}; `answer -o` writes a table")
    check_writable_set((path, receipt_path(path)), force=force)


def is_answers(path: PathLike) -> bool:
    """Whether the receipt at a path is of answers to a list, of whichever version."""
    return form_at(path).startswith("answers ")
