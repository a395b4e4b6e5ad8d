"""What a user gets from sensing: answers with intervals, the matrix that was learnt, files."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, cast, final

import numpy as np

from graphcuts_dp.display import Card, size_text
from graphcuts_dp.estimate.answers import whole_query
from graphcuts_dp.estimate.noisy_matrix import CutAnswer
from graphcuts_dp.files import PathLike
from graphcuts_dp.learn.bit_sets import DenseHypothesis
from graphcuts_dp.offline.release import Answering
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.linear_steps import Extent, as_cut
from graphcuts_dp.pairs.mixed_cuts import understood
from graphcuts_dp.pairs.queries import CutQuery, RankOneQuery, Subset
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import Space, VertexSet
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.results import bundle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KIND = "sensing"
_NUMBERS = ("deviation", "error", "beta", "radius", "cap")


@final
@dataclass(frozen=True, kw_only=True)
class SensingMeasurement:
    """A query with its noisy answer. Public.

    Attributes:
        index: of the query in the list.
        value: noisy answer.
        estimate: of the hypothesis before it was corrected.
    """

    index: int
    value: float
    estimate: float


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SensingRelease(Answering):
    """Noisy answers about a matrix, and a matrix learnt from them. All of it may be published.

    Attributes:
        hypothesis: estimates any linear query.
        measurements: what was bought, in order. After rounds of choosing, the last one only tested
            the result.
        guarantee: the promise of differential privacy.
        cost: the same, for composition.
        deviation: standard deviation of the noise on each answer, at most.
        error: with probability 1 - beta no answer of the list is farther off.
        beta: see `error`.
        radius: where each query of the list was measured: with probability 1 - beta no measured
            value is farther off, `answer` gives these values, and `error` is this; else None.
        cap: public largest rating.
        listed: what the queries of the list are known by, in order.
    """

    hypothesis: DenseHypothesis
    measurements: tuple[SensingMeasurement, ...]
    guarantee: PrivacyGuarantee
    cost: Cost
    deviation: float
    error: float
    beta: float
    radius: float | None = None
    cap: float = 1.0
    listed: tuple[bytes, ...] = ()

    @property
    def universe(self) -> Universe:
        """Users and items: all pairs."""
        return self.hypothesis.universe

    def answer(self, S: Subset | LinearQuery, T: Subset | None = None) -> CutAnswer:
        """The answer to a linear query; free, as often as you like.

        Intervals of the queries of the list hold all at once, with probability 1 - beta. That of
        another query is all that it can be, which is certain: nothing better is proven of it.

        Args:
            S: a whole query, or users: labels or a truth vector, "*" for all of them.
            T: items; None for all of them.

        Raises:
            QueryError: a query that does not fit the vertex sets.
        """
        query = understood(whole_query(S, T), self.universe.space)
        possible = low, high = Extent.of(query, self.universe.space).possible(self.cap)
        value, error = self.hypothesis.estimate(query), None
        known = query_digest(query, self.universe.space)
        if known in self.listed:
            value, error = self._of_list(self.listed.index(known), value)
        answer = self._within(value, error, possible, 1 - self.beta)
        return replace(answer, value=min(max(value, low), high))

    def _of_list(self, place: int, estimate: float) -> tuple[float, float]:
        """The answer to a query of the list, and how far off it may be."""
        if self.radius is None:
            return estimate, self.error
        (found,) = (made for made in self.measurements if made.index == place)
        return found.value, self.radius

    def answer_all(self, queries: Iterable[LinearQuery]) -> list[CutAnswer]:
        """Answer several queries; see `answer`."""
        return [self.answer(query) for query in queries]

    def plot(self, *, title: str | None = None) -> "Figure":
        """Draw the noisy answers that were measured.

        Args:
            title: above the picture, before the guarantee.

        Returns:
            A figure of matplotlib: with intervals where every query was measured, else with what
            the hypothesis expected of each query before.
        """
        from graphcuts_dp.plotting.answer_lists import answer_list_figure  # slow: matplotlib

        values = np.array([made.value for made in self.measurements])
        chosen = self.radius is None  # one by one; there is no interval for each of them
        radius = np.inf if self.radius is None else self.radius
        mark = f", {self.guarantee.warning}" if self.guarantee.warning else ""
        return answer_list_figure(
            values=values,
            low=values - radius,
            high=values + radius,
            other=np.array([made.estimate for made in self.measurements]) if chosen else None,
            other_label="expected by what was learnt before",
            title=f"{title or 'Measured sums'} (epsilon = {self.guarantee.epsilon:g}{mark})",
            across="query, in the order of measuring",
            unit="sum of ratings",
        )

    def _card(self) -> Card:
        return Card(
            title="Release by private matrix sensing",
            facts=(
                ("vertices", size_text(self.hypothesis.universe.shape)),
                ("error at most", f"{self.error:,.5g}, with probability {1 - self.beta:.0%}"),
                *self.guarantee.facts,
            ),
            columns=("query", "noisy answer", "estimate before"),
            rows=[(each.index, each.value, each.estimate) for each in self.measurements],
            warning=self.guarantee.warning,
        )

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write the release: arrays at `path`, a receipt at `path` + ".json".

        Args:
            path: where; it ends in .npz.
            force: replace files that are there.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: another ending, a missing folder, files that are there, a full disk.
                Nothing is left behind then, and older files stay as they are.
        """
        fields = {
            "cost": self.cost.to_dict(),
            **{name: getattr(self, name) for name in _NUMBERS},
            **bundle.space_fields(self.universe.space),
        }
        measured = self.measurements
        arrays = {
            "matrix": self.hypothesis.matrix,
            "index": np.array([made.index for made in measured], dtype=np.int64),
            "value": np.array([made.value for made in measured], dtype=np.float64),
            "estimate": np.array([made.estimate for made in measured], dtype=np.float64),
            "listed": np.frombuffer(b"".join(self.listed), dtype=np.uint8),
        }
        return bundle.save(_KIND, path, self.guarantee, fields, arrays, force=force)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        with bundle.opened(path, _KIND) as saved:
            fields, arrays = saved.fields, saved.arrays()
            rows = (arrays[name].tolist() for name in ("index", "value", "estimate"))
            listed = arrays["listed"].tobytes()
            return cls(
                hypothesis=DenseHypothesis(Universe.over(saved.space), arrays["matrix"]),
                measurements=tuple(
                    SensingMeasurement(index=index, value=value, estimate=estimate)
                    for index, value, estimate in zip(*rows, strict=True)
                ),
                guarantee=saved.guarantee,
                cost=Cost.from_dict(fields["cost"]),
                listed=tuple(listed[start : start + 32] for start in range(0, len(listed), 32)),
                **{name: fields[name] for name in _NUMBERS},
            )

    def __repr__(self) -> str:
        rows, columns = self.universe.shape
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        return (
            f"SensingRelease({rows} x {columns}, {len(self.measurements)} measurements, "
            f"epsilon={self.guarantee.epsilon:g}, delta={self.guarantee.delta:g}{mark})"
        )


def query_digest(query: LinearQuery, space: Space) -> bytes:
    """What a query of the list is known by: SHA-256 of its sets, vectors or coefficients."""
    if isinstance(query, RankOneQuery):
        query = as_cut(query, space) or query
    if isinstance(query, CutQuery):
        kind = b"cut"
        arrays: list[Any] = [np.packbits(mask) for mask in query.masks(space)]
    elif isinstance(query, RankOneQuery):
        left, right = cast(tuple[VertexSet, VertexSet], space)
        kind, arrays = b"rank one", list(query.vectors((len(left), len(right))))
    else:
        kind, arrays = b"entries", [query.coefficients(space) + 0.0]
    found = hashlib.sha256(kind)
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.digest()
