"""Define every exception and warning that a user can see.

Each message is one line, says what to do next, and never quotes private rows.
All derive from `GraphCutsError`; the command line prints the message and exits with status 2.
"""

__all__ = [
    "AccuracyWarning",
    "BudgetError",
    "ConversionWarning",
    "ExhaustedError",
    "FileFormatError",
    "GraphCutsError",
    "GraphError",
    "HypothesisError",
    "KindError",
    "LedgerError",
    "MatrixError",
    "ParameterError",
    "PrivacyWarning",
    "QueryError",
    "ServerError",
    "SolverError",
    "UnknownVertexError",
]


class GraphCutsError(Exception):
    """Base class of all errors raised on purpose by this package."""

    def __str__(self) -> str:
        message = Exception.__str__(self)  # `KeyError` would put its message between quotes
        # A message is one line, although the repr of an array or a table has several.
        return " ".join(message.split()) if "\n" in message else message


class ParameterError(GraphCutsError, ValueError):
    """A parameter is out of its documented range (epsilon, method names, tolerances)."""


class GraphError(GraphCutsError, ValueError):
    """A graph cannot be built: wrong shape, asymmetric, non-finite or negative weights, empty."""


class KindError(GraphError, TypeError):
    """Something of a kind that no conversion takes was passed in place of a graph or of rows."""


class FileFormatError(GraphCutsError):
    """A file cannot be read or written in the format that its ending announces."""


class QueryError(GraphCutsError, ValueError):
    """A query names an unknown vertex or does not fit the graph it is asked of."""


class UnknownVertexError(QueryError, KeyError):
    """A set or a vertex is asked for by a label that the public vertex set lacks."""


class ExhaustedError(QueryError):
    """An online mechanism has given all the answers, or used all the updates, that it may."""


class MatrixError(GraphCutsError, ValueError):
    """A matrix handed to a cut-norm method is not finite, is empty, or is too large for it."""


class HypothesisError(GraphCutsError, ValueError):
    """A hypothesis cannot be built or updated: out of range, too large, or not a valid update."""


class SolverError(GraphCutsError, RuntimeError):
    """A numerical solver stopped without a usable result."""


class LedgerError(GraphCutsError, RuntimeError):
    """A ledger cannot be used: damaged, of another graph or version, busy, or its disk is full."""


class BudgetError(GraphCutsError, RuntimeError):
    """A request would cost more than is left; nothing was spent."""


class ServerError(GraphCutsError, RuntimeError):
    """A server of sessions cannot be reached, or refuses: the message says which, and why."""


class AccuracyWarning(UserWarning):
    """A result is private, but useless at this size and epsilon, or in part."""


class ConversionWarning(UserWarning):
    """A conversion joins or leaves out something. Decided by the kind of source, by no edge."""


class PrivacyWarning(UserWarning):
    """A guarantee is weaker than it seems: a large delta, or a second use that nobody adds up."""
