"""Differentially private cut queries on graphs.

Release a synthetic graph whose cuts are near those of a private one, answer cut queries with
intervals, and bound cut norms with certificates. Start with `read_graph` and `release_graph`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphcuts_dp._version import __version__

if TYPE_CHECKING:
    from graphcuts_dp import (
        cutnorm,
        datasets,
        distances,
        estimate,
        evaluation,
        pairs,
        planning,
        release,
        results,
        server,
        session,
    )
    from graphcuts_dp.cutnorm.certificate import CutNormCertificate as CutNormCertificate
    from graphcuts_dp.cutnorm.cut_norm import cut_norm
    from graphcuts_dp.cuts.least import least_cut
    from graphcuts_dp.estimate.answers import CutAnswer as CutAnswer
    from graphcuts_dp.estimate.consistency import RoundedFlows as RoundedFlows
    from graphcuts_dp.estimate.noisy_contributions import Contributions as Contributions
    from graphcuts_dp.estimate.strategy import FlowWorkload
    from graphcuts_dp.evaluation.cut_error import cut_errors
    from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph, read_graph
    from graphcuts_dp.graph.rows import Rows
    from graphcuts_dp.learn.bounds import SessionWorkload
    from graphcuts_dp.ledger.opening import Store
    from graphcuts_dp.offline.construction import Game
    from graphcuts_dp.offline.lists import Net, Sensing
    from graphcuts_dp.offline.methods import Learning, release_iteratively
    from graphcuts_dp.offline.query_lists import CutList
    from graphcuts_dp.offline.release import IterativeRelease
    from graphcuts_dp.pairs.graph_queries import Query
    from graphcuts_dp.pairs.groups import Groups
    from graphcuts_dp.pairs.groups import GroupTree as GroupTree
    from graphcuts_dp.pairs.periods import Periods
    from graphcuts_dp.pairs.queries import CutQuery, answer_all
    from graphcuts_dp.pairs.vertices import VertexSet
    from graphcuts_dp.planning.planner import Plan as Plan
    from graphcuts_dp.planning.planner import plan
    from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, Protect
    from graphcuts_dp.release.contributions import ChosenBound as ChosenBound
    from graphcuts_dp.release.contributions import DegreeBound as DegreeBound
    from graphcuts_dp.release.contributions import choose_bound as choose_bound
    from graphcuts_dp.release.contributions import choose_degree_bound as choose_degree_bound
    from graphcuts_dp.release.contributions import release_contributions as release_contributions
    from graphcuts_dp.release.releases import release_flows, release_graph
    from graphcuts_dp.release.shares import Response
    from graphcuts_dp.results.bundle import load
    from graphcuts_dp.results.flows import FlowAnswer as FlowAnswer
    from graphcuts_dp.results.flows import Flows
    from graphcuts_dp.results.partition import Partition as Partition
    from graphcuts_dp.results.release import Release
    from graphcuts_dp.server.client import RemoteSession as RemoteSession
    from graphcuts_dp.server.client import connect
    from graphcuts_dp.session.base import Answer as Answer
    from graphcuts_dp.session.session import Session, open_session
    from graphcuts_dp.session.terms import FriezeKannan, MirrorDescent, MultiplicativeWeights
    from graphcuts_dp.session.transcript import LedgerStatus as LedgerStatus
    from graphcuts_dp.session.transcript import store_status
    from graphcuts_dp.synth.methods import Fitting
    from graphcuts_dp.tables.columns import Columns

# Modules are imported when something of theirs is first used: a command that reads a graph should
# not wait for everything else. Type checkers see the imports above; a test compares the two. What
# `__all__` lacks belongs to a room, such as `gc.release.choose_bound`, and is found here too.
_HOMES = {
    "cutnorm.certificate": ("CutNormCertificate",),
    "cutnorm.cut_norm": ("cut_norm",),
    "cuts.least": ("least_cut",),
    "estimate.consistency": ("RoundedFlows",),
    "estimate.noisy_contributions": ("Contributions",),
    "estimate.answers": ("CutAnswer",),
    "estimate.strategy": ("FlowWorkload",),
    "evaluation.cut_error": ("cut_errors",),
    "graph.adjacency": ("BipartiteGraph", "DirectedGraph", "Graph", "read_graph"),
    "graph.rows": ("Rows",),
    "learn.bounds": ("SessionWorkload",),
    "ledger.opening": ("Store",),
    "offline.construction": ("Game",),
    "offline.lists": ("Net", "Sensing"),
    "offline.methods": ("Learning", "release_iteratively"),
    "offline.query_lists": ("CutList",),
    "offline.release": ("IterativeRelease",),
    "pairs.graph_queries": ("Query",),
    "pairs.groups": ("GroupTree", "Groups"),
    "pairs.periods": ("Periods",),
    "pairs.queries": ("CutQuery", "answer_all"),
    "pairs.vertices": ("VertexSet",),
    "planning.planner": ("Plan", "plan"),
    "privacy.guarantee": ("PrivacyGuarantee", "Protect"),
    "release.shares": ("Response",),
    "release.contributions": (
        "ChosenBound",
        "DegreeBound",
        "choose_bound",
        "choose_degree_bound",
        "release_contributions",
    ),
    "release.releases": ("release_flows", "release_graph"),
    "results.bundle": ("load",),
    "results.flows": ("FlowAnswer", "Flows"),
    "results.partition": ("Partition",),
    "results.release": ("Release",),
    "server.client": ("RemoteSession", "connect"),
    "session.base": ("Answer",),
    "session.session": ("Session", "open_session"),
    "session.terms": ("FriezeKannan", "MirrorDescent", "MultiplicativeWeights"),
    "session.transcript": ("LedgerStatus", "store_status"),
    "synth.methods": ("Fitting",),
    "tables.columns": ("Columns",),
}
_SUBMODULES = (
    "cutnorm",
    "datasets",
    "distances",
    "estimate",
    "evaluation",
    "pairs",
    "planning",
    "release",
    "results",
    "server",
    "session",
)
_MODULES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "BipartiteGraph",
    "Columns",
    "CutList",
    "CutQuery",
    "DirectedGraph",
    "Fitting",
    "FlowWorkload",
    "Flows",
    "FriezeKannan",
    "Game",
    "Graph",
    "Groups",
    "IterativeRelease",
    "Learning",
    "MirrorDescent",
    "MultiplicativeWeights",
    "Net",
    "Periods",
    "PrivacyGuarantee",
    "Protect",
    "Query",
    "Release",
    "Response",
    "Rows",
    "Sensing",
    "Session",
    "SessionWorkload",
    "Store",
    "VertexSet",
    "__version__",
    "answer_all",
    "connect",
    "cut_errors",
    "cut_norm",
    "cutnorm",
    "datasets",
    "distances",
    "estimate",
    "evaluation",
    "least_cut",
    "load",
    "open_session",
    "pairs",
    "plan",
    "planning",
    "read_graph",
    "release",
    "release_flows",
    "release_graph",
    "release_iteratively",
    "results",
    "server",
    "session",
    "store_status",
]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"graphcuts_dp.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'graphcuts_dp' has no attribute {name!r}")
    value = getattr(import_module(f"graphcuts_dp.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
