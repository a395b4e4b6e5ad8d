"""Differentially private cut queries on graphs.

Release a synthetic graph whose cuts are near those of a private one, answer cut queries with
intervals, and bound cut norms with certificates. Start with `read_graph` and `release_graph`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphcuts_dp._version import __version__ as __version__

if TYPE_CHECKING:
    from graphcuts_dp import cutnorm as cutnorm
    from graphcuts_dp import cuts as cuts
    from graphcuts_dp import datasets as datasets
    from graphcuts_dp import distances as distances
    from graphcuts_dp import errors as errors
    from graphcuts_dp import estimate as estimate
    from graphcuts_dp import evaluation as evaluation
    from graphcuts_dp import planning as planning
    from graphcuts_dp import plugins as plugins
    from graphcuts_dp import release as release
    from graphcuts_dp import results as results
    from graphcuts_dp import schema as schema
    from graphcuts_dp import server as server
    from graphcuts_dp import session as session
    from graphcuts_dp.cutnorm.certificate import CutNormCertificate as CutNormCertificate
    from graphcuts_dp.cutnorm.cut_norm import cut_norm as cut_norm
    from graphcuts_dp.cuts.least import cut_job as cut_job
    from graphcuts_dp.cuts.least import least_cut as least_cut
    from graphcuts_dp.errors import AccuracyWarning as AccuracyWarning
    from graphcuts_dp.errors import BudgetError as BudgetError
    from graphcuts_dp.errors import ConversionWarning as ConversionWarning
    from graphcuts_dp.errors import ExhaustedError as ExhaustedError
    from graphcuts_dp.errors import FileFormatError as FileFormatError
    from graphcuts_dp.errors import GraphCutsError as GraphCutsError
    from graphcuts_dp.errors import GraphError as GraphError
    from graphcuts_dp.errors import HypothesisError as HypothesisError
    from graphcuts_dp.errors import KindError as KindError
    from graphcuts_dp.errors import LedgerError as LedgerError
    from graphcuts_dp.errors import MatrixError as MatrixError
    from graphcuts_dp.errors import ParameterError as ParameterError
    from graphcuts_dp.errors import PrivacyWarning as PrivacyWarning
    from graphcuts_dp.errors import QueryError as QueryError
    from graphcuts_dp.errors import ServerError as ServerError
    from graphcuts_dp.errors import SolverError as SolverError
    from graphcuts_dp.errors import UnknownVertexError as UnknownVertexError
    from graphcuts_dp.estimate.answers import CutAnswer as CutAnswer
    from graphcuts_dp.estimate.consistency import RoundedFlows as RoundedFlows
    from graphcuts_dp.estimate.noisy_contributions import Contributions as Contributions
    from graphcuts_dp.estimate.strategy import FlowWorkload as FlowWorkload
    from graphcuts_dp.evaluation.comparison import compare as compare
    from graphcuts_dp.evaluation.comparison_tables import GraphComparison as GraphComparison
    from graphcuts_dp.evaluation.cut_error import cut_errors as cut_errors
    from graphcuts_dp.graph.adjacency import BipartiteGraph as BipartiteGraph
    from graphcuts_dp.graph.adjacency import DirectedGraph as DirectedGraph
    from graphcuts_dp.graph.adjacency import Graph as Graph
    from graphcuts_dp.graph.adjacency import read_graph as read_graph
    from graphcuts_dp.graph.rows import Rows as Rows
    from graphcuts_dp.iterative.game import Game as Game
    from graphcuts_dp.iterative.learning import Learning as Learning
    from graphcuts_dp.iterative.methods import release_iteratively as release_iteratively
    from graphcuts_dp.iterative.net import Net as Net
    from graphcuts_dp.iterative.query_lists import CutList as CutList
    from graphcuts_dp.iterative.release import IterativeRelease as IterativeRelease
    from graphcuts_dp.iterative.sensing import Sensing as Sensing
    from graphcuts_dp.learn.workload import SessionWorkload as SessionWorkload
    from graphcuts_dp.ledger.opening import Store as Store
    from graphcuts_dp.planning.planner import Plan as Plan
    from graphcuts_dp.planning.planner import plan as plan
    from graphcuts_dp.privacy.budget_plan import BudgetPlan as BudgetPlan
    from graphcuts_dp.privacy.guarantee import PrivacyGuarantee as PrivacyGuarantee
    from graphcuts_dp.privacy.privacy_unit import PrivacyUnit as PrivacyUnit
    from graphcuts_dp.queries.graph_queries import Query as Query
    from graphcuts_dp.queries.linear import CutQuery as CutQuery
    from graphcuts_dp.queries.linear import answer_all as answer_all
    from graphcuts_dp.release.contributions import ContributionBound as ContributionBound
    from graphcuts_dp.release.contributions import DegreeBound as DegreeBound
    from graphcuts_dp.release.contributions import (
        choose_contribution_bound as choose_contribution_bound,
    )
    from graphcuts_dp.release.contributions import choose_degree_bound as choose_degree_bound
    from graphcuts_dp.release.contributions import contributions_job as contributions_job
    from graphcuts_dp.release.contributions import release_contributions as release_contributions
    from graphcuts_dp.release.flow_tables import flows_job as flows_job
    from graphcuts_dp.release.flow_tables import release_flows as release_flows
    from graphcuts_dp.release.graphs import graph_job as graph_job
    from graphcuts_dp.release.graphs import release_graph as release_graph
    from graphcuts_dp.release.job import Job as Job
    from graphcuts_dp.release.resume import resume as resume
    from graphcuts_dp.release.structure import DetectedStructure as DetectedStructure
    from graphcuts_dp.release.structure import detect_structure as detect_structure
    from graphcuts_dp.release.updates import UpdatePlan as UpdatePlan
    from graphcuts_dp.release.updates import end_series as end_series
    from graphcuts_dp.release.updates import update_flows as update_flows
    from graphcuts_dp.release.updates import update_plan as update_plan
    from graphcuts_dp.results.bundle import load as load
    from graphcuts_dp.results.flows import FlowAnswer as FlowAnswer
    from graphcuts_dp.results.flows import Flows as Flows
    from graphcuts_dp.results.flows_over_time import FlowsOverTime as FlowsOverTime
    from graphcuts_dp.results.partition import Partition as Partition
    from graphcuts_dp.results.release import Release as Release
    from graphcuts_dp.schema.columns import Columns as Columns
    from graphcuts_dp.schema.group_tree import GroupTree as GroupTree
    from graphcuts_dp.schema.groups import Groups as Groups
    from graphcuts_dp.schema.periods import Periods as Periods
    from graphcuts_dp.schema.vertices import VertexSet as VertexSet
    from graphcuts_dp.server.client import RemoteSession as RemoteSession
    from graphcuts_dp.server.client import connect as connect
    from graphcuts_dp.session.base import Answer as Answer
    from graphcuts_dp.session.calibrated import session_parameters as session_parameters
    from graphcuts_dp.session.methods import FriezeKannan as FriezeKannan
    from graphcuts_dp.session.methods import MirrorDescent as MirrorDescent
    from graphcuts_dp.session.methods import MultiplicativeWeights as MultiplicativeWeights
    from graphcuts_dp.session.session import Session as Session
    from graphcuts_dp.session.session import open_session as open_session
    from graphcuts_dp.session.transcript import LedgerStatus as LedgerStatus
    from graphcuts_dp.session.transcript import store_status as store_status
    from graphcuts_dp.synth.mechanisms import Mechanism as Mechanism
    from graphcuts_dp.synth.methods import FitOptions as FitOptions

# Modules are imported when something of theirs is first used: a command that reads a graph should
# not wait for everything else. Type checkers see the imports above; a test compares the two.
_HOMES = {
    "cutnorm.cut_norm": ("cut_norm",),
    "cuts.least": ("least_cut",),
    "estimate.strategy": ("FlowWorkload",),
    "evaluation.comparison": ("compare",),
    "evaluation.cut_error": ("cut_errors",),
    "graph.adjacency": ("BipartiteGraph", "DirectedGraph", "Graph", "read_graph"),
    "graph.rows": ("Rows",),
    "learn.workload": ("SessionWorkload",),
    "ledger.opening": ("Store",),
    "iterative.game": ("Game",),
    "iterative.learning": ("Learning",),
    "iterative.methods": ("release_iteratively",),
    "iterative.net": ("Net",),
    "iterative.query_lists": ("CutList",),
    "iterative.release": ("IterativeRelease",),
    "iterative.sensing": ("Sensing",),
    "queries.graph_queries": ("Query",),
    "schema.groups": ("Groups",),
    "schema.periods": ("Periods",),
    "queries.linear": ("CutQuery", "answer_all"),
    "schema.vertices": ("VertexSet",),
    "planning.planner": ("Plan", "plan"),
    "privacy.guarantee": ("PrivacyGuarantee",),
    "privacy.privacy_unit": ("PrivacyUnit",),
    "release.flow_tables": ("release_flows",),
    "release.graphs": ("release_graph",),
    "release.resume": ("resume",),
    "synth.mechanisms": ("Mechanism",),
    "results.bundle": ("load",),
    "results.flows": ("Flows",),
    "results.release": ("Release",),
    "server.client": ("connect",),
    "session.calibrated": ("session_parameters",),
    "session.methods": ("FriezeKannan", "MirrorDescent", "MultiplicativeWeights"),
    "session.session": ("Session", "open_session"),
    "session.transcript": ("store_status",),
    "synth.methods": ("FitOptions",),
    "schema.columns": ("Columns",),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}
# What `__all__` lacks belongs to one of these, such as `gc.schema.GroupTree`, and is found too.
_SUBPACKAGES = (
    *("cutnorm", "cuts", "errors", "estimate", "evaluation", "release", "results", "schema"),
    *("server", "session"),
)
_SUBMODULES = ("datasets", "distances", "planning", "plugins", *_SUBPACKAGES)

__all__ = sorted(["__version__", *_MODULES, *_SUBMODULES])


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"graphcuts_dp.{name}")
    home = _MODULES.get(name)
    if home is None and not name.startswith("_"):
        modules = {package: import_module(f"graphcuts_dp.{package}") for package in _SUBPACKAGES}
        home = next(
            (package for package, module in modules.items() if name in module.__all__), None
        )
    if home is None:
        from graphcuts_dp.former_names import PUBLIC_NAMES

        now = f"; it is now called {PUBLIC_NAMES[name]}" if name in PUBLIC_NAMES else ""
        raise AttributeError(f"module 'graphcuts_dp' has no attribute {name!r}{now}")
    value = getattr(import_module(f"graphcuts_dp.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
