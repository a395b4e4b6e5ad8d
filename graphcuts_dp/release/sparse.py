"""A sparse release: what costs the edges of a graph, not its pairs."""

from dataclasses import replace

import numpy as np

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.measurement import Measurements
from graphcuts_dp.graph.adjacency import on_space
from graphcuts_dp.pairs.vertices import Space
from graphcuts_dp.privacy.noise import SEEDED_WARNING, EntropySource
from graphcuts_dp.release.choice import AUTO, SPARSE, Response
from graphcuts_dp.release.usefulness import needed_memory
from graphcuts_dp.resources import Progress, memory_limit
from graphcuts_dp.results.release import Release
from graphcuts_dp.synth.base import FitSummary
from graphcuts_dp.synth.methods import Fitting
from graphcuts_dp.synth.sampling import sample_edges
from graphcuts_dp.synth.sparse_fit import fit_sparse

_MANY_VERTICES = 2000  # of weights without a cap
_SUMMARY = FitSummary(
    method=SPARSE, objective="posterior of kept edges and residual degrees", rounds=0
)


def takes_sparse(
    shape: tuple[int, int],
    response: Response,
    fitting: Fitting,
    *,
    noise: str,
    weight_cap: float | None,
) -> bool:
    """Whether a release is a sparse one: asked for, or "auto" where the dense one is no way.

    From public numbers alone, so that it can be told before anything is spent: "auto" takes it
    where the noisy matrix and its fit need more memory than there is here, and where weights have
    no cap on 2000 vertices or more, where the noise of n^2/2 pairs hides every cut but those
    between heavy pairs, which kept edges hold as well.

    Args:
        shape: rows and columns.
        response: how epsilon is spent.
        fitting: a fit that is asked for is one of a noisy matrix.
        noise: of the entries.
        weight_cap: of the graph.
    """
    if response.mechanism == SPARSE or not may_be_sparse(response, fitting):
        return response.mechanism == SPARSE
    if weight_cap is None and max(shape) >= _MANY_VERTICES:
        return True
    limit = memory_limit()
    return limit is not None and needed_memory(shape, noise=noise, fit=True) > limit


def may_be_sparse(response: Response, fitting: Fitting) -> bool:
    """Whether a graph that is too large for a noisy matrix can be released all the same."""
    return response.mechanism == SPARSE or (response.mechanism, fitting.fit) == (AUTO, "auto")


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


def check_fitting(fitting: Fitting) -> None:
    """Refuse options that a sparse release has no use for.

    Raises:
        ParameterError: one of them was given.
    """
    given = {
        "fit": fitting.fit not in ("auto", "none"),
        "oracle": fitting.oracle != Fitting().oracle,
        "unweighted": fitting.unweighted,
    }
    for name, is_given in given.items():
        if is_given:
            raise ParameterError(f"{name} is not for mechanism='sparse': leave it out")


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
    model = fit_sparse(measurements, space, weight_cap=weight_cap, whole=whole)
    if not with_graph:
        return Release(measurements=measurements, _model=model)
    progress(0.8, "drawing the synthetic graph")
    seed = int.from_bytes(source.bytes(8).tobytes(), "little")
    (rows, columns), weights = sample_edges(model, np.random.default_rng(seed), weighted=weighted)
    graph = on_space(
        model.space,
        rows,
        columns,
        weights if weighted else None,
        note="" if measurements.guarantee.is_private else SEEDED_WARNING,
        **({"weight_cap": model.weight_cap} if weighted else {}),
    )
    progress(1.0, "done")
    summary = replace(_SUMMARY, unweighted=not weighted)
    return Release(measurements=measurements, fit=summary, _graph=graph, _model=model)
