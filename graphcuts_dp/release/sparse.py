"""A sparse release: what costs the edges of a graph, not its pairs."""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.measurement import (
    Measurements,
    NoisyDegrees,
    NoisyGroups,
    NoisyWeightCounts,
)
from graphcuts_dp.estimate.noisy_matrix import KeptEdges
from graphcuts_dp.graph.adjacency import on_space
from graphcuts_dp.memory import memory_limit
from graphcuts_dp.pairs.vertices import Space
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, EntropySource
from graphcuts_dp.progress import Progress
from graphcuts_dp.release.sparse_measure import check_share
from graphcuts_dp.release.usefulness import check_size, needed_memory
from graphcuts_dp.results.release import Release
from graphcuts_dp.synth.base import FitSummary
from graphcuts_dp.synth.finishing import sample_edges
from graphcuts_dp.synth.sparse_fit import Bought, fit_sparse

SPARSE = "sparse"
_MANY_VERTICES = 2000  # of weights without a cap
_SUMMARY = FitSummary(
    method=SPARSE,
    objective="posterior of kept edges and residual degrees",
    value=None,
    lower=None,
    gap=None,
    rounds=0,
    stopped="settled",
    tolerance=None,
    time_limit=None,
    unweighted=False,
)


def takes_sparse(
    shape: tuple[int, int],
    *,
    mechanism: str,
    noise: str,
    fit: object,
    weight_cap: float | None,
) -> bool:
    """Whether a release is a sparse one: asked for, or "auto" where the dense one is no way.

    From public numbers alone, so that it can be told before anything is spent: "auto" takes it
    where the noisy matrix and its fit need more memory than there is here, and where weights have
    no cap on 2000 vertices or more, where the noise of n^2/2 pairs hides every cut but those
    between heavy pairs, which kept edges hold as well.

    Args:
        shape: rows and columns.
        mechanism: as for `release_graph`.
        noise: likewise.
        fit: likewise; a fit that is asked for is one of a noisy matrix.
        weight_cap: of the graph.
    """
    if mechanism == SPARSE:
        return True
    if not _may_be_sparse(mechanism, fit):
        return False
    if weight_cap is None and max(shape) >= _MANY_VERTICES:
        return True
    limit = memory_limit()
    return limit is not None and needed_memory(shape, noise=noise, fit=True) > limit


def check_counts(shape: tuple[int, int], *, mechanism: str, noise: str, fit: object) -> None:
    """Refuse what is too large, before the graph is read; see `check_size`.

    Raises:
        GraphError: it needs more memory than there is, and is no sparse release.
    """
    if not _may_be_sparse(mechanism, fit):
        check_size(shape, noise=noise, fit=fit)


def _may_be_sparse(mechanism: str, fit: object) -> bool:
    return mechanism == SPARSE or (mechanism, fit) == ("auto", "auto")


def sparse_notes(shape: tuple[int, int], *, asked: bool) -> tuple[str, ...]:
    """What a user is told before a sparse release: from public numbers alone.

    Args:
        shape: rows and columns.
        asked: whether the user chose the mechanism.
    """
    size = " x ".join(f"{side:,}" for side in sorted(set(shape)))
    chosen = (
        f"{size} vertices are released sparsely (--mechanism sparse): the noisy matrix of all "
        "pairs would not fit here, or would hide all but the heaviest edges."
    )
    what = (
        "Released are edges whose noisy weight is large, degrees and sums between groups; without "
        "large weights, degrees and groups alone."
    )
    return (what,) if asked else (chosen, what)


def check_options(
    *, fit: object, oracle: str, unweighted: bool, share: float | None
) -> Fraction | None:
    """Refuse options that a sparse release has no use for; else the share of degrees, exactly.

    Raises:
        ParameterError: one of them was given, or the share of degrees is out of range.
    """
    given = {
        "fit": fit not in ("auto", "none"),
        "oracle": oracle != "cut-norm",
        "unweighted": unweighted,
    }
    for name, is_given in given.items():
        if is_given:
            raise ParameterError(f"{name} is not for mechanism='sparse': leave it out")
    return check_share(share)


def sparse_release(
    measurements: Measurements,
    space: Space,
    *,
    weight_cap: float | None,
    weighted: bool,
    whole: bool,
    with_graph: bool,
    source: EntropySource,
    progress: Progress,
) -> Release:
    """The release made of measurements: model and synthetic graph. Reads noisy data alone.

    Args:
        measurements: all that was bought.
        space: public vertex set, or both.
        weight_cap: public largest weight, or None.
        weighted: public: whether edges have weights.
        whole: whether weights are whole numbers.
        with_graph: whether a synthetic graph is wanted.
        source: seeds the ordinary generator that draws the synthetic graph.
        progress: called with the fraction done.
    """
    progress(0.6, "fitting")
    model = fit_sparse(_bought(measurements, space, weight_cap=weight_cap, whole=whole))
    if not with_graph:
        return Release(measurements=measurements, _model=model)
    progress(0.8, "drawing the synthetic graph")
    seed = int.from_bytes(source.bytes(8).tobytes(), "little")
    drawn = sample_edges(model, np.random.default_rng(seed), weighted=weighted)
    graph = on_space(
        model.space,
        drawn.rows,
        drawn.columns,
        drawn.weights if weighted else None,
        note="" if measurements.guarantee.is_private else SEEDED_WARNING,
        **({"weight_cap": model.weight_cap} if weighted else {}),
    )
    progress(1.0, "done")
    summary = replace(_SUMMARY, unweighted=not weighted)
    return Release(measurements=measurements, fit=summary, _graph=graph, _model=model)


def _bought(
    measurements: Measurements, space: Space, *, weight_cap: float | None, whole: bool
) -> Bought:
    counts = measurements.find(NoisyWeightCounts)
    if counts is None:
        raise ValueError("a sparse release has counts of weights")
    return Bought(
        space=space,
        counts=counts,
        kept=measurements.find(KeptEdges),
        degrees=measurements.find(NoisyDegrees),
        groups=measurements.all_of(NoisyGroups),
        weight_cap=weight_cap,
        whole=whole,
    )
