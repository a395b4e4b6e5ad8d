"""The table of fits: what `fit=` of a release can name.

The fit in the normalised cut norm: least spectral norm over the box.

Fit for cuts of every kind: maximum entropy around the noisy bits.

The query release game: a synthetic matrix as the average of plays against the worst cuts.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, cast, final

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.blocks import mirror_upper
from graphcuts_dp.options import OUTPUT, check, option, read_options
from graphcuts_dp.resources import Deadline, Progress, one_blas_thread, silent
from graphcuts_dp.synth.base import (
    Fit,
    FitMethod,
    FitProblem,
    Stopped,
    degree_matched_start,
    gap_between,
)
from graphcuts_dp.synth.credible_sums import credible_sums
from graphcuts_dp.synth.cutting_plane import Cut, CutNormOracle, CuttingPlane, SeparationOracle
from graphcuts_dp.synth.first_order import FirstOrder
from graphcuts_dp.synth.log_odds import OutOfTimeError, solve, synthetic_rows

# bench_game.py: values over n^1.5 of .250, .230, .245 at n = 60, 150, 400, the first-order fit
# .248, .227, .228.
_SCALE = 0.1  # of the data player's steps, in diameters of the box; see `Play.regret_bound`
_CUTS = 8  # that the query player mixes
_LOOK = 25  # rounds between looks at the average


@final
@dataclass(frozen=True)
class QueryGame:
    """Minimise ||x - z||_C over the box by playing the query release game.

    The data player has the points x of the box, the query player the signed cuts
    Q = +-1_S 1_T', and the data player pays <Q, x - z>. The value of the game is
    min over x of ||x - z||_C; against the private data themselves it would be 0 (DR14,
    Proposition 5.16), against a noisy matrix it is what no synthetic graph can avoid.

    Each round, with weight w_t = t (late rounds are better):

    1. The query player answers x_t with a mixture Q_t of the largest cuts that the oracle finds,
       each with its sign: nearly a best response.
    2. The data player, who has no regret, goes x <- project(x - eta_t w_t Q_t) with
       eta_t = D/sqrt(sum of ||w_s Q_s||^2, s <= t): online gradient descent.

    The average of the x_t is the fit. The average of the Q_t is a mixed strategy of the query
    player: the least <Q, x - z> over the box is a lower bound, whatever the oracle found. So the
    gap needs no trust in either player.

    Guarantee, with gap g as reported and an exact last search: ||x - A||_C <=
    (1 + 1/(1-g)) ||A - z||_C for every A in the box; the release's certificate bounds the norm
    from above as well. The gap falls as 1/sqrt(rounds): see `Play.regret_bound`. Weights without a
    public cap have no lower bound but 0.

    Source: DR14 section 5.3.3; step lengths: Duchi, Hazan, Singer 2011. Deviations: the database
    player plays points of the box against z, not universe elements against the private data, so
    this is post-processing; queries are all cuts, by an oracle, not a list.

    Attributes:
        tolerance: stop when the gap is at most this.
        max_rounds: most rounds; None chooses from n.
        time_limit: seconds after which the best point so far is returned; None for no limit.
    """

    tolerance: float = 0.05
    max_rounds: int | None = None
    time_limit: float | None = None
    uses_degrees: ClassVar[bool] = False  # sums of noisy entries stand for them
    needs_cap: ClassVar[bool] = False

    def __call__(self, problem: FitProblem, *, progress: Progress = silent) -> Fit:
        """Play; same input, same output, unless the time limit strikes."""
        with threadpool_limits(1, "blas"):
            return self._run(problem, progress)

    def _run(self, problem: FitProblem, progress: Progress) -> Fit:
        deadline = Deadline.after(self.time_limit)
        play = Play(problem, CutNormOracle(problem.shape, cuts=_CUTS))
        judge = CutNormOracle(problem.shape, deadline=deadline)
        best, best_x = math.inf, play.x
        max_rounds = self.max_rounds or default_rounds(max(problem.shape))
        stopped: Stopped | None = None
        while stopped is None:
            play.round()
            if deadline.passed():
                stopped = "time"
            elif play.rounds == max_rounds:
                stopped = "rounds"
            elif play.rounds % _LOOK:
                continue
            x = play.average
            value = _largest(judge.separate(x - problem.noisy), x - problem.noisy)
            if value < best:
                best, best_x = value, x
            near = gap_between(best, play.lower) <= self.tolerance
            if stopped or near:
                residual = best_x - problem.noisy
                best = max(best, _largest(judge.search(residual), residual))
            if near and gap_between(best, play.lower) <= self.tolerance:
                stopped = "gap"
            done = play.rounds / max_rounds
            progress(done, f"error {best:.4g}, gap {gap_between(best, play.lower):.0%}")
        return Fit(
            matrix=best_x,
            method="game",
            objective="cut norm",
            value=best,
            lower=play.lower,
            rounds=play.rounds,
            stopped=stopped,
        )


def default_rounds(n: int) -> int:
    """Rounds after which the gap is about 10 %, or 20 % above 300 vertices; seconds of work."""
    return 1000 if n <= 300 else 400


@final
class Play:
    """The game between two players, one round at a time.

    Args:
        problem: z and the box.
        oracle: of the query player.

    Attributes:
        rounds: played so far.
        x: the data player's next point.
    """

    def __init__(self, problem: FitProblem, oracle: SeparationOracle) -> None:
        self.rounds = 0
        self.x: RealMatrix = degree_matched_start(problem)
        self._problem = problem
        self._oracle = oracle
        # Without a cap, entries move about as far as the noise does.
        reach = min(problem.cap, float(problem.noisy.std())) or 1.0
        self._scale = _SCALE * reach * math.sqrt(problem.noisy.size)
        self._points = np.zeros_like(self.x)
        self._queries = np.zeros_like(self.x)
        self._weight = self._payoffs = self._squares = 0.0

    def round(self) -> None:
        """One play of each."""
        residual = self.x - self._problem.noisy
        query = self._mixture(residual)
        self.rounds += 1
        w = float(self.rounds)
        self._weight += w
        self._points += w * self.x
        self._queries += w * query
        self._payoffs += w * float(np.vdot(query, residual))
        self._squares += w**2 * float(np.vdot(query, query))
        if self._squares > 0:
            length = self._scale / math.sqrt(self._squares)
            self.x = self._problem.project(self.x - length * w * query)

    @property
    def average(self) -> RealMatrix:
        """The data player's average play."""
        average: RealMatrix = self._points / self._weight
        return average

    @property
    def payoff(self) -> float:
        """What the data player has paid a round."""
        return self._payoffs / self._weight

    @property
    def lower(self) -> float:
        """The best answer to the query player's average: no point of the box has less."""
        return max(0.0, self._problem.dual_value(self._queries / self._weight))

    @property
    def regret_bound(self) -> float:
        """What the data player pays a round more than the best point would have, at most.

        (R^2/(2 D) + D) sqrt(sum of ||w_t Q_t||^2) / sum of w_t for a box of diameter R: the usual
        sum of ||x_t - x*||^2 - ||x_{t+1} - x*||^2 over decreasing steps, and
        sum a_t/sqrt(a_1 + ... + a_t) <= 2 sqrt(a_1 + ... + a_T). With weights t it is
        O(1/sqrt(rounds)). With D = R/sqrt(2) the factor is least; a smaller D does better here,
        since plays stay near each other.

        So payoff - lower <= regret_bound. And ||average - z||_C is at most the mean of the
        ||x_t - z||_C, which with an exact oracle for the query player is the payoff: then
        (average, mixture) is an approximate equilibrium, ||average - z||_C - min <= regret_bound.
        """
        diameter = self._problem.cap * math.sqrt(self._pairs)
        factor = diameter**2 / (2 * self._scale) + self._scale
        return factor * math.sqrt(self._squares) / self._weight

    @property
    def _pairs(self) -> int:
        rows, columns = self._problem.shape
        return rows * (columns - 1) if self._problem.hollow else rows * columns

    def _mixture(self, residual: RealMatrix) -> RealMatrix:
        """The mean of the oracle's cuts, each with the sign that it has here."""
        cuts = self._oracle.separate(residual)
        S, T = (np.array(sides, dtype=np.float64) for sides in zip(*cuts, strict=True))
        signs = np.sign(np.einsum("ki,ki->k", S @ residual, T))
        query: RealMatrix = (S * signs[:, None]).T @ T / len(cuts)
        if self._problem.symmetric:
            query = (query + query.T) / 2
        if self._problem.hollow:
            np.fill_diagonal(query, 0)
        return query


def _largest(cuts: list[Cut], residual: RealMatrix) -> float:
    return max(abs(float(S @ residual @ T)) for S, T in cuts)


_STRUCTURE = 0.3  # of the progress


@final
@dataclass(frozen=True)
class MaximumEntropy:
    """The matrix of largest entropy, relative to the noisy bits' own odds, with credible sums.

    The fits that only minimise a norm of x - z spend the freedom that is left on cuts between
    communities, and make those 4 to 25 times worse than in z. Here x gives every noisy entry the
    weight of the evidence that it is, and is held to the sums that the noisy data show well:

    1. Structure: directions of z beyond its noise, denoised, with sizes such that inner products
       along the true directions are unbiased, and soft blocks of vertices
       (`sharpened_structure`).
    2. Degrees and sums over pairs of blocks (`credible_sums`).
    3. x = cap sigmoid(evidence + a_i + b_j + s q_i^T Theta r_j) with those sums (`solve`).

    Guarantee: x lies in the box. It minimises no norm of x - z, so the worst error is bounded
    through the certificate of x - z: ||x - A||_C <= ||x - z||_C + ||z - A||_C. A release compares
    that certificate with `noise_cut_bound` and mixes x with the first-order fit where it is
    larger, so ||x - A||_C is at most twice that bound.

    With s the deviation of the noise if all of epsilon were spent on entries, blocks were mostly
    told apart when (p_in - p_out) |block| was above about 1.5 s sqrt(n); at 1.4 some of them were
    merged in half of the releases, and below once that no method sees them: cuts between them then
    come out as if the graph had its degrees only. `Fit.near_noise` tells.

    Source: GRU12 section 6 (post-processing of z); Jaynes 1957 (maximum entropy).

    Attributes:
        time_limit: seconds after which the point reached is returned; None for no limit.
    """

    time_limit: float | None = None
    uses_degrees: ClassVar[bool] = True  # its sums are held to them
    needs_cap: ClassVar[bool] = True  # odds are those of weights between 0 and a cap

    tolerance = None  # there is no gap to close

    def __call__(self, problem: FitProblem, *, progress: Progress = silent) -> Fit:
        """Run the steps above; same input, same output, unless the time limit strikes."""
        blocks, cap = problem.blocks, problem.cap
        if blocks.distribution is None or math.isinf(cap):
            raise ParameterError(
                "fit 'maximum-entropy' needs the noise's distribution and a public weight cap: "
                "give weight_cap, or choose fit='first-order'"
            )
        deadline = Deadline.after(self.time_limit)
        progress(0.0, "looking for structure")
        with one_blas_thread():
            sums = credible_sums(problem, blocks.distribution, deadline)

        def report(done: float, message: str) -> None:
            progress(_STRUCTURE + (1 - _STRUCTURE) * done, message)
            if deadline.passed():
                raise OutOfTimeError

        solution = solve(blocks, sums, cap, report=report)
        x = blocks.gather(
            synthetic_rows, solution.factors, cap, width=problem.shape[1], dtype=np.float32
        )
        if problem.symmetric:
            mirror_upper(x, blocks.layout)
        return Fit(
            matrix=x,
            method="maximum-entropy",
            objective="relative entropy",
            value=None,
            lower=None,
            rounds=solution.rounds,
            stopped=solution.stopped,
            near_noise=sums.near_noise,
            directions=sums.directions,
        )


@final
@dataclass(frozen=True)
class Spectral:
    """Minimise sigma_1(x - z) over the box by alternating directions.

    The normalised cut norm max |M(S,T)|/sqrt(|S||T|) and the spectral norm are within a
    logarithm: ||M||_NC <= sigma_1(M) <= 2 H_n ||M||_NC (see `cutnorm.spectral`). So a minimiser
    of sigma_1 has |(x - A)(S,T)| <= 2 sigma_1(A - z) sqrt(|S||T|) for every S, T. That bound is
    small for small sets, yet measured errors were larger than those of the first-order fit on
    every kind of cut: keep this one for reproducing the paper.

    Steps, with y a copy of x - z and u the scaled multiplier:

    1. y <- the singular values of x - z + u beyond t cut down to t, where t is such that what
       is cut off sums to `1/penalty`; what is cut off, times the penalty, is a matrix W of nuclear
       norm 1.
    2. x <- project(y + z - u).
    3. u <- u + x - z - y.

    W bounds the minimum from below: min <W, x - z> over the box. Value and lower bound are
    right up to rounding (about 1e-9 of the value).

    Guarantee: with gap g as reported, sigma_1(x - A) <= (1 + 1/(1-g)) sigma_1(A - z).

    Source: GRU12 section 6.2; Nikiforov 2009 (the logarithm); Boyd et al. 2011 (the method).

    Attributes:
        tolerance: stop when the gap is at most this.
        max_steps: most steps; each is one full eigenvalue or singular value decomposition.
        time_limit: seconds after which the best point so far is returned; None for no limit.
    """

    tolerance: float = 0.03
    max_steps: int = 60
    time_limit: float | None = None
    uses_degrees: ClassVar[bool] = False  # sums of noisy entries stand for them
    needs_cap: ClassVar[bool] = False

    def __call__(self, problem: FitProblem, *, progress: Progress = silent) -> Fit:
        """Run the steps above; same input, same output, unless the time limit strikes."""
        deadline = Deadline.after(self.time_limit)
        z = problem.noisy
        x = best_x = degree_matched_start(problem)
        u = np.zeros_like(z)
        best, lower = math.inf, 0.0
        # The cut-off mass at the solution is of the order of all singular values together.
        mass = 0.1 * min(z.shape) * math.sqrt(max(z.shape)) * float(z.std())
        stopped: Literal["gap", "rounds", "time"] = "rounds"
        steps = 0
        for steps in range(1, self.max_steps + 1):
            y = x - z + u
            cut_off = _excess(y, mass, problem.symmetric)
            y -= cut_off
            if mass > 0:
                lower = max(lower, problem.dual_value(cut_off / mass))
            x = problem.project(y + z - u)
            u += x - z - y
            value = _spectral_norm(x - z, symmetric=problem.symmetric)
            if value < best:
                best, best_x = value, x
            gap = gap_between(best, lower)
            progress(steps / self.max_steps, f"spectral error {best:.4g}, gap {gap:.0%}")
            if gap <= self.tolerance:
                stopped = "gap"
                break
            if deadline.passed():
                stopped = "time"
                break
        return Fit(best_x, "spectral", "spectral norm", best, lower, steps, stopped)


def _excess(matrix: RealMatrix, mass: float, symmetric: bool) -> RealMatrix:
    """What to subtract to cut the largest singular values to one level, `mass` in total."""
    left, values, right = _decompose(matrix, symmetric=symmetric)
    sizes = np.abs(values)
    order = np.sort(sizes)[::-1]
    levels = (np.cumsum(order) - mass) / np.arange(1, len(order) + 1)
    used = int(np.flatnonzero(order > levels)[-1]) if (order > levels).any() else 0
    level = max(levels[used], 0.0)
    excess = np.sign(values) * np.maximum(sizes - level, 0.0)
    large = excess != 0
    cut_off: RealMatrix = (left[:, large] * excess[large]) @ right[large]
    return (cut_off + cut_off.T) / 2 if symmetric else cut_off


def _decompose(matrix: RealMatrix, *, symmetric: bool) -> tuple[Any, Any, Any]:
    if symmetric:
        values, vectors = scipy.linalg.eigh(matrix, driver="evd", check_finite=False)
        return vectors, values, vectors.T
    return scipy.linalg.svd(matrix, full_matrices=False, check_finite=False)  # type: ignore[no-any-return]


def _spectral_norm(matrix: RealMatrix, *, symmetric: bool) -> float:
    if symmetric:
        values = scipy.linalg.eigvalsh(matrix, check_finite=False)
        return float(max(abs(values[0]), abs(values[-1])))
    return float(scipy.linalg.svdvals(matrix, check_finite=False)[0])


Oracle = Literal["cut-norm", "spectral"]
ORACLES: tuple[Oracle, ...] = ("cut-norm", "spectral")

# Each makes a fit from an oracle, which most do not have, and a time limit in seconds or None.
FITS: Mapping[str, Callable[[Oracle, float | None], FitMethod]] = {
    "maximum-entropy": lambda _, limit: MaximumEntropy(time_limit=limit),
    "first-order": lambda _, limit: FirstOrder(time_limit=limit),
    "cutting-plane": lambda oracle, limit: CuttingPlane(oracle=oracle, time_limit=limit),
    "game": lambda _, limit: QueryGame(time_limit=limit),
    "spectral": lambda _, limit: Spectral(time_limit=limit),
}
FIT_NAMES = ("auto", *FITS, "none")


@final
@dataclass(frozen=True)
class Fitting:
    """How a synthetic graph is fitted to what was measured; a string names it, too.

    For example "cutting-plane:oracle=spectral,time-limit=60".

    Attributes:
        fit: "maximum-entropy" (right for all kinds of cuts), "first-order" (least worst cut error
            against the noisy matrix; worse between communities), "cutting-plane" (the same as a
            linear program, to about 150 vertices), "game" (likewise, as the game of DR14 section
            5.3.3; a reference), "spectral" (least spectral norm, as GRU12 section 6.2; a
            reference), "none" (only the noisy matrix), or "auto": maximum-entropy where weights
            have a public cap, else first-order. Or an object of your own, see `FitMethod`.
        oracle: separation oracle of the cutting-plane fit, "cut-norm" or "spectral".
        time_limit: seconds for everything after the noise: the fit, certificates, mixtures; None
            for no limit. When they are over the best point so far is taken, with the shortest
            proof. Not bounded: reading the graph, drawing the noise, one step of the fit (with its
            spectrum, if any), a rounding by `unweighted`, one shortest certificate. With it the
            release is as private; its bound on mixtures may be missed, and then the summary of the
            fit says that it was stopped by time.
        unweighted: round the synthetic graph to one without weights; adds error.

    Raises:
        ParameterError: an option out of range, or options that do not fit together.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> fit = gc.Fitting("cutting-plane", oracle="spectral", time_limit=5.0)
        >>> release = gc.release_graph(club, epsilon=4.0, fit=fit)
    """

    fit: str | FitMethod = option(
        "auto", help="How the graph is fitted.", choices=FIT_NAMES, parse=str
    )
    oracle: str = option("cut-norm", help="Oracle of the cutting-plane fit.", choices=ORACLES)
    time_limit: float | None = option(
        None,
        help="Limit for the fit and certificates, beyond the shortest of both.",
        unit="seconds",
        above=0,
    )
    unweighted: bool = option(False, help="Round the synthetic weights to 0 and 1.", group=OUTPUT)

    def __post_init__(self) -> None:
        check(self)
        usual = self.oracle == ORACLES[0]
        if not isinstance(self.fit, str):
            if not callable(self.fit):
                raise ParameterError("fit is a name, or an object as `FitMethod` describes it")
            if self.time_limit is not None or not usual:
                raise ParameterError("an object given as fit has its own oracle and time_limit")
        elif not usual and self.fit not in ("auto", "cutting-plane"):
            raise ParameterError("an oracle can be chosen for fit='cutting-plane' only")

    @classmethod
    def of(cls, fit: str | FitMethod) -> Self:
        """The fit that a string names, or an object of one's own with the other defaults.

        Raises:
            ParameterError: an unknown name, or options that do not fit together.
        """
        return read_options(fit, cls) if isinstance(fit, str) else cls(fit)

    def method(self, weight_cap: float | None) -> FitMethod | None:
        """What fits a graph of this public largest weight; None for "none".

        Raises:
            ParameterError: a fit that does not suit the graph's schema.
        """
        fit, method = self.fit, None
        if fit == "auto":
            fit = "first-order" if weight_cap is None else "maximum-entropy"
            fit = fit if self.oracle == ORACLES[0] else "cutting-plane"
        if not isinstance(fit, str):
            method = fit
        elif fit != "none":
            method = FITS[fit](cast(Oracle, self.oracle), self.time_limit)
        if method is not None and method.needs_cap and weight_cap is None:
            name = f"fit {fit!r}" if isinstance(fit, str) else "this fit"
            raise ParameterError(
                f"{name} needs a public largest weight: give weight_cap, or choose "
                "fit='first-order'"
            )
        return method
