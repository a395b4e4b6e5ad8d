"""Compute the result of a release of a graph from its measurements: fit a synthetic graph.

All of it is post-processing of noisy data. The job has a `Completion`, which the store records
beside the measurements, so that `resume` makes the same result again.
"""

import math
import warnings
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import AccuracyWarning, LedgerError
from graphcuts_dp.estimate.measurement import CellSums, Degrees, Measurements, Total
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.graph.adjacency import graph_of_matrix_rows, graph_of_parts
from graphcuts_dp.io.edge_store import EdgeParts
from graphcuts_dp.learn.detectability import epsilon_needed
from graphcuts_dp.privacy.entropy import EntropySource, SeededEntropy
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.results.packing import SavedParts
from graphcuts_dp.results.release import Release
from graphcuts_dp.results.release_parts import read_measurements
from graphcuts_dp.schema.vertices import Space
from graphcuts_dp.synth.base import FitMethod, FitProblem, FitSummary
from graphcuts_dp.synth.finishing import Finished, finished_fit
from graphcuts_dp.synth.fit_weights import decimal_units, row_parts, weights_of
from graphcuts_dp.synth.mechanisms import SPARSE
from graphcuts_dp.synth.methods import FitOptions
from graphcuts_dp.synth.sampling import sample_edges
from graphcuts_dp.synth.sparse_fit import fit_sparse
from graphcuts_dp.synth.sparse_weights import WeightCounts

_SPARSE_FIT = FitSummary(
    method=SPARSE, objective="posterior of kept edges and residual degrees", rounds=0
)
_WARNING_LEVEL = 7  # frames from `warnings.warn` to the caller of `release_graph`


class Completion(Protocol):
    """A way to make the result of a release from its measurements."""

    @abstractmethod
    def release(
        self,
        measured: Measurements,
        space: Space,
        source: EntropySource,
        progress: Progress = silent,
    ) -> Release:
        """Return the result.

        Args:
            measured: all measurements.
            space: the public vertex set, or both.
            source: of ordinary random numbers, for what is drawn from a model.
            progress: called with the fraction done and a message.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a store."""


@final
@dataclass(frozen=True, kw_only=True)
class MatrixCompletion:
    """The fit of a graph to a noisy matrix.

    Attributes:
        options: of the fit; None if no graph is fitted.
        weighted: whether the graph has weights.
        max_weight: public maximum weight; None if there is none.
        integral: whether weights were rounded down to whole numbers.
    """

    options: FitOptions | None
    weighted: bool
    max_weight: float | None
    integral: bool = False

    @property
    def method(self) -> FitMethod | None:
        """The method of the fit; None if no graph is fitted."""
        return None if self.options is None else self.options.method(self.max_weight)

    def release(
        self,
        measured: Measurements,
        space: Space,
        source: EntropySource,
        progress: Progress = silent,
    ) -> Release:
        """See `Completion.release`: fit a synthetic graph, round it, certify it."""
        del space  # the matrix has it, too
        noisy = measured.matrix
        if noisy is None:
            raise TypeError("a release with a noisy matrix has measured none")
        # A fit stores what it computes in the blocks. The release gets a copy from before the fit.
        uncached = replace(noisy, blocks=noisy.blocks.copy())
        values = tuple(uncached if value is noisy else value for value in measured.values)
        released = replace(measured, values=values)
        method, options = self.method, self.options
        if method is None or options is None:
            return Release(measurements=released)
        max_weight = noisy.distribution.max_weight
        problem = FitProblem(
            noisy.blocks,
            math.inf if max_weight is None else max_weight,
            measured.find(Degrees),
            measured.find(Total),
            measured.find(CellSums),
        )
        fit, certificate, summary = finished_fit(
            method,
            problem,
            uncached,
            time_limit=options.time_limit,
            weighted=self.weighted,
            weight_counts=WeightCounts.of(measured, integral=self.integral)
            if self.weighted
            else None,
            source=source,
            progress=progress,
        )
        if summary.directions == 0:  # noise hides all communities
            average_degree = float(fit.expected.sum()) / math.sqrt(math.prod(noisy.shape))
            needed = _epsilon_for_communities(measured, noisy, average_degree)
            summary = replace(summary, shown_from=needed)
        if summary.warning is not None:
            # If warnings are errors, a release that was charged must not be lost.
            with suppress(AccuracyWarning):
                warnings.warn(summary.warning, AccuracyWarning, stacklevel=_WARNING_LEVEL)
        graph = graph_of_matrix_rows(
            noisy.space,
            (weights_of(rows, problem.cap) for rows in row_parts(fit.matrix)),
            weighted=self.weighted,
            max_weight=max_weight if self.weighted else None,
            note=measured.guarantee.warning,
        )
        return Release(
            measurements=released,
            fit=summary,
            certificate=certificate,
            _graph=graph,
            _weights=_weights_of_fit(fit, max_weight if self.weighted else 1.0),
        )

    def to_dict(self) -> dict[str, Any]:
        """See `Completion.to_dict`; a user's own fit is no plain value, and left out."""
        options = self.options
        stored = None
        if options is not None:
            name = options.fit if isinstance(options.fit, str) else None
            stored = {**vars(options), "fit": name}
        return {
            "of": "matrix",
            "options": stored,
            "weighted": self.weighted,
            "max_weight": self.max_weight,
            "whole": self.integral,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "MatrixCompletion":
        """Read what `to_dict` returned.

        Raises:
            LedgerError: the fit was a user's own.
            LookupError, TypeError, ValueError: it is something else.
        """
        options = stored["options"]
        if options is not None and options["fit"] is None:
            raise LedgerError(
                "this release was fitted by a method of its user's own, which a store does not "
                "keep: repeat the call with store=gc.Store(..., resume=True), which costs nothing"
            )
        return cls(
            options=None if options is None else FitOptions(**options),
            weighted=bool(stored["weighted"]),
            max_weight=stored["max_weight"],
            integral=bool(stored.get("whole", False)),
        )


@final
@dataclass(frozen=True, kw_only=True)
class SparseCompletion:
    """The model of a sparse release, and a synthetic graph that is drawn from it.

    Attributes:
        with_graph: whether a synthetic graph is wanted.
        weighted: whether the graph has weights.
        max_weight: public maximum weight; None if there is none.
        integral: whether weights are whole numbers.
    """

    with_graph: bool
    weighted: bool
    max_weight: float | None
    integral: bool

    def release(
        self,
        measured: Measurements,
        space: Space,
        source: EntropySource,
        progress: Progress = silent,
    ) -> Release:
        """See `Completion.release`: make the model, and draw a synthetic graph from it."""
        progress(0.6, "fitting")
        model = fit_sparse(measured, space, max_weight=self.max_weight, integral=self.integral)
        if not self.with_graph:
            return Release(measurements=measured, _model=model)
        progress(0.8, "drawing the synthetic graph")
        seed = int.from_bytes(source.bytes(8).tobytes(), "little")
        generator = np.random.default_rng(seed)
        (rows, columns), weights = sample_edges(model, generator, weighted=self.weighted)
        parts = EdgeParts(rows, columns, weights if self.weighted else None, owned=True)
        del rows, columns, weights
        graph = graph_of_parts(
            model.space,
            parts,
            merge="max",  # each pair is there once
            max_weight=model.max_weight if self.weighted else None,
            note=measured.guarantee.warning,
        )
        progress(1.0, "done")
        return Release(measurements=measured, fit=_SPARSE_FIT, _graph=graph, _model=model)

    def to_dict(self) -> dict[str, Any]:
        """See `Completion.to_dict`."""
        return {"of": "sparse", **asdict(self)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "SparseCompletion":
        """Read what `to_dict` returned.

        Raises:
            LookupError, TypeError: it is something else.
        """
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__})


def completed_release(
    saved: SavedParts, completion: Mapping[str, Any], progress: Progress = silent
) -> Release:
    """Return the result of a release from its store.

    Args:
        saved: all measurements, see `measurement_parts`.
        completion: what `completion_to_dict` returned.
        progress: called with the fraction done and a message.

    Raises:
        LedgerError: the fit was a user's own, which no store has.
        LookupError, TypeError, ValueError, ArithmeticError: the store was altered.
    """
    stored = completion["how"]
    completion_type = SparseCompletion if stored["of"] == "sparse" else MatrixCompletion
    return release_of(saved, completion_type.from_dict(stored), completion, progress)


def release_of(
    saved: SavedParts,
    completer: Completion,
    completion: Mapping[str, Any],
    progress: Progress = silent,
) -> Release:
    """Return the result of a release by the completion of its job, which may have a user's own fit.

    Args:
        saved: as for `completed_release`.
        completer: makes the result.
        completion: as for `completed_release`; only the state of its random numbers is read.
        progress: called with the fraction done and a message.

    Raises:
        LookupError, TypeError, ValueError, ArithmeticError: the store was altered.
    """
    measured, space = read_measurements(saved)
    return completer.release(
        measured, space, SeededEntropy.from_state(completion["entropy"]), progress
    )


def completion_to_dict(completer: Completion, source: SeededEntropy) -> dict[str, Any]:
    """Return plain values from which `completed_release` makes the same result each time.

    Args:
        completer: the completion.
        source: of its random numbers, in its current state.
    """
    return {"how": completer.to_dict(), "entropy": source.state}


def _weights_of_fit(
    fit: Finished, max_weight: float | None
) -> npt.NDArray[np.uint16 | np.float64] | None:
    """Return the weights that a release stores of its fit, before they are rounded.

    Args:
        fit: the fit, perhaps rounded.
        max_weight: largest weight; None if there is none.

    Returns:
        Units of `decimal_units` for a graph without weights. None if the fit was not rounded: then
        the synthetic graph has its weights.
    """
    if fit.rounded is None:
        return None
    if fit.rounded.dtype == np.uint8:  # of a graph without weights
        return decimal_units(fit.expected)
    largest = math.inf if max_weight is None else max_weight
    return np.concatenate([weights_of(rows, largest) for rows in row_parts(fit.expected)])


def _epsilon_for_communities(
    measured: Measurements, noisy: NoisyMatrix, average_degree: float
) -> float | None:
    """Return the least epsilon of a release whose entries could show communities.

    Post-processing: a direction is at most as strong as the average degree, which the synthetic
    graph has from noisy data. None if the epsilon of this release was enough: the graph has no
    communities, it seems, or weaker ones.

    Args:
        measured: all measurements.
        noisy: the entries.
        average_degree: of the synthetic graph.
    """
    plan, epsilon = measured.guarantee.budget_plan, measured.guarantee.epsilon
    epsilon_of_change = epsilon if plan is None else float(plan.amount)
    needed = epsilon_needed(
        noisy.shape,
        average_degree / (noisy.distribution.max_weight or 1.0),
        flips=noisy.distribution.name == "binary",
    )
    if not epsilon_of_change < needed < math.inf:
        return None
    return needed * epsilon / epsilon_of_change
