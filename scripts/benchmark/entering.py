"""Load a method into the benchmark: by its name in the table, or from a file of its own."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.schema.groups import Groups
from scripts.benchmark.base import Contender, Method, Submission, hidden
from scripts.benchmark.contenders.table import CONTENDERS


def is_audited(spec: str) -> bool:
    """Return whether a contender is in the package's table, whose noise is audited."""
    return spec in CONTENDERS


def load_contender(spec: str, folder: Path | None = None) -> Contender:
    """Return a contender by its name in the table, or by "module:NAME".

    Args:
        spec: NAME is a `Contender`; or a function (or a class without arguments whose objects can
            be called) that takes what `Method` takes and returns a graph, a matrix, a function of
            two masks, or a `Submission`. A function alone is run on graphs without directions and
            weights up to 2,000 vertices, with delta = 0, and claims the epsilon that it is given.
        folder: where modules are looked for first; None for the working directory.

    Raises:
        ParameterError: no such contender, module or name, or something that cannot be called. What
            a module raises while it is imported is told in one line.
    """
    if spec in CONTENDERS:
        return CONTENDERS[spec]
    module, _, name = spec.partition(":")
    if not module or not name:
        raise ParameterError(
            f"no contender is called {spec!r:.60}; there are {', '.join(CONTENDERS)}; your own is "
            "module:NAME"
        )
    entry = _found(module, name, spec, folder)
    if isinstance(entry, type):
        try:
            entry = entry()
        except Exception as problem:  # whatever the author's class does
            raise ParameterError(one_line(f"{spec} cannot be made", problem)) from None
    if isinstance(entry, Contender):
        contender = entry
    elif callable(entry):
        contender = Contender(
            name=getattr(entry, "__name__", type(entry).__name__),
            method=claiming(entry),
            source=spec,
            note="Entered from a file of its own: nobody has audited it.",
        )
    else:
        raise ParameterError(f"{spec!r:.60} is neither a Contender nor a function")
    if contender.name in CONTENDERS:
        raise ParameterError(f"there is a contender {contender.name!r:.60} already: rename yours")
    return contender


def claiming(method: Callable[..., Any]) -> Method:
    """Return a plain function as a method, which claims all of its budget as its guarantee."""

    def claimed(
        graph: AnyGraph, *, epsilon: float, delta: float, groups: Groups | None, seed: int | None
    ) -> Submission:
        estimate = method(graph, epsilon=epsilon, delta=delta, groups=groups, seed=seed)
        if isinstance(estimate, Submission):
            return estimate
        guarantee = PrivacyGuarantee(
            epsilon=epsilon, delta=delta, neighbours=hidden(graph), seed=seed
        )
        return Submission(estimate=estimate, guarantee=guarantee)

    return claimed


def _found(module: str, name: str, spec: str, folder: Path | None) -> Any:
    path = str(folder or Path.cwd())
    if path not in sys.path:
        sys.path.insert(0, path)
    try:
        return getattr(import_module(module), name)
    except Exception as problem:  # whatever the author's module does
        missing = isinstance(problem, ModuleNotFoundError) and problem.name
        if missing == module.partition(".")[0]:
            text = f"no module {module!r:.60} in {path} or among the installed ones"
            raise ParameterError(text) from None
        raise ParameterError(one_line(f"{spec} cannot be imported", problem)) from None


def one_line(step: str, problem: BaseException) -> str:
    """Return an error in one line of at most 200 characters."""
    text = " ".join(f"{type(problem).__name__}: {problem}".split())
    return f"{step}: {text}"[:200] if step else text[:200]
