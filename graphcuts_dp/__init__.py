"""Differentially private cut queries on graphs.

Release a synthetic graph whose cuts are near those of a private one, answer cut queries with
intervals, and bound cut norms with certificates. Start with `read_graph` and `release_graph`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphcuts_dp._version import __version__

try:
    import fcntl  # noqa: F401  # files are locked by it, so that no budget is spent twice
except ImportError:
    raise ImportError(
        "graphcuts_dp needs a Unix system, such as Linux or macOS; on Windows install it in WSL"
    ) from None

if TYPE_CHECKING:
    from graphcuts_dp import datasets, distances, planning
    from graphcuts_dp.cutnorm.certificate import CutNormCertificate
    from graphcuts_dp.cutnorm.cut_norm import cut_norm
    from graphcuts_dp.estimate.consistency import RoundedFlows
    from graphcuts_dp.estimate.noisy_contributions import Contributions
    from graphcuts_dp.estimate.noisy_matrix import CutAnswer
    from graphcuts_dp.evaluation.cut_distance import cut_distance
    from graphcuts_dp.evaluation.cut_error import cut_errors
    from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph, read_graph
    from graphcuts_dp.graph.owned_rows import OwnedRows
    from graphcuts_dp.ledger.opening import Store
    from graphcuts_dp.offline.lists import Net, Sensing
    from graphcuts_dp.offline.methods import Game, Learning, release_iteratively
    from graphcuts_dp.offline.query_lists import CutList
    from graphcuts_dp.offline.release import IterativeRelease
    from graphcuts_dp.pairs.graph_queries import Query
    from graphcuts_dp.pairs.groups import Groups, GroupTree
    from graphcuts_dp.pairs.queries import CutQuery, answer_all
    from graphcuts_dp.pairs.vertices import VertexSet
    from graphcuts_dp.planning.planner import Plan, plan
    from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
    from graphcuts_dp.privacy.protection import Protect
    from graphcuts_dp.release.contributions import (
        ChosenBound,
        DegreeBound,
        choose_bound,
        choose_degree_bound,
        release_contributions,
    )
    from graphcuts_dp.release.flow_release import release_flows
    from graphcuts_dp.release.synthesis import release_graph
    from graphcuts_dp.results.bundle import load
    from graphcuts_dp.results.flows import FlowAnswer, Flows
    from graphcuts_dp.results.release import Release
    from graphcuts_dp.server.client import RemoteSession, connect
    from graphcuts_dp.session.base import Answer
    from graphcuts_dp.session.session import Session, open_session
    from graphcuts_dp.session.transcript import LedgerStatus, store_status
    from graphcuts_dp.tables.columns import Columns

# Modules are imported when something of theirs is first used: a command that reads a graph should
# not wait for everything else. Type checkers see the imports above; a test compares the two.
_HOMES = {
    "cutnorm.certificate": ("CutNormCertificate",),
    "cutnorm.cut_norm": ("cut_norm",),
    "estimate.noisy_contributions": ("Contributions",),
    "estimate.noisy_matrix": ("CutAnswer",),
    "estimate.consistency": ("RoundedFlows",),
    "evaluation.cut_distance": ("cut_distance",),
    "evaluation.cut_error": ("cut_errors",),
    "graph.adjacency": ("BipartiteGraph", "DirectedGraph", "Graph", "read_graph"),
    "graph.owned_rows": ("OwnedRows",),
    "ledger.opening": ("Store",),
    "offline.lists": ("Net", "Sensing"),
    "offline.methods": ("Game", "Learning", "release_iteratively"),
    "offline.query_lists": ("CutList",),
    "offline.release": ("IterativeRelease",),
    "pairs.graph_queries": ("Query",),
    "pairs.groups": ("GroupTree", "Groups"),
    "pairs.queries": ("CutQuery", "answer_all"),
    "pairs.vertices": ("VertexSet",),
    "planning.planner": ("Plan", "plan"),
    "privacy.guarantee": ("PrivacyGuarantee",),
    "privacy.protection": ("Protect",),
    "release.contributions": (
        "ChosenBound",
        "DegreeBound",
        "choose_bound",
        "choose_degree_bound",
        "release_contributions",
    ),
    "release.flow_release": ("release_flows",),
    "release.synthesis": ("release_graph",),
    "results.bundle": ("load",),
    "results.flows": ("FlowAnswer", "Flows"),
    "results.release": ("Release",),
    "server.client": ("RemoteSession", "connect"),
    "session.base": ("Answer",),
    "session.session": ("Session", "open_session"),
    "session.transcript": ("LedgerStatus", "store_status"),
    "tables.columns": ("Columns",),
}
_SUBMODULES = ("datasets", "distances", "planning")
_MODULES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Answer",
    "BipartiteGraph",
    "ChosenBound",
    "Columns",
    "Contributions",
    "CutAnswer",
    "CutList",
    "CutNormCertificate",
    "CutQuery",
    "DegreeBound",
    "DirectedGraph",
    "FlowAnswer",
    "Flows",
    "Game",
    "Graph",
    "GroupTree",
    "Groups",
    "IterativeRelease",
    "Learning",
    "LedgerStatus",
    "Net",
    "OwnedRows",
    "Plan",
    "PrivacyGuarantee",
    "Protect",
    "Query",
    "Release",
    "RemoteSession",
    "RoundedFlows",
    "Sensing",
    "Session",
    "Store",
    "VertexSet",
    "__version__",
    "answer_all",
    "choose_bound",
    "choose_degree_bound",
    "connect",
    "cut_distance",
    "cut_errors",
    "cut_norm",
    "datasets",
    "distances",
    "load",
    "open_session",
    "plan",
    "planning",
    "read_graph",
    "release_contributions",
    "release_flows",
    "release_graph",
    "release_iteratively",
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
    return sorted({*globals(), *__all__})
