"""Cut norms with certificates; reads matrices, never a private graph."""

from graphcuts_dp.cutnorm.certificate import CutNormCertificate, UpperBound
from graphcuts_dp.cutnorm.cut_norm import cut_norm, infinity_to_one_norm, normalised_cut_norm
from graphcuts_dp.cutnorm.low_rank import CutBatch, LowRankSolver

__all__ = [
    "CutBatch",
    "CutNormCertificate",
    "LowRankSolver",
    "UpperBound",
    "cut_norm",
    "infinity_to_one_norm",
    "normalised_cut_norm",
]
