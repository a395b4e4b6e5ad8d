"""Compute all parameters of a session that learns, before anything is spent.

`session_parameters` computes from public numbers what a calibration would choose. Its result has
the method with every parameter set: change one with `dataclasses.replace`, and open a session with
it. Reads nothing private.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, cast, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.constructions import bound_of
from graphcuts_dp.learn.sizes import Size
from graphcuts_dp.learn.workload import SessionWorkload
from graphcuts_dp.options import chosen
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.session.methods import Auto, LearningMethod, Method
from graphcuts_dp.session.online import OnlineMechanism
from graphcuts_dp.session.terms import METHOD_NAMES, SessionTerms


@final
@dataclass(frozen=True, kw_only=True)
class CalibratedMethod:
    """A method with all its parameters, and the bounds that hold with them.

    Attributes:
        method: as `open_session` takes it, with alpha, updates, threshold and the scales of noise
            set, in edges.
        update_bound: B(alpha), the most updates that can be needed.
        error_bound: with probability 1 - beta no answer has a larger error, in edges; infinite if
            no bound holds.
        void_reason: why no bound holds; None if one does.
        noise_epsilon: the cost of tests and measured answers by their noise, as an epsilon for the
            session's delta: at most the epsilon of the session, which is charged.

    Examples:
        >>> guess = {"edges": 300, "epsilon": 1.0, "delta": 1e-6, "queries": 20}
        >>> calibrated = gc.session_parameters("frieze-kannan:updates=5,alpha=50", 40, **guess)
        >>> calibrated.method.step is None, calibrated.error_bound, calibrated.update_bound > 6
        (True, inf, True)
    """

    method: LearningMethod
    update_bound: float
    error_bound: float
    void_reason: str | None
    noise_epsilon: float


def session_parameters(
    method: str | Method,
    n: Size,
    *,
    edges: float,
    epsilon: float,
    delta: float = 0.0,
    queries: int | SessionWorkload,
) -> CalibratedMethod:
    """Compute all parameters of a session that learns, from public numbers alone.

    A session measures the number of edges with noise, and computes parameters that are not set
    from the noisy number. So its bounds differ a little from those for the guess `edges`: see
    `Session.void_reason` and `Session.error_bound` for them.

    Args:
        method: one that learns, as `open_session` takes it: an object such as
            `MultiplicativeWeights(calibration="gru12")`, or a string with the same options.
        n: number of vertices, or (left, right) of a bipartite graph; a graph without weights.
        edges: a public guess of the number of edges, > 0.
        epsilon: of the session, in [1e-6, 50].
        delta: in [0, 1).
        queries: number of guaranteed answers, or a `SessionWorkload`.

    Raises:
        ParameterError: a number out of range, noise that is too small for the budget, or a method
            that does not learn.

    Examples:
        >>> import dataclasses
        >>> public_numbers = {"edges": 20_000, "epsilon": 1.0, "delta": 1e-6, "queries": 1000}
        >>> paper = gc.MultiplicativeWeights(calibration="gru12")
        >>> calibrated = gc.session_parameters(paper, 1000, **public_numbers)
        >>> calibrated.method.updates, calibrated.void_reason
        (52, None)
        >>> changed = dataclasses.replace(calibrated.method, sigma=2 * calibrated.method.sigma)
        >>> gc.session_parameters(changed, 1000, **public_numbers).void_reason is None
        False
    """
    learning_method = chosen(method, METHOD_NAMES, "method") if isinstance(method, str) else method
    if not isinstance(learning_method, LearningMethod) or learning_method.name == Auto.name:
        raise ParameterError(
            "only methods that learn have these parameters, such as"
            " MultiplicativeWeights(calibration='gru12')"
        )
    workload = queries if isinstance(queries, SessionWorkload) else SessionWorkload(queries=queries)
    terms = SessionTerms(epsilon=epsilon, delta=delta, method=learning_method, workload=workload)
    universe = Universe(*n) if isinstance(n, tuple) else Universe(cast(Any, n))
    mechanism = cast(OnlineMechanism, terms.mechanism(universe, Grid()))
    parameters = mechanism.expected_parameters(edges)
    total_error = mechanism.expected_total_error(edges)
    # The bound on updates holds up to a tolerance of this alpha: no error can be larger.
    bound = bound_of(
        mechanism.learner,
        alpha=2 * edges + total_error,
        total_weight=edges,
        total_error=total_error,
    )
    try:
        update_bound = bound(cast(float, parameters.alpha))
    except ParameterError:  # an alpha that the error of the total weight does not allow
        update_bound = math.inf
    return CalibratedMethod(
        method=replace(learning_method, **parameters.chosen),
        update_bound=update_bound,
        error_bound=mechanism.expected_error(edges),
        void_reason=mechanism.expected_void_reason(edges),
        noise_epsilon=mechanism.noise_cost(edges).epsilon,
    )
