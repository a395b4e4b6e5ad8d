"""How a release is made: noise once, then a fit to it."""

import math
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import AccuracyWarning, GraphError, ParameterError
from graphcuts_dp.estimate.measurement import Measurements, NoisyDegrees, NoisyGroups, NoisyTotal
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.estimate.worst_case import accuracy_warning, expected_error_note
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, from_rows_on
from graphcuts_dp.graph.owned_rows import PrivateData, paired_graph, without_rows
from graphcuts_dp.learn.update_bounds import degrees_needed, size_of
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.measure.entries import distribution_for
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.linear_query import sides_of as sides_in
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import VertexSet
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, EntropySource
from graphcuts_dp.privacy.protection import Protect
from graphcuts_dp.progress import Progress, silent
from graphcuts_dp.release.allocation import least_distribution, measure, mechanism_for, promise
from graphcuts_dp.release.group_shares import group_plan
from graphcuts_dp.release.job import Job, execute
from graphcuts_dp.release.sparse import (
    SPARSE,
    check_options,
    sparse_notes,
    sparse_release,
    takes_sparse,
)
from graphcuts_dp.release.sparse_measure import check_sparse, measure_sparse
from graphcuts_dp.release.usefulness import check_size, size_note
from graphcuts_dp.results.release import Release
from graphcuts_dp.results.storage import ANSWERS
from graphcuts_dp.synth.base import FitMethod, FitProblem
from graphcuts_dp.synth.finishing import finished_fit, weights_of
from graphcuts_dp.synth.methods import fit_method

_ROW_ENTRIES = 1 << 20  # entries of the synthetic matrix turned into edges at a time


def release_graph(  # noqa: PLR0913  # each is a public choice of one release
    graph: PrivateData,
    *,
    epsilon: float,
    store: PathLike | Store | None = None,
    noise: str = "binary",
    mechanism: str = "auto",
    degree_share: float | None = None,
    workload: str = ANSWERS,
    groups: Groups | tuple[Groups, Groups] | None = None,
    fit: str | FitMethod = "auto",
    oracle: str = "cut-norm",
    unweighted: bool = False,
    protect: str | Protect = "edges",
    at_most: int | None = None,
    seed: int | None = None,
    time_limit: float | None = None,
    progress: Progress = silent,
) -> Release:
    """Release a synthetic graph whose cuts are near those of a private one.

    Args:
        graph: the private graph, or rows with owners, at least two vertices (one on each side if
            bipartite).
        epsilon: privacy parameter, for whom `protect` names, in [1e-6, 50]; all of it is spent.
        store: path of the store, or a `Store`, that remembers what was spent on this graph: the
            release is charged to it, and refused if its budget does not allow it. None for a graph
            of which nothing else is ever released.
        noise: "binary" (graphs without weights: flipped bits, least error), "laplace" or
            "discrete-laplace" (weights are rounded down to whole numbers).
        mechanism: "response" (all of epsilon for the entries), "degrees+response" (a part for
            noisy degrees, which are cheap and hold most of a sparse graph's cuts), or "auto": a
            fiftieth of epsilon tells the total weight, which tells the better of the two. For the
            fit "maximum-entropy"; "auto" is "response" with any other. Or "sparse", which costs the
            edges and not the pairs, for large graphs of few edges: edges whose noisy weight reaches
            a threshold, degrees, sums between groups, see `measure_sparse`; "auto" takes it where
            memory is too small for the others, and on 2000 vertices or more with weights without a
            cap (`takes_sparse`). The default noise is then "laplace" with weights.
        degree_share: part of epsilon for the degrees, in (0, 1); None for 2/(2 + n^(1/4)), and for
            7/(7 + n^(1/4)) of what is left beside groups that tell something. With "sparse" in
            [0.01, 0.95], None for what noisy counts of weights suggest.
        workload: what "auto" is to be good at where degrees and entries compete: "answers" (of
            `Release.answer`), or "synthetic graph": its worst cut is nearer to the truth where
            entries show no communities, since nearly all of epsilon then goes to the degrees, and
            answers between groups are several times less precise. Beside public groups that tell
            something, degrees have most of what these leave, whatever entries show: answers about
            unions of groups stay as precise, those that part groups are less so.
        groups: public groups of the vertices (of a bipartite graph a pair, left and right), which
            come out with the release. A twentieth to a quarter of epsilon buys noisy sums between
            them, by `group_share`; a sixth of that first, and the rest only where it shows that
            the groups tell more of the graph than its degrees do. The fit "maximum-entropy" holds
            the graph to these sums, and answers use them. Of nested levels the finest with at most
            256 groups counts. Beyond epsilon of about 6 entries alone tell sums as well.
        fit: "maximum-entropy" (right for all kinds of cuts), "first-order" (least worst cut error
            against the noisy matrix; worse between communities), "cutting-plane" (the same as a
            linear program, to about 150 vertices), "game" (likewise, as the game of DR14 section
            5.3.3; a reference), "spectral" (least spectral norm, as GRU12 section 6.2; a
            reference), "none" (only the noisy matrix), or "auto": maximum-entropy where weights
            have a public cap, else first-order. Or an object of your own, see `FitMethod`.
        oracle: separation oracle of the cutting-plane fit, "cut-norm" or "spectral".
        unweighted: round the synthetic graph to one without weights; adds error.
        protect: whom the promise is for: "edges", "owner" of rows, or a `Protect`.
        at_most: of edges: how many may change together, 1 if omitted; each then has an `at_most`-th
            of epsilon. Of an owner: how many of its pairs, rows or units count, see
            `OwnedRows.bounded`.
        seed: makes the run repeatable and voids the promise; None for the system's entropy. All
            noise is the same on every machine; the last digits of the fit depend on the processor.
        time_limit: seconds for everything after the noise: the fit, certificates, mixtures; None
            for no limit. When they are over the best point so far is taken, with the shortest
            proof. Not bounded: reading the graph, drawing the noise, one step of the fit (with its
            spectrum, if any), a rounding by `unweighted`, one shortest certificate. With it the
            release is as private; the bound on mixtures below may be missed, and then the summary
            of the fit says that it was stopped by time.
        progress: called with the fraction done and a message.

    Returns:
        A `Release`. Its synthetic graph has weights in [0, cap], rounded to four decimals.

    Raises:
        ParameterError: an option out of range, or options that do not fit together.
        GraphError: fewer than two vertices, or more than the memory here is enough for; groups of
            other vertices, or more than 256 on every level.
        BudgetError: the budget of the store does not allow the release. Nothing was spent.
        LedgerError: the store cannot be used.

    Warns:
        AccuracyWarning: before anything is spent, when no graph of this size can hold cuts above
            the expected error; afterwards, when the noisy matrix shows communities so near to its
            noise that the synthetic graph may have merged some, or none (`FitSummary.warning`).

    Guarantee: epsilon-DP at edge level: see `measure`, which draws all noise; the rest is computed
    from what it returns. Neighbours: graphs on the same public vertices that differ in one pair, or
    in `at_most` of them, by group privacy.
    Accuracy: with probability 95 %, ||x - A||_C (matrix form) is at most `worst_cut_error_bound` of
    the release, and at most 2.01 times `noise_cut_bound` with the maximum-entropy fit: where
    ||x - z||_C is not proven to be within that bound, x is mixed with the first-order fit until it
    is, as far as that itself and the time limit allow. See each fit for its own statement.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> release = gc.release_graph(club, epsilon=4.0)
        >>> release.graph  # synthetic, and may be published
        Graph(n=34, weighted, cap=1)
        >>> low, high = release.answer([0, 1, 2]).interval  # holds the true cut with 95%

    Source: GRU12 section 6, Lemma 6.2.
    """
    job = graph_job(
        graph,
        epsilon=epsilon,
        noise=noise,
        mechanism=mechanism,
        degree_share=degree_share,
        workload=workload,
        groups=groups,
        fit=fit,
        oracle=oracle,
        unweighted=unweighted,
        protect=protect,
        at_most=at_most,
        time_limit=time_limit,
    )
    return execute(job, graph, store=store, seed=seed, progress=progress)


def graph_job(  # noqa: PLR0913  # the choices of `release_graph`
    data: PrivateData,
    *,
    epsilon: float,
    noise: str = "binary",
    mechanism: str = "auto",
    degree_share: float | None = None,
    workload: str = ANSWERS,
    groups: Groups | tuple[Groups, Groups] | None = None,
    fit: str | FitMethod = "auto",
    oracle: str = "cut-norm",
    unweighted: bool = False,
    protect: str | Protect = "edges",
    at_most: int | None = None,
    time_limit: float | None = None,
    fitted: bool = True,
) -> Job[Release]:
    """What `release_graph` does with these options, told beforehand. Reads the schema alone.

    Args:
        data: of the schema; no row of it is kept.
        epsilon: as for `release_graph`.
        noise: likewise.
        mechanism: likewise.
        degree_share: likewise.
        workload: likewise.
        groups: likewise.
        fit: likewise.
        oracle: likewise.
        unweighted: likewise.
        protect: likewise.
        at_most: likewise.
        time_limit: likewise.
        fitted: whether the result has a synthetic graph, where the fit is not "none".

    Raises:
        ParameterError, GraphError: as `release_graph`.
    """
    empty = without_rows(data)
    del data  # nothing below can reach it
    graph, whom = paired_graph(empty, protect, at_most=at_most, epsilon=epsilon)
    each = whom.per_step(epsilon)
    cost = whom.cost(Cost.of_pure(each), epsilon=epsilon)
    release = partial(Job[Release], kind="release", public=empty, protect=whom, cost=cost)
    cap = graph.weight_cap
    if takes_sparse(graph.shape, mechanism=mechanism, noise=noise, fit=fit, weight_cap=cap):
        share = check_options(fit=fit, oracle=oracle, unweighted=unweighted, share=degree_share)
        plan = group_plan(graph, groups)
        suited = check_sparse(graph, epsilon=each, noise=noise)
        return release(
            parameters={"noise": suited.name, "mechanism": SPARSE},
            guarantee=promise(graph, cost, whom, groups=plan is not None),
            measure=lambda private, source, progress: measure_sparse(
                private,
                epsilon=each,
                noise=noise,
                source=source,
                groups=plan,
                degree_share=share,
                progress=progress,
            ).protected(whom, epsilon=epsilon),
            finish=lambda measurements, source, progress: sparse_release(
                measurements,
                graph.space,
                weight_cap=cap,
                weighted=graph.weighted,
                whole=suited.whole,
                with_graph=fitted and fit != "none",
                source=source,
                progress=progress,
            ),
            told=lambda: sparse_notes(graph.shape, asked=mechanism == SPARSE),
        )
    left, right = sides_of(graph)
    check_size(graph.shape, noise=noise, fit=fit)
    plan = group_plan(graph, groups)
    distribution = distribution_for(graph, noise, each)
    method = fit_method(fit, weight_cap=cap, oracle=oracle, time_limit=time_limit)
    mechanism = mechanism_for(method, mechanism, degree_share, workload)
    if unweighted and (graph.weighted or method is None):
        raise ParameterError("unweighted=True needs a graph without weights and a fit")
    least = least_distribution(graph, noise, each, mechanism, degree_share, plan, workload)
    return release(
        parameters={"noise": noise, "mechanism": mechanism, "workload": workload},
        guarantee=promise(graph, cost, whom, groups=plan is not None),
        measure=lambda private, source, _: measure(
            private,
            epsilon=each,
            noise=noise,
            mechanism=mechanism,
            share=degree_share,
            source=source,
            groups=plan,
            workload=workload,
        ).protected(whom, epsilon=epsilon),
        finish=lambda measurements, source, progress: replace(
            _post_process(measurements, method if fitted else None, unweighted, source, progress),
            workload=workload,
        ),
        warning=accuracy_warning(distribution, left, right, steps=whom.steps),
        told=lambda: (
            "Weights are rounded down to whole numbers."
            if noise == "discrete-laplace" and graph.weighted
            else None,
            expected_error_note(least, graph.shape),
            None if graph.weighted or fit == "none" else _synthetic_note(graph, float(each)),
            size_note(graph.shape, noise=noise, fit=fit),
        ),
    )


def _synthetic_note(graph: AnyGraph, epsilon: float) -> str:
    """Which degrees it takes, from the vertex sets and epsilon alone: m is private."""
    communities, edges = degrees_needed(size_of(Universe.of(graph)), epsilon=epsilon)
    return (
        "Communities show in the synthetic graph from an average degree of about "
        f"{communities:,.3g} on, single edges from {edges:,.3g} on; graphcuts-dp plan tells more."
    )


def _post_process(
    measurements: Measurements,
    method: FitMethod | None,
    unweighted: bool,
    source: EntropySource,
    progress: Progress,
) -> Release:
    noisy = Release(measurements=measurements).noisy
    home = replace(noisy, blocks=noisy.blocks.copy())
    values = (home if value is noisy else value for value in measurements.values)
    kept = replace(measurements, values=tuple(values))
    if method is None:
        return Release(measurements=kept)
    cap = math.inf if noisy.distribution.weight_cap is None else noisy.distribution.weight_cap
    problem = FitProblem(
        noisy.blocks,
        cap,
        measurements.all_of(NoisyDegrees),
        measurements.find(NoisyTotal),
        measurements.all_of(NoisyGroups),
    )
    made = finished_fit(method, problem, home, unweighted, source, progress)
    if made.summary.warning is not None:
        # Where warnings are errors, what was paid for must not be lost.
        with suppress(AccuracyWarning):
            warnings.warn(made.summary.warning, AccuracyWarning, stacklevel=2)
    return Release(
        measurements=kept,
        fit=made.summary,
        certificate=made.certificate,
        _graph=_synthetic_graph(
            (weights_of(rows, cap) for rows in _few_rows(made.matrix)),
            home,
            weighted=not unweighted,
            note="" if measurements.guarantee.is_private else SEEDED_WARNING,
        ),
    )


def _few_rows(matrix: npt.NDArray[np.number]) -> Iterator[npt.NDArray[np.number]]:
    height = max(1, _ROW_ENTRIES // matrix.shape[1])
    for start in range(0, len(matrix), height):
        yield matrix[start : start + height]


def _synthetic_graph(
    parts: Iterable[FloatMatrix], noisy: NoisyMatrix, *, weighted: bool, note: str
) -> AnyGraph:
    cap = noisy.distribution.weight_cap if weighted else None
    return from_rows_on(noisy.space, parts, weighted=weighted, weight_cap=cap, note=note)


def sides_of(graph: AnyGraph) -> tuple[VertexSet, VertexSet]:
    """The vertex sets of the rows and of the columns; one object for a plain graph.

    Raises:
        GraphError: no graph, or one of a single vertex.
    """
    if not isinstance(graph, AnyGraph):
        raise GraphError("the first argument must be a Graph; make one by Graph.of, or read_graph")
    if not isinstance(graph, BipartiteGraph) and graph.n < 2:
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
    return sides_in(graph.space)
