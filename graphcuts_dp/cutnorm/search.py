"""The low-rank search: relax, round, improve, prove; until the bounds are close or time is up."""

import math
import time

import numpy as np

from graphcuts_dp.cutnorm.certificate import CutNormCertificate, build_certificate
from graphcuts_dp.cutnorm.low_rank import LowRankSolver, full_rank
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.upper_bound import trivial_bound

_CHUNK = 10
_MAX_ALTERNATIONS = 400


def search_low_rank(
    operand: Operand,
    *,
    bordered: bool,
    tolerance: float,
    deadline: float,
    seed: int,
    start: LowRankSolver | None,
    rank: int | None,
) -> CutNormCertificate:
    """Bound the norm from both sides with the low-rank method.

    Args:
        operand: the matrix.
        bordered: cut norm (True) or infinity-to-one norm (False).
        tolerance: stop once upper/lower <= 1 + tolerance.
        deadline: `time.monotonic()` at which to stop searching.
        seed: of the start and the hyperplanes.
        start: a solver to continue from, changed in place.
        rank: columns, or None.
    """
    solver = start or LowRankSolver(
        operand.shape,
        min(full_rank(operand.shape), 64) if rank is None else rank,
        operand.dtype,
        seed,
        bordered=bordered,
    )
    value, done = solver.step(operand, _CHUNK), _CHUNK
    while done < _MAX_ALTERNATIONS and time.monotonic() < deadline:
        new_value = solver.step(operand, _CHUNK)
        done += _CHUNK
        if new_value - value <= 1e-5 * abs(new_value):
            break
        value = new_value
    batch = solver.round_batch(operand, 128, 1)
    bound = trivial_bound(operand, bordered=bordered)
    found = float(np.abs(batch.values[0]))
    if not (found > 0 and bound.value <= found):
        bound = solver.upper_bound(operand)
    close = found > 0 and bound.value <= (1.0 + tolerance) * found
    late = math.isfinite(deadline) and time.monotonic() >= deadline
    return build_certificate(
        operand,
        batch.S[0],
        batch.T[0],
        upper=bound.value,
        upper_proof=bound.proof,
        method="low-rank",
        norm="cut" if bordered else "infinity-to-one",
        stopped="tolerance" if close else "time" if late else "iterations",
        failure_probability=bound.failure_probability,
    )
