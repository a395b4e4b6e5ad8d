"""The object that a user gets: answers, synthetic graph, promise, files."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self, final

from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.fits.base import FitSummary
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import most_weight, possible_part
from graphcuts_dp.graph.queries import CutQuery, Subset, pairs_between
from graphcuts_dp.measurements.base import Measurements
from graphcuts_dp.measurements.noisy_matrix import CutAnswer, NoisyMatrix
from graphcuts_dp.measurements.noisy_sums import NoisyDegrees, NoisyTotal
from graphcuts_dp.measurements.worst_case import expected_worst_cut, noise_cut_bound
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.receipts import PathLike
from graphcuts_dp.release import storage


@final
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Release:
    """A private release: a synthetic graph, the noisy matrix behind it, and what both promise.

    Everything here may be published: it is the noisy matrix or computed from it.

    Attributes:
        measurements: all that was bought of the private graph, with the promise of differential
            privacy for all of it together.
        fit: how the synthetic graph was made; None with fit="none".
        certificate: two-sided bound on ||x - z||_C, the cut norm (matrix form) of synthetic minus
            noisy; None with fit="none".
    """

    measurements: Measurements
    fit: FitSummary | None = None
    certificate: CutNormCertificate | None = None
    _graph: AnyGraph | None = None

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The promise of differential privacy, for all parts together."""
        return self.measurements.guarantee

    @cached_property
    def noisy(self) -> NoisyMatrix:
        """The noisy matrix, unbiased; `answer` reads it."""
        found = self.measurements.find(NoisyMatrix)
        if found is None:
            raise ValueError("a release has noisy entries")
        return found

    @property
    def degrees(self) -> NoisyDegrees | None:
        """Noisy degrees, if the budget was split; they went into the synthetic graph.

        Where degrees were bought twice, early ones to choose how to spend the rest, the later.
        """
        return self.measurements.find(NoisyDegrees)

    @property
    def total(self) -> NoisyTotal | None:
        """That the mechanism was chosen from, if it was; it went into the graph, too."""
        return self.measurements.find(NoisyTotal)

    @property
    def graph(self) -> AnyGraph:
        """The synthetic graph.

        Raises:
            GraphError: the release was made with fit="none".
        """
        if self._graph is None:
            raise GraphError("this release has no synthetic graph: it was made with fit='none'")
        return self._graph

    @property
    def has_graph(self) -> bool:
        """Whether a synthetic graph was made."""
        return self._graph is not None

    @property
    def expected_worst_cut_error(self) -> float:
        """Expected worst cut error of the noisy matrix, from its size and noise; not proven."""
        left, right = self.noisy.left, self.noisy.right
        return expected_worst_cut(self.noisy.distribution, (len(left), len(right)))

    def worst_cut_error_bound(self, confidence: float = 0.95) -> float:
        """A number that ||x - A||_C does not pass: no cut of the synthetic graph is further off.

        The certificate plus `noise_cut_bound`; edges inside both sets count twice. Holds with the
        given probability over the noise, for all cuts at once. With discrete-laplace noise, A has
        its weights rounded down to whole numbers.

        Args:
            confidence: in (0, 1).

        Raises:
            GraphError: the release was made with fit="none".
            QueryError: confidence out of range.
        """
        if self.certificate is None:
            raise GraphError("this release has no synthetic graph: it was made with fit='none'")
        _check_confidence(confidence)
        noisy = self.noisy
        noise = noise_cut_bound(
            noisy.distribution, noisy.shape, symmetric=noisy.symmetric, confidence=confidence
        )
        return self.certificate.upper + noise

    def answer(
        self,
        S: Subset | CutQuery,
        T: Subset | None = None,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
    ) -> CutAnswer:
        """Answer any cut query from the noisy matrix; free, as often as you like.

        The value is unbiased, so that values may be added up and averaged; the interval alone is
        cut to what is possible.

        Args:
            S: vertex labels or a truth vector, or a whole `CutQuery`.
            T: likewise; None for all vertices outside S (all right ones).
            confidence: of the interval, in (0, 1).
            simultaneous: ask for an interval that holds for all cuts at once. Choose it when the
                cut was picked after looking at this release.

        Raises:
            QueryError: an unknown vertex, or a confidence out of range.
        """
        _check_confidence(confidence)
        if isinstance(S, CutQuery):
            if T is not None:
                raise QueryError("give either a CutQuery or two sets, not both")
            query = S
        elif hasattr(S, "coefficients"):
            raise QueryError(
                f"a release answers cut queries, not {type(S).__name__}: ask its synthetic graph, "
                "for example query.value(release.graph)"
            )
        else:
            query = CutQuery(S, T)
        noisy = self.noisy
        space = noisy.left if noisy.symmetric else (noisy.left, noisy.right)
        rows, columns = query.masks(space)
        value, radius = noisy.cut(rows, columns, confidence=confidence, simultaneous=simultaneous)
        pairs = pairs_between(rows, columns, bipartite=not noisy.symmetric)
        most = most_weight(pairs, noisy.distribution.weight_cap)
        return CutAnswer(
            value=value,
            interval=possible_part((value - radius, value + radius), most),
            confidence=confidence,
            simultaneous=simultaneous,
            seeded=not self.guarantee.is_private,
        )

    def answer_all(
        self,
        queries: Iterable[CutQuery],
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
    ) -> list[CutAnswer]:
        """Answer several cut queries; see `answer`."""
        return [
            self.answer(query, confidence=confidence, simultaneous=simultaneous)
            for query in queries
        ]

    def save(self, path: PathLike, *, force: bool = False) -> tuple[str, ...]:
        """Write the release: the graph at `path`, a receipt and the noisy matrix beside it.

        Args:
            path: where; the ending tells the graph's format, as for `write_graph`. The receipt is
                `path` + ".json", the noisy matrix `path` + ".noisy.npz". With fit="none" no graph
                is written.
            force: replace files that are there.

        Returns:
            The paths written, the receipt last.

        Raises:
            FileFormatError: unknown ending, missing folder, files that are there, a full disk.
                Nothing is left behind then, and older files stay as they are.
        """
        parts = storage.ReleaseParts(
            graph=self._graph,
            measurements=self.measurements,
            noisy=self.noisy,
            fit=self.fit,
            certificate=self.certificate,
        )
        return storage.write_release(path, parts, force=force)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read back what `save` wrote.

        Args:
            path: the same path as for `save`.

        Raises:
            FileFormatError: a file is missing, damaged, or not the one that the receipt names.
        """
        parts = storage.read_release(path)
        return cls(
            measurements=parts.measurements,
            fit=parts.fit,
            certificate=parts.certificate,
            _graph=parts.graph,
        )

    def __repr__(self) -> str:
        size = " x ".join(str(n) for n in self.noisy.shape)
        made = "no synthetic graph" if self.fit is None else f"fit={self.fit.method!r}"
        mark = "" if self.guarantee.is_private else f", {SEEDED_WARNING}"
        return (
            f"Release({size}, epsilon={self.guarantee.epsilon:g}, "
            f"noise={self.noisy.distribution.name!r}, {made}{mark})"
        )


def _check_confidence(confidence: float) -> None:
    if not (isinstance(confidence, float | int) and 0 < confidence < 1):
        raise QueryError("confidence must lie between 0 and 1, for example 0.95")
