"""How the command line spells the options that errors of the package name."""

import re

from graphcuts_dp.errors import GraphCutsError

_FLAGS = {
    "weighted=False": "--ignore-weights",
    "make it a BipartiteGraph": "pass --bipartite",
    "it is no BipartiteGraph": "leave out --bipartite",
    "a BipartiteGraph needs": "--bipartite needs",
    "a biadjacency matrix makes a BipartiteGraph": "pass --bipartite to read a biadjacency matrix",
    "make it a DirectedGraph": "pass --directed",
    "it is no DirectedGraph": "leave out --directed",
    "header=True": "--header",
    "header=False": "--no-header",
}
_CODE = "in Python: "
_VALUES = (
    "counting|unit|owner|weight_cap|hide_change|vertices|source|target|weight|delimiter|encoding"
    "|protect|at_most|degree_bound"
)
_COLUMNS = ("source", "target", "weight", "owner")
_SPELLED = re.compile(
    rf"\b(?:({'|'.join(_FLAGS)})|({_VALUES})=(?:'([\w-]+)'|(\d+))?|(one_based|weight_cap|at_most|degree_bound)\b)"
)


def spelled(problem: GraphCutsError, path: str) -> GraphCutsError:
    """The same error, which names options as the command line spells them.

    What stands after "in Python: " is code, and stays.
    """
    text = str(problem)
    start = len(path) if text.startswith(path) else 0
    words, code, rest = text[start:].partition(_CODE)
    return type(problem)(text[:start] + _SPELLED.sub(_as_option, words) + code + rest)


def _as_option(found: re.Match[str]) -> str:
    flag, name, word, number, alone = found.groups()
    if flag:
        return _FLAGS[flag]
    value = word or number
    if number and name in _COLUMNS:
        value = str(int(number) + 1)  # which are counted from 1 here
    return f"--{(name or alone).replace('_', '-')}" + (f" {value}" if value else "")
