"""Cut norms with certificates; reads matrices, never a private graph."""

from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.cutnorm.cut_norm import cut_norm, infinity_to_one_norm, normalised_cut_norm
from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.cutnorm.rounding import CutBatch
from graphcuts_dp.cutnorm.upper_bound import UpperBound

__all__ = [
    "CutBatch",
    "CutNormCertificate",
    "LowRankSolver",
    "UpperBound",
    "cut_norm",
    "infinity_to_one_norm",
    "normalised_cut_norm",
]
