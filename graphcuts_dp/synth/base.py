"""The problem that every fit solves, what it returns, and the loop of those that close a gap.

Given a noisy matrix z, a *fit* finds x in the *box*, the matrices with entries in [0, cap], such
that x - z is small in a norm of cuts: the cut norm in GRU12 Lemma 6.2, the normalised one in GRU12
section 6.2. The true matrix A lies in the box, so a minimiser has ||x - z|| <= ||A - z||, hence
||x - A|| <= 2 ||A - z||. A point whose value is at most c times the minimum has
||x - A|| <= (1 + c) ||A - z||.

Most fits are searches. The *value* of a point x is the norm of x - z. A search keeps the best value
found so far and a lower bound on all values of the box; the *gap* is how far these are apart.

- `FitProblem` is what a fit gets, `Fit` what it returns, with the report `FitSummary`.
- `GapSearch` is one search, which `close_gap` runs round by round.
- `FitMethod` describes a fit for the table in `synth.methods`.

What a release does with x is in `synth.finishing`: it computes a *certificate*, a proven upper
bound on the cut norm of x - z. If that exceeds a bound on the cut norm of the noise, it takes a
mixture of x and the fit of `synth.first_order`, which minimises the cut norm.

Source: GRU12 is Gupta, Roth, Ullman, "Iterative Constructions and Private Data Release", 2012.

Privacy: fits read z and other noisy data alone, so they are post-processing and cost nothing.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.blocks import Blocks
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement, Degrees, Total
from graphcuts_dp.final_classes import final
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON
from graphcuts_dp.resources import NEVER, Deadline, Progress, one_blas_thread, silent

Stopped = Literal["gap", "settled", "rounds", "time"]


@final
@dataclass(frozen=True, eq=False)
class FitProblem:
    """A noisy matrix and the box that the synthetic one must lie in.

    Attributes:
        blocks: z, in blocks of rows with unbiased estimates of the true entries. Its shape is
            (n, n), symmetric with zero diagonal, for an undirected graph; (n_left, n_right) for a
            bipartite one; (n, n) with zero diagonal for a directed one.
        cap: largest entry of a matrix in the box; infinity if weights have no public maximum.
        degrees: noisy degrees. None if the budget was not split.
        total: noisy sum of all true entries. None if the budget was not split.
        groups: noisy sums between public groups. None without such groups.
    """

    blocks: Blocks
    cap: float = 1.0
    degrees: CountMeasurement[Degrees] | None = None
    total: CountMeasurement[Total] | None = None
    groups: CountMeasurement[CellSums] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.blocks.shape

    @property
    def symmetric(self) -> bool:
        """True if z is the adjacency matrix of an undirected graph."""
        return self.blocks.layout.symmetric

    @property
    def hollow(self) -> bool:
        """True if z and x have a zero diagonal, since rows and columns are the same vertices."""
        return self.blocks.layout.hollow

    @cached_property
    def noisy(self) -> RealMatrix:
        """The whole matrix z, float64: for fits that are meant for small graphs."""
        return self.blocks.estimate()

    def project(self, matrix: RealMatrix) -> RealMatrix:
        """Project a matrix to the box, in place; a symmetric matrix stays so to the last bit.

        Args:
            matrix: of the shape of z; it is written to.
        """
        np.clip(matrix, 0.0, self.cap, out=matrix)
        if self.hollow:
            np.fill_diagonal(matrix, 0.0)
        return matrix

    def dual_value(self, functional: RealMatrix) -> float:
        """Return the minimum of <W, x - z> over all x in the box, for a matrix W.

        A norm of x - z is the largest <W, x - z> over its dual unit ball. So for W in that ball the
        minimum is a lower bound on the norm of x - z, for every x in the box.

        Args:
            functional: W, same shape and symmetry as z.
        """
        negative_sum = float(np.minimum(functional, 0).sum(dtype=np.float64))
        # x is the cap where W < 0, else 0. Without a cap, 0 x infinity has to be avoided.
        box_minimum = self.cap * negative_sum if negative_sum else 0.0
        return box_minimum - float(np.vdot(functional.astype(np.float64), self.noisy))


def gap_between(value: float, lower: float) -> float:
    """Return how far a value is above a lower bound, as a fraction of the value; in [0, 1]."""
    return max(0.0, 1.0 - lower / value) if value > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class FitSummary:
    """Report on how the synthetic graph was fitted; plain values, all from noisy data.

    A *direction* is a pair of singular vectors of z. It is *detected* if its singular value is
    above those of noise alone by a margin. Detected directions show communities.

    Attributes:
        method: name of the fit.
        objective: the norm of x - z that was minimised, or "relative entropy".
        value: this norm at x, as the method computed it, before the weights were rounded. None if
            the objective is no norm.
        lower: lower bound on the values of all points of the box, up to rounding; at least 0. None
            if the objective is no norm.
        rounds: number of rounds.
        stopped: why it ended: "gap" (within the tolerance), "settled" (it did not change any more),
            "rounds" (all were done), or "time". It is also "time" if the time limit kept the
            release from mixing x with the first-order fit until its bound held.
        tolerance: gap at which the method was to stop. None if it has no gap.
        time_limit: seconds for the fit, mixtures and certificates together. None if unlimited, and
            in what a fit returns: `synth.finishing` sets it, and `rounding` and `mixed` too.
        rounding: proven bound, in the cut norm, on how far rounding the weights to 0 and 1 has
            moved any cut. None if they were not rounded.
        mixed: share of the first-order fit in the mixture; 0 in nearly all releases.
        near_noise: number of directions that are barely detected: by less than half of the usual
            margin. The synthetic graph may have merged the communities that they show.
        directions: number of detected directions that the fit keeps. None if that number says
            nothing about communities: if single entries show the edges, or noisy degrees are
            missing, or there are public groups, or the fit does not count directions.
        shown_from: smallest epsilon with which communities of a graph with as many edges could be
            detected. It may be above the largest epsilon that is allowed. None if it is unknown, or
            if the epsilon of this release was enough.
    """

    method: str
    objective: str
    value: float | None = None
    lower: float | None = None
    rounds: int = 1
    stopped: Stopped = "settled"
    tolerance: float | None = None
    time_limit: float | None = None
    rounding: float | None = None
    mixed: float = 0.0
    near_noise: int = 0
    directions: int | None = None
    shown_from: float | None = None

    @property
    def gap(self) -> float | None:
        """Largest excess of the value over the minimum, as a fraction of the value; in [0, 1]."""
        if self.value is None or self.lower is None:
            return None
        return gap_between(self.value, self.lower)

    @property
    def warning(self) -> str | None:
        """A sentence for users about communities that may be missing; None if there is none."""
        if not self.near_noise and self.directions == 0:
            # "..., or epsilon >= 3, could show them"; `answer` is a method of releases.
            return (
                "this graph has the degrees of yours and none of its communities, if it has any: "
                f"{what_could_show(self.shown_from)} them, mechanism='randomized-response' spends "
                "all on what could, and answer tells sums between groups"
            )
        if not self.near_noise:
            return None
        many = "a direction" if self.near_noise == 1 else f"{self.near_noise} directions"
        return (
            f"communities may be merged in the synthetic graph: {many} of the noisy matrix barely "
            "passed its noise; ask answer for sums between groups, or raise epsilon"
        )


def what_could_show(epsilon: float | None) -> str:
    """Return the words before "communities" in a sentence about what could show them.

    Args:
        epsilon: smallest one with which they could be detected; it is rounded up to one decimal.
            None if unknown.
    """
    if epsilon is None:
        return "public groups, or more epsilon, could show"
    if epsilon > LARGEST_EPSILON:
        return "public groups could show"
    return f"public groups, or epsilon >= {math.ceil(10 * epsilon) / 10:g}, could show"


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Fit(FitSummary):
    """A point of the box, with the report on how it was found.

    Attributes:
        matrix: x, same shape and symmetry as z, every entry in [0, cap].
    """

    matrix: RealMatrix


class GapSearch(ABC):
    """A fit that closes the gap between the best value so far and a lower bound, round by round.

    Subclasses take a problem, the deadline of the whole run, and options of their own. `close_gap`
    runs them.

    Attributes:
        method, objective: see `FitSummary`.
        tolerance: gap at which the search stops, unless the caller names another one.
        most_rounds: largest number of rounds for graphs of up to so many vertices. Keys ascend,
            and the last one is infinity.
        one_thread: whether BLAS calls of a round are too small to be divided among threads.
        best: least value so far.
        best_matrix: the point that has it, if the search holds it as a matrix.
        lower: lower bound so far on the values of all points of the box.
        rounds: number of rounds so far.
    """

    method: str
    objective: str
    tolerance: float = 0.05
    one_thread = True
    most_rounds: ClassVar[Mapping[float, int]]
    best: float = math.inf
    best_matrix: RealMatrix
    lower: float = 0.0
    rounds = 0

    def __init__(self, problem: FitProblem, deadline: Deadline = NEVER) -> None:
        self.problem: FitProblem = problem
        self.deadline: Deadline = deadline

    @abstractmethod
    def round(self) -> None:
        """Do one round: count it, and update `best`, `lower` and the best point."""

    def confirm(self) -> float:
        """Compute the value of the best point more carefully, store it, and return the gap with it.

        A round may understate a value, if it searches for the largest cut in a hurry. So `best` may
        rise here, and only here. `close_gap` calls it before it believes a gap, and at the end.
        """
        return self.gap()

    def best_point(self) -> RealMatrix:
        """Return the best x as a dense matrix; the search cannot go on after it."""
        return self.best_matrix

    def gap(self) -> float:
        """Return how far the best value may be above the minimum, as a fraction of it."""
        return gap_between(self.best, self.lower)


def close_gap(
    search: type[GapSearch],
    problem: FitProblem,
    *,
    tolerance: float | None = None,
    max_rounds: int | None = None,
    time_limit: float | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Fit:
    """Search until the gap is at most the tolerance, all rounds are done, or time is over.

    The same input gives the same output, unless the time limit ends the search.

    Args:
        search: the class whose rounds are run.
        problem: z and the box.
        tolerance: gap at which to stop, in [0, 1]; None for that of the search.
        max_rounds: most rounds; None or 0 for those of the search at this number of vertices.
        time_limit: seconds after which the best point so far is returned; None for no limit.
        progress: called with the fraction done and a message.
        options: of the search.
    """
    deadline = Deadline.after(time_limit)
    tolerance = search.tolerance if tolerance is None else tolerance
    n = max(problem.shape)
    if not max_rounds:
        max_rounds = next(rounds for size, rounds in search.most_rounds.items() if n <= size)
    stopped: Stopped | None = None
    with one_blas_thread() if search.one_thread else nullcontext():
        run = search(problem, deadline, **options)
        while stopped is None:
            run.round()
            progress(run.rounds / max_rounds, f"error {run.best:.4g}, gap {run.gap():.0%}")
            if run.gap() <= tolerance and run.confirm() <= tolerance:
                stopped = "gap"
            elif deadline.passed():
                stopped = "time"
            elif run.rounds == max_rounds:
                stopped = "rounds"
        if stopped != "gap":
            run.confirm()
        return Fit(
            matrix=run.best_point(),
            method=run.method,
            objective=run.objective,
            value=run.best,
            lower=run.lower,
            rounds=run.rounds,
            stopped=stopped,
            tolerance=tolerance,
        )


@final
@dataclass(frozen=True)
class FitMethod:
    """A method that solves a `FitProblem`, and what it needs.

    It reads noisy data alone, so it needs no audit and no budget. If it minimises no norm (the
    `value` of its fit is None), the release may mix its fit with the first-order fit: if the
    certificate exceeds `noise_cut_bound`, a bound on the cut norm of the noise.

    Attributes:
        run: called with the problem; `time_limit`, seconds after which it is to return the best
            point so far, or None; and `progress`, called with the fraction done and a message.
            With `has_gap` also with `tolerance`, if the user names one.
        uses_degrees: whether noisy degrees and a noisy total help it: a budget may then be split.
        needs_cap: whether it refuses weights without a public maximum.
        has_gap: whether it stops once its gap (see `GapSearch`) is within a tolerance.
        max_size: largest number of rows and columns of z together that it takes.

    A fit of your own, which `release_graph(graph, epsilon=1.0, fit=FitMethod(clipped))` takes::

        def clipped(problem, *, time_limit=None, progress=silent):
            x = problem.project(problem.noisy.copy())
            return Fit(matrix=x, method="clipped", objective="distance of each entry")
    """

    run: Callable[..., Fit]
    uses_degrees: bool = False
    needs_cap: bool = False
    has_gap: bool = False
    max_size: float = math.inf

    def check_size(self, shape: tuple[int, int]) -> None:
        """Refuse a matrix with more rows and columns than this fit takes.

        Args:
            shape: rows and columns of the matrix.

        Raises:
            ParameterError: there are more than `max_size`.
        """
        if sum(shape) > self.max_size:
            raise ParameterError(
                f"this fit takes {self.max_size:,} rows and columns together, and this graph has "
                f"{sum(shape):,}; choose another fit, or another oracle"
            )


def fit_of_plug_in(_: str, plug_in: object) -> FitMethod:
    """Return the object of an entry point of an installed package, if it is a `FitMethod`.

    Raises:
        ParameterError: it is another object.
    """
    if not isinstance(plug_in, FitMethod):
        raise ParameterError("its entry point must be a `FitMethod`")
    return plug_in
