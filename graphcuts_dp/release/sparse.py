"""A sparse release: what costs the edges of a graph, not its pairs."""

from dataclasses import replace

import numpy as np

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.measurement import (
    Measurements,
    NoisyDegrees,
    NoisyGroups,
    NoisyWeightCounts,
)
from graphcuts_dp.estimate.noisy_matrix import KeptEdges
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph, on_space
from graphcuts_dp.graph.owned_rows import PrivateData
from graphcuts_dp.ledger.opening import Store, Subject
from graphcuts_dp.ledger.uses import charged
from graphcuts_dp.measure.parted import PartedGraph, public_of
from graphcuts_dp.memory import memory_limit
from graphcuts_dp.pairs.vertices import Space
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, EntropySource, entropy_source
from graphcuts_dp.privacy.protection import Protection
from graphcuts_dp.progress import Progress
from graphcuts_dp.release.allocation import promise
from graphcuts_dp.release.group_shares import GroupPlan
from graphcuts_dp.release.sparse_measure import check_share, check_sparse, measure_sparse
from graphcuts_dp.release.usefulness import needed_memory
from graphcuts_dp.results.release import Release
from graphcuts_dp.synth.base import FitSummary
from graphcuts_dp.synth.sparse_fit import Bought, fit_sparse
from graphcuts_dp.synth.sparse_sample import sample_edges

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
    blocks: str,
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
        blocks: likewise.
        weight_cap: of the graph.
    """
    if mechanism == SPARSE:
        return True
    if mechanism != "auto" or fit != "auto" or blocks != "local":
        return False
    if weight_cap is None and max(shape) >= _MANY_VERTICES:
        return True
    limit = memory_limit()
    return limit is not None and needed_memory(shape, noise=noise, fit=True) > limit


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
    *, fit: object, oracle: str, unweighted: bool, share: float | None, blocks: str
) -> None:
    """Refuse options that a sparse release has no use for.

    Raises:
        ParameterError: one of them was given, or the share of degrees is out of range.
    """
    check_share(share)
    given = {
        "fit": fit not in ("auto", "none"),
        "oracle": oracle != "cut-norm",
        "unweighted": unweighted,
        "blocks": blocks != "local",
    }
    for name, is_given in given.items():
        if is_given:
            raise ParameterError(f"{name} is not for mechanism='sparse': leave it out")


def release_sparse(
    graph: AnyGraph | PartedGraph,
    private: PrivateData | Subject,
    *,
    epsilon: float,
    protection: Protection,
    store: PathLike | Store | None,
    noise: str,
    groups: GroupPlan | None,
    share: float | None,
    with_graph: bool,
    seed: int | None,
    progress: Progress,
) -> Release:
    """`release_graph` with mechanism "sparse": measure, charge, fit, draw.

    Args:
        graph: the private graph, which may lie in parts.
        private: what it was made of, for the store.
        epsilon: for everything together.
        protection: whom it is for.
        store: to charge, or None.
        noise: see `SparseNoise.of`.
        groups: public groups, or None.
        share: part of epsilon for degrees, or None for what follows from noisy counts.
        with_graph: whether a synthetic graph is wanted.
        seed: or None for the system's entropy.
        progress: called with the fraction done.

    Guarantee: epsilon-DP, see `measure_sparse`, which draws all noise.
    """
    each = protection.per_step(epsilon)
    public = public_of(graph)
    made = check_sparse(public, epsilon=each, noise=noise)
    source = entropy_source(seed)
    cost = protection.cost(Cost.of_pure(each), epsilon=epsilon)
    with charged(
        store,
        private,
        kind="release",
        parameters={"noise": made.name, "mechanism": SPARSE},
        cost=cost,
        guarantee=protection.promise(
            promise(public, cost, seed=source.seed, groups=groups is not None), cost
        ),
    ):
        measurements = measure_sparse(
            graph,
            epsilon=each,
            noise=noise,
            source=source,
            groups=groups,
            degree_share=check_share(share),
            progress=progress,
        ).protected(protection, epsilon=epsilon)
        # From here on nothing reads the private graph.
        return sparse_release(
            measurements,
            public.space,
            weight_cap=public.weight_cap,
            weighted=public.weighted,
            whole=made.whole,
            with_graph=with_graph,
            source=source,
            progress=progress,
        )


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
