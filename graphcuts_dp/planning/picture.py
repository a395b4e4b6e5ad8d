"""What pictures of plans and of explanations show."""

import math

import numpy as np
from matplotlib.figure import Figure

from graphcuts_dp.planning.explanation import Explanation, posterior
from graphcuts_dp.planning.planner import Plan
from graphcuts_dp.plotting.plans import odds_figure, plan_figure


def plan_drawn(plan: Plan) -> Figure:
    """See `Plan.plot`."""
    rows = [row for row in plan.shown if 0 < row.guaranteed < math.inf]
    return plan_figure(
        [f"{row.name} ({row.cuts})" for row in rows],
        np.array([row.guaranteed for row in rows]),
        [row.trivial for row in rows],
        title=plan.title,
    )


def odds_drawn(explanation: Explanation) -> Figure:
    """See `Explanation.plot`."""
    priors = np.linspace(0, 1, 201)
    epsilon, delta = explanation.epsilon, explanation.delta
    lowest, highest = (
        np.array([posterior(float(prior), sign * epsilon) for prior in priors]) for sign in (-1, 1)
    )
    but = f", but for a chance of {delta:g}" if delta else ""
    return odds_figure(priors, lowest, highest, title=f"epsilon = {epsilon:g}{but}")
