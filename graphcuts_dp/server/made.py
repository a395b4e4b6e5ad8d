"""Dummy queries: the same answers as a session would give, about a made graph."""

import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from graphcuts_dp.errors import AccuracyWarning
from graphcuts_dp.graph.adjacency import AnyGraph, on_space
from graphcuts_dp.graph.group_names import GroupNames
from graphcuts_dp.graph.linear_query import LinearQuery
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.interactive.base import Answer
from graphcuts_dp.interactive.session import Session, open_session

_DEGREE = 20  # average, of a made graph
_SEED = 2012
_filters = threading.Lock()  # filters of warnings belong to all threads


def made_like(graph: AnyGraph) -> AnyGraph:
    """A random graph on the same public vertices, with the same bound on weights.

    Its edges are drawn with a fixed seed, about 10 for each vertex or half of all pairs: it reads
    the public vertex set, whether there are weights, and their bound.
    """
    rows, columns = graph.shape
    random = np.random.default_rng(_SEED)
    count = min(_DEGREE * max(rows, columns) // 2, rows * columns // 4)
    ends = random.integers(rows, size=count), random.integers(columns, size=count)
    weights = None
    schema: dict[str, Any] = {}
    if graph.weighted:
        cap = graph.weight_cap
        weights = np.full(count, 1.0 if cap is None else min(1.0, cap))
        schema = {"weight_cap": cap, "hide_change": graph.hide_change}
    return on_space(graph.space, *ends, weights, note="made", **schema)


@contextmanager
def quiet() -> Iterator[None]:
    """Within it no accuracy warning is raised; replies carry them as texts."""
    with _filters, warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        yield


def dummy_answers(
    made: AnyGraph, terms: dict[str, Any], queries: Sequence[LinearQuery], names: GroupNames | None
) -> list[Answer]:
    """What a new session about a made graph answers; it leaves nothing behind.

    Args:
        made: see `made_like`.
        terms: keywords of `open_session`.
        queries: linear queries.
        names: of groups, if there are any.

    Raises:
        GraphCutsError: as `open_session` and `Session.ask_all`.
    """
    asked = [
        names.named(query) if names is not None and isinstance(query, CutQuery) else query
        for query in queries
    ]
    groups = None
    if names is not None:
        groups = names.left if names.left is names.right else (names.left, names.right)
    with tempfile.TemporaryDirectory(prefix="graphcuts-dp-dummy-") as folder:
        with quiet():
            session: Session = open_session(
                made, store=Path(folder) / "made.db", groups=groups, **terms
            )
        with session:
            return session.ask_all(asked)
