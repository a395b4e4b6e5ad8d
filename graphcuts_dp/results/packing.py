"""The parts that a result is saved as, in files or, for a store, as bytes.

`ResultParts` has the parts that a result is written from: plain values, arrays, a graph or a table.
`bundle.save` writes them to files, and `pack` returns them as bytes, which a store keeps with the
use that was charged. `SavedParts` has the parts that are read back: from files by `bundle.opened`,
from bytes by `unpack`.
"""

import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np

from graphcuts_dp.array_archive import most_unpacked, read_arrays, write_arrays
from graphcuts_dp.errors import FileFormatError, LedgerError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph, graph_of_parts
from graphcuts_dp.io.edge_store import EdgeParts
from graphcuts_dp.io.files import graph_files
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.provenance import Provenance
from graphcuts_dp.schema.vertices import Space

RECEIPT_SUFFIX = ".json"  # added to the path of a result
_HEADER = "header"  # name of the array that holds the plain values, as JSON in UTF-8
_GRAPH = "graph"  # beginning of the names of the arrays of a graph
_ALWAYS_ALLOWED = 1 << 22  # unpacked bytes of an archive of any size


@final
@dataclass(frozen=True, kw_only=True)
class ResultParts:
    """The parts that a result is saved as.

    Attributes:
        kind: of the result, as `bundle.KINDS` names it, or of a measurement.
        guarantee: of differential privacy, with its provenance.
        fields: plain values, public.
        arrays: by name; None without arrays.
        graph: the graph that belongs to it; None without one.
        table: columns by name; None without a table.
        comment: first line of the file of the table; "" for none.
    """

    kind: str
    guarantee: PrivacyGuarantee
    fields: Mapping[str, Any] = field(repr=False)
    arrays: Mapping[str, Any] | None = field(default=None, repr=False)
    graph: AnyGraph | None = field(default=None, repr=False)
    table: Mapping[str, Any] | None = field(default=None, repr=False)
    comment: str = field(default="", repr=False)


@final
@dataclass(frozen=True)
class FileSet:
    """The files of a kind of results, and the class that reads them.

    Attributes:
        home: module and class whose `load` reads the files; "" if there is only a table.
        array_suffix: added to the path, it gives the file of arrays; "" if arrays are at the path.
        graph: whether a graph is at the path, whose ending decides its format.
        ending: the one that the path must have; "" if there is a choice.
        because: reason for this ending, for error messages.
    """

    home: str
    array_suffix: str = ""
    graph: bool = False
    ending: str = ""
    because: str = ""

    def files(self, path: PathLike) -> tuple[Path, ...]:
        """Return the paths of all files of a result at `path`, the receipt last."""
        first = graph_files(path) if self.graph else (Path(path),)
        return tuple(
            dict.fromkeys((*first, self.arrays(path), Path(f"{os.fspath(path)}{RECEIPT_SUFFIX}")))
        )

    def arrays(self, path: PathLike) -> Path:
        """Return the path of the arrays of a result at `path`."""
        return Path(f"{os.fspath(path)}{self.array_suffix}")


class SavedParts(Protocol):
    """The parts of a saved result while it is read."""

    @property
    def kind(self) -> str:
        """Kind of the result."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """Plain values."""

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The guarantee of differential privacy."""

    def arrays(self) -> dict[str, Any]:
        """Return the arrays by their names."""

    def graph(self, space: Space) -> AnyGraph | None:
        """Return the graph on a space; None if none was saved, or it is not to be read."""


def pack(parts: ResultParts) -> bytes:
    """Return the parts of a result as bytes: an .npz archive without pickles.

    A table is left out: it is computed from the rest.
    """
    arrays = dict(parts.arrays or {})
    graph = parts.graph
    about_graph = None
    if graph is not None:
        about_graph = {"weighted": bool(graph.weighted), "max_weight": graph.max_weight}
        arrays |= {f"{_GRAPH}/rows": graph.rows, f"{_GRAPH}/columns": graph.columns}
        if graph.weighted:
            arrays[f"{_GRAPH}/weights"] = graph.weights
    provenance = parts.guarantee.provenance
    header = {
        "kind": parts.kind,
        "guarantee": parts.guarantee.to_dict(),
        "provenance": None if provenance is None else provenance.to_dict(),
        "graph": about_graph,
        "fields": {**parts.fields},
    }
    arrays[_HEADER] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    write_arrays(buffer, arrays, always_allowed=_ALWAYS_ALLOWED)
    return buffer.getvalue()


@final
@dataclass(frozen=True)
class Unpacked:
    """The parts that `pack` has packed, as `SavedParts`."""

    kind: str
    guarantee: PrivacyGuarantee = field(repr=False)
    fields: Mapping[str, Any] = field(repr=False)
    _arrays: Mapping[str, Any] = field(repr=False)
    _about_graph: Mapping[str, Any] | None = field(repr=False)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays by their names, without those of the graph."""
        prefix = f"{_GRAPH}/"
        names = (name for name in self._arrays if not name.startswith(prefix))
        return {name: self._arrays[name] for name in names}

    def graph(self, space: Space) -> AnyGraph | None:
        """Return the graph on a space; None if there is none."""
        about = self._about_graph
        if about is None:
            return None
        rows, columns = self._arrays[f"{_GRAPH}/rows"], self._arrays[f"{_GRAPH}/columns"]
        return graph_of_parts(
            space,
            EdgeParts(rows, columns, self._arrays.get(f"{_GRAPH}/weights"), owned=True),
            merge="max",  # each pair is there once
            max_weight=about["max_weight"] if about["weighted"] else None,
            note=self.guarantee.warning,
        )


def unpack(content: bytes, provenance: Provenance) -> Unpacked:
    """Return the parts that `pack` has packed.

    Args:
        content: from a store that has checked its digest.
        provenance: of the use that it belongs to.

    Raises:
        LedgerError: `pack` has not returned this content.
    """
    try:
        limit = most_unpacked(len(content), _ALWAYS_ALLOWED)
        arrays = read_arrays(io.BytesIO(content), limit=limit)
        header = json.loads(arrays.pop(_HEADER).tobytes())
        guarantee = PrivacyGuarantee.from_dict(header["guarantee"])
        return Unpacked(
            str(header["kind"]),
            guarantee.released_as(provenance),
            header["fields"],
            arrays,
            header["graph"],
        )
    except (FileFormatError, ValueError, LookupError, TypeError, ArithmeticError, AttributeError):
        raise LedgerError("what the store has kept of this use is damaged") from None
