"""How tests run a contender, and how sure they are."""

from graphcuts_dp.evaluation.audit import clopper_pearson

ALPHA = 1e-9  # of each comparison of a share of runs with a chance, of which there are hundreds


def run(contender, graph, epsilon=1.0, *, delta=1e-6, groups=None, seed=7):
    return contender.method(graph, epsilon=epsilon, delta=delta, groups=groups, seed=seed)


def wrong_by_luck(seen, runs, chance):
    """Whether a share of runs is impossible for a chance, but for a probability of ALPHA."""
    low, high = clopper_pearson(seen, runs, ALPHA / 2)
    return not low <= chance <= high
