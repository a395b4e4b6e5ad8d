"""Differentially private cut queries on graphs.

Release a synthetic graph whose cuts are near those of a private one, answer cut queries with
intervals, and bound cut norms with certificates. Start with `read_graph` and `release_graph`.
"""

from graphcuts_dp import datasets
from graphcuts_dp._version import __version__
from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.cutnorm.cut_norm import cut_norm, infinity_to_one_norm, normalised_cut_norm
from graphcuts_dp.distances.answers import DistanceAnswer, DistanceAnswers, answer_distances
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.distances.plan import DistancePlan, plan_distances
from graphcuts_dp.distances.queries import DistanceQuery
from graphcuts_dp.distinguishers.cut_list import CutList
from graphcuts_dp.evaluation.cut_distance import cut_distance
from graphcuts_dp.evaluation.cut_error import cut_errors
from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph
from graphcuts_dp.graph.convert import (
    from_edges,
    from_igraph,
    from_networkx,
    from_pandas,
    from_scipy,
    to_igraph,
    to_networkx,
    to_pandas,
    to_scipy,
)
from graphcuts_dp.graph.files import read_graph, write_graph
from graphcuts_dp.graph.linear_query import LinearQuery
from graphcuts_dp.graph.queries import CutQuery, MatrixQuery, RankOneQuery, answer_all
from graphcuts_dp.graph.vertices import VertexSet
from graphcuts_dp.interactive.base import Answer
from graphcuts_dp.interactive.session import Session, open_session
from graphcuts_dp.iterative.methods import release_iteratively
from graphcuts_dp.iterative.net import NetRelease, release_net
from graphcuts_dp.iterative.release import IterativeRelease
from graphcuts_dp.iterative.sensing import SensingRelease, release_sensing
from graphcuts_dp.measurements.noisy_matrix import CutAnswer
from graphcuts_dp.planning.planner import Plan, PlanRow, plan
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.release.release import Release
from graphcuts_dp.release.synthesis import release_graph

__all__ = [
    "Answer",
    "BipartiteGraph",
    "CutAnswer",
    "CutList",
    "CutNormCertificate",
    "CutQuery",
    "DistanceAnswer",
    "DistanceAnswers",
    "DistancePlan",
    "DistanceQuery",
    "Graph",
    "IterativeRelease",
    "LinearQuery",
    "Locations",
    "MatrixQuery",
    "Metric",
    "NetRelease",
    "Plan",
    "PlanRow",
    "PrivacyGuarantee",
    "RankOneQuery",
    "Release",
    "SensingRelease",
    "Session",
    "VertexSet",
    "__version__",
    "answer_all",
    "answer_distances",
    "cut_distance",
    "cut_errors",
    "cut_norm",
    "datasets",
    "from_edges",
    "from_igraph",
    "from_networkx",
    "from_pandas",
    "from_scipy",
    "infinity_to_one_norm",
    "normalised_cut_norm",
    "open_session",
    "plan",
    "plan_distances",
    "read_graph",
    "release_graph",
    "release_iteratively",
    "release_net",
    "release_sensing",
    "to_igraph",
    "to_networkx",
    "to_pandas",
    "to_scipy",
    "write_graph",
]
