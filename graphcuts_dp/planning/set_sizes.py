"""Expected errors of cuts between two small sets, where a formula tells them. Reads no data.

The sets are disjoint and of one size. Noise on answers does not depend on the sets, noise on
entries grows with the root of the pairs between them, and trivial answers are off by how much a
graph of so many edges, placed at random, differs from them (the hypergeometric law).
"""

import math

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.update_bounds import shape_of
from graphcuts_dp.planning.mechanisms import count_deviation, mean_absolute
from graphcuts_dp.planning.planner import Plan, PlanRow
from graphcuts_dp.session.choice import Setting

_BY_ANSWER = ("gaussian", "laplace")


def check_set_sizes(setting: Setting, sizes: tuple[int, ...]) -> None:
    """Check that two disjoint sets of these sizes fit.

    Raises:
        ParameterError: a size below 1, or too large for the vertices.
    """
    shape = shape_of(setting.n)
    most = min(shape) if isinstance(setting.n, tuple) else shape[0] // 2
    for size in sizes:
        if not 1 <= size <= most:
            raise ParameterError(f"set sizes must be from 1 to {most:,} here, not {size:,}")


def held(setting: Setting, size: int) -> float:
    """What a cut between such sets holds on average, in edges."""
    return setting.edges * size * size / setting.pairs


def set_size_error(setting: Setting, row: PlanRow, size: int) -> float | None:
    """Expected absolute error between two sets of this size; None where no formula tells it.

    Args:
        setting: the public numbers.
        row: of a plan for this setting.
        size: of both sets.
    """
    if row.calibration or math.isinf(row.guaranteed):
        return None
    if row.method in _BY_ANSWER:
        return row.typical
    if row.method == "binary":
        return mean_absolute(setting.distribution.standard_deviation * size)
    if row.method == "answer 0":
        return held(setting, size)
    if row.method == "density only":
        share = size * size / setting.pairs
        varies = held(setting, size) * (1 - share) * (1 - setting.edges / setting.pairs)
        return mean_absolute(math.hypot(math.sqrt(varies), share * count_deviation(setting)))
    return None


def size_table(plan: Plan, sizes: tuple[int, ...]) -> list[tuple[str, list[float]]]:
    """Names of mechanisms, and their expected errors at each size; those that have formulas.

    Args:
        plan: for one epsilon.
        sizes: of both sets.

    Raises:
        ParameterError: as `check_set_sizes`.
    """
    setting = plan.setting
    check_set_sizes(setting, sizes)
    found: dict[str, list[float]] = {}
    for row in plan.rows:
        errors = [set_size_error(setting, row, size) for size in sizes]
        if None not in errors:
            found[row.name] = [error for error in errors if error is not None]
    return list(found.items())
