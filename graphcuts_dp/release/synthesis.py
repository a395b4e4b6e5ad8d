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
from graphcuts_dp.estimate.measurement import CellSums, Degrees, Measurements, Total
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix, accuracy_warning, expected_error_note
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, from_rows_on
from graphcuts_dp.graph.owned_rows import PrivateData, paired_graph, without_rows
from graphcuts_dp.learn.bounds import degrees_needed, size_of
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.measure.entries import distribution_for
from graphcuts_dp.options import chosen
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.queries import sides_of as sides_in
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import VertexSet
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import Protect
from graphcuts_dp.privacy.noise import SEEDED_WARNING, EntropySource
from graphcuts_dp.release.allocation import least_distribution, measure, promise
from graphcuts_dp.release.choice import RESPONSE, RESPONSES, SPARSE, SPLIT, Response
from graphcuts_dp.release.group_shares import group_plan
from graphcuts_dp.release.job import Job, execute
from graphcuts_dp.release.sparse import (
    check_fitting,
    sparse_notes,
    sparse_release,
    takes_sparse,
)
from graphcuts_dp.release.sparse_measure import check_sparse, measure_sparse
from graphcuts_dp.release.usefulness import check_size, size_note
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.results.release import Release
from graphcuts_dp.synth.base import FitMethod, FitProblem
from graphcuts_dp.synth.finishing import finished_fit, weights_of
from graphcuts_dp.synth.methods import Fitting

_ROW_ENTRIES = 1 << 20  # entries of the synthetic matrix turned into edges at a time


def release_graph(
    graph: PrivateData,
    *,
    epsilon: float,
    noise: str = "binary",
    mechanism: str | Response = "auto",
    groups: Groups | tuple[Groups, Groups] | None = None,
    fit: str | FitMethod | Fitting = "auto",
    protect: str | Protect = "edges",
    store: PathLike | Store | None = None,
    seed: int | None = None,
    progress: Progress = silent,
) -> Release:
    """Release a synthetic graph whose cuts are near those of a private one.

    Args:
        graph: the private graph, or rows with owners, at least two vertices (one on each side if
            bipartite).
        epsilon: privacy parameter, for whom `protect` names, in [1e-6, 50]; all of it is spent.
        noise: "binary" (graphs without weights: flipped bits, least error), "laplace" or
            "discrete-laplace" (weights are rounded down to whole numbers).
        mechanism: how epsilon is spent: "auto", "response", "degrees+response" or "sparse", perhaps
            with options, as in "auto:workload=synthetic graph", or a `Response`, which holds them.
        groups: public groups of the vertices (of a bipartite graph a pair, left and right), which
            come out with the release. A twentieth to a quarter of epsilon buys noisy sums between
            them, by `group_share`; a sixth of that first, and the rest only where it shows that
            the groups tell more of the graph than its degrees do. The fit "maximum-entropy" holds
            the graph to these sums, and answers use them. Of nested levels the finest with at most
            256 groups counts. Beyond epsilon of about 6 entries alone tell sums as well.
        fit: how the synthetic graph is fitted: "auto", "maximum-entropy", "first-order",
            "cutting-plane", "game", "spectral" or "none", perhaps with options, as in
            "first-order:time-limit=60"; an object that satisfies `FitMethod`, or a `Fitting`, which
            holds such options.
        protect: whom the promise is for: "edges", or a `Protect`. Where k edges may change
            together, each has a k-th of epsilon; of an owner so many pairs, rows or units count,
            see `OwnedRows.bounded`.
        store: path of the store, or a `Store`, that remembers what was spent on this graph: the
            release is charged to it, and refused if its budget does not allow it. None for a graph
            of which nothing else is ever released.
        seed: makes the run repeatable and voids the promise; None for the system's entropy. All
            noise is the same on every machine; the last digits of the fit depend on the processor.
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
    in `Protect.edges(k)` of them, by group privacy.
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
        groups=groups,
        fit=fit,
        protect=protect,
    )
    return execute(job, graph, store=store, seed=seed, progress=progress)


def graph_job(
    data: PrivateData,
    *,
    epsilon: float,
    noise: str = "binary",
    mechanism: str | Response = "auto",
    groups: Groups | tuple[Groups, Groups] | None = None,
    fit: str | FitMethod | Fitting = "auto",
    protect: str | Protect = "edges",
    fitted: bool = True,
) -> Job[Release]:
    """What `release_graph` does with these options, told beforehand. Reads the schema alone.

    With `fitted` False the result has no synthetic graph.

    Raises:
        ParameterError, GraphError: as `release_graph`.
    """
    empty = without_rows(data)
    del data  # nothing below can reach it
    response = chosen(mechanism, RESPONSES, "mechanism")
    fitting = fit if isinstance(fit, Fitting) else Fitting.of(fit)
    graph, whom = paired_graph(empty, protect, at_most=None, epsilon=epsilon)
    each = whom.per_step(epsilon)
    cost = whom.cost(Cost.of_pure(each), epsilon=epsilon)
    release = partial(Job[Release], kind="release", public=empty, protect=whom, cost=cost)
    cap = graph.weight_cap
    if takes_sparse(graph.shape, response, fitting, noise=noise, weight_cap=cap):
        check_fitting(fitting)
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
                degree_share=response.share,
                progress=progress,
            ).protected(whom, epsilon=epsilon),
            finish=lambda measurements, source, progress: sparse_release(
                measurements,
                graph.space,
                weight_cap=cap,
                weighted=graph.weighted,
                whole=suited.whole,
                with_graph=fitted and fitting.fit != "none",
                source=source,
                progress=progress,
            ),
            told=lambda: sparse_notes(graph.shape, asked=response.mechanism == SPARSE),
        )
    left, right = sides_of(graph)
    method = fitting.method(cap)
    check_size(graph.shape, noise=noise, fit=method is not None)
    plan = group_plan(graph, groups)
    distribution = distribution_for(graph, noise, each)
    response = _suited(response, method)
    if fitting.unweighted and (graph.weighted or method is None):
        raise ParameterError("unweighted=True needs a graph without weights and a fit")
    least = least_distribution(graph, noise, each, response, plan)
    return release(
        parameters={
            "noise": noise,
            "mechanism": response.mechanism,
            "workload": response.workload,
        },
        guarantee=promise(graph, cost, whom, groups=plan is not None),
        measure=lambda private, source, _: measure(
            private, epsilon=each, noise=noise, response=response, source=source, groups=plan
        ).protected(whom, epsilon=epsilon),
        finish=lambda measurements, source, progress: replace(
            _post_process(measurements, method if fitted else None, fitting, source, progress),
            workload=response.workload,
        ),
        warning=accuracy_warning(distribution, left, right, steps=whom.steps),
        told=lambda: (
            "Weights are rounded down to whole numbers."
            if noise == "discrete-laplace" and graph.weighted
            else None,
            expected_error_note(least, graph.shape),
            None if graph.weighted or method is None else _synthetic_note(graph, float(each)),
            size_note(graph.shape, noise=noise, fit=method is not None),
        ),
    )


def _suited(response: Response, method: FitMethod | None) -> Response:
    """What a fit can use: "response" for "auto" with fits that know no degrees.

    Raises:
        ParameterError: degrees for a fit that does not use them.
    """
    if method is not None and method.uses_degrees:
        return response
    if response.mechanism == SPLIT or response.degree_share is not None:
        raise ParameterError("noisy degrees are used by fit='maximum-entropy' only")
    return replace(response, mechanism=RESPONSE)


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
    fitting: Fitting,
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
        measurements.all_of(Degrees),
        measurements.find(Total),
        measurements.all_of(CellSums),
    )
    matrix, certificate, summary = finished_fit(
        method,
        problem,
        home,
        time_limit=fitting.time_limit,
        unweighted=fitting.unweighted,
        source=source,
        progress=progress,
    )
    if summary.warning is not None:
        # Where warnings are errors, what was paid for must not be lost.
        with suppress(AccuracyWarning):
            warnings.warn(summary.warning, AccuracyWarning, stacklevel=2)
    return Release(
        measurements=kept,
        fit=summary,
        certificate=certificate,
        _graph=_synthetic_graph(
            (weights_of(rows, cap) for rows in _few_rows(matrix)),
            home,
            weighted=not fitting.unweighted,
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
