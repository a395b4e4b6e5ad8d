"""One format of all saved results, and `load`, which reads any of them.

    PATH                     a graph, a table, or the arrays themselves
    PATH + ending of a kind  arrays, what was measured or learnt: one .npz without pickles
    PATH.json                the receipt, for people and programs: what was released, how, the
                             guarantee, versions, checksums

All of these files appear, or none. The receipt is written last and names the SHA-256 of the other
files and of its own fields, so a set that was interrupted, mixed or damaged is refused when it is
read. All that is written was released, so the files reveal nothing else.
"""

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast, final

import numpy as np
import scipy

from graphcuts_dp._version import __version__
from graphcuts_dp.array_archive import most_unpacked, opened_arrays, write_arrays
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.files import PathLike, atomic_set, atomic_write, check_writable_set
from graphcuts_dp.former_names import current
from graphcuts_dp.frames import csv_bytes
from graphcuts_dp.graph.adjacency import AnyGraph, graph_class
from graphcuts_dp.io.files import check_writable_graph
from graphcuts_dp.options import check_type
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.provenance import Provenance
from graphcuts_dp.results.array_forms import TABLES_OF_CELLS, check_forms, check_lists
from graphcuts_dp.results.packing import RECEIPT_SUFFIX, FileSet, ResultParts
from graphcuts_dp.results.receipts import check_fields
from graphcuts_dp.schema.vertices import Arcs, Space, VertexSet, labels_or_number, sets_in

# Unpacked bytes that the arrays of a result may have, however small their file is: 32 MiB, of which
# 4 MiB may be lists, see `array_forms`. More are allowed up to `array_archive.MOST_RATIO` for each
# byte of the file.
ALWAYS_ALLOWED = 1 << 25
LISTS_ALLOWED = 1 << 22
LARGEST_RECEIPT = 1 << 28  # bytes (256 MiB); ten million labels of vertices or groups
# 13: keys in the vocabulary of the field; 12: a release has one measurement of each kind; 11: least
# cuts are partitions; 10: a guarantee has its rho; 9: tables have periods; 8: graphs without
# weights are rounded; 7: a release has no workload; 6: one form for dense and sparse releases.
FORMAT = 13
READABLE = (12, FORMAT)
# The files of each kind of results.
KINDS = {
    "release": FileSet("results.release.Release", ".noisy.npz", graph=True),
    "flows": FileSet(
        "results.flows.Flows", ".noisy.npz", ending=".csv", because="flows are a table"
    ),
    "flows over time": FileSet(
        "results.flows_over_time.FlowsOverTime",
        ".noisy.npz",
        ending=".csv",
        because="flows are a table",
    ),
    "iterative construction": FileSet(
        "iterative.release.IterativeRelease", ".hypothesis.npz", graph=True
    ),
    "answers": FileSet(
        "iterative.release.IterativeRelease",
        ending=".npz",
        because="it holds arrays; `answer -o` writes a table",
    ),
    "partition": FileSet(
        "results.partition.Partition", ".arrays.npz", ending=".csv", because="parts are a table"
    ),
    "distances": FileSet(""),
}


def receipt_path(path: PathLike) -> Path:
    """Return the path of the receipt of the result at a path."""
    return Path(f"{os.fspath(path)}{RECEIPT_SUFFIX}")


def check_path(kind: str, path: PathLike, *, force: bool = False) -> None:
    """Check that a result can be saved at a path. Call this before anything is spent.

    Args:
        kind: of the result, one of `KINDS`.
        path: of the result.
        force: whether files that are there may be replaced.

    Raises:
        FileFormatError: unknown ending, missing folder, no permission, or a file that is there.
    """
    form = KINDS[kind]
    if form.graph:
        check_writable_graph(path, force=force)
    elif not os.fspath(path).lower().endswith(form.ending):
        raise FileFormatError(f"{path!s} must end in {form.ending}: {form.because}")
    check_writable_set(form.files(path), force=force)


def marked(columns: Mapping[str, Any], guarantee: PrivacyGuarantee) -> dict[str, Any]:
    """Return the columns of a table, of a seeded run with a column `mark` that says so.

    Every row has the mark, since a first line is lost when rows are copied.

    Args:
        columns: of the table, all of one length.
        guarantee: of the table.
    """
    if guarantee.is_private:
        return dict(columns)
    rows = len(next(iter(columns.values())))
    return {**columns, "mark": [SEEDED_WARNING] * rows}


def counted(columns: Mapping[str, Any], sentence: str) -> dict[str, Any]:
    """Return the columns of a table with a column `counted`: its first row says which rows count.

    Args:
        columns: of the table, all of one length.
        sentence: on the rows that count; empty if all do: then there is no such column.
    """
    rows = len(next(iter(columns.values())))
    if not sentence or not rows:
        return dict(columns)
    return {**columns, "counted": [sentence, *[""] * (rows - 1)]}


def save(
    parts: ResultParts, path: PathLike, *, force: bool, spreadsheet: bool = False
) -> tuple[str, ...]:
    """Write the files of a result, all or none, and return their paths, the receipt last.

    Args:
        parts: of the result.
        path: of the graph, the table or the arrays.
        force: whether files that are there are replaced.
        spreadsheet: whether the table is written for a spreadsheet, see `csv_bytes`.

    Raises:
        FileFormatError: as `check_path`, or a full disk. Older files then stay as they are.
    """
    kind, guarantee, graph, table = parts.kind, parts.guarantee, parts.graph, parts.table
    arrays, form = parts.arrays, KINDS[kind]
    check_path(kind, path, force=force)
    names = form.files(path)
    # Without its graph, a result has arrays and a receipt.
    written = names[-2:] if form.graph and graph is None else names
    about_graph, provenance = None, guarantee.provenance
    if graph is not None:
        about_graph = {"weighted": bool(graph.weighted), "max_weight": graph.max_weight}
    with atomic_set(names, force=force) as paths:
        path_of = dict(zip(names, paths, strict=True))
        if graph is not None:
            graph.write(path_of[Path(path)], about=guarantee.about)
        if table is not None:
            columns = marked(table, guarantee)
            data = csv_bytes(columns, spreadsheet=spreadsheet, comment=parts.comment)
            with atomic_write(path_of[Path(path)]) as handle:
                handle.write(data)
        if arrays is not None:
            with atomic_write(path_of[form.arrays(path)]) as handle:
                _write_arrays(handle, kind, guarantee, arrays)
        receipt = {
            "format": FORMAT,
            "kind": kind,
            "guarantee": guarantee.to_dict(),
            "provenance": None if provenance is None else provenance.to_dict(),
            **parts.fields,
            **({"graph": about_graph} if form.graph else {}),
            "files": {file.name: sha256_of(path_of[file]) for file in written[:-1]},
        }
        write_receipt(paths[-1], receipt)
    return tuple(str(file) for file in written)


def _write_arrays(
    handle: BinaryIO, kind: str, guarantee: PrivacyGuarantee, arrays: Mapping[str, Any]
) -> None:
    """Write arrays with a header, which says without the receipt whether they are private."""
    entropy = guarantee.to_dict()["entropy"]
    header = json.dumps({"format": FORMAT, "kind": kind, "entropy": entropy})
    stored = {"header": np.frombuffer(header.encode(), dtype=np.uint8), **arrays}
    write_arrays(handle, stored, always_allowed=LISTS_ALLOWED)


def load(path: PathLike) -> Any:
    """Read back any saved result: what its `save` wrote.

    Args:
        path: the same path as for `save`.

    Returns:
        A `Release`, `Flows`, `FlowsOverTime`, `Partition` or `IterativeRelease`, as it was saved.

    Raises:
        FileFormatError: a file is missing, damaged, of another version, or not the one that the
            receipt names; or the path is that of distances, which are saved as a table alone.

    Examples:
        >>> import tempfile, pathlib
        >>> release = gc.release_graph(gc.datasets.load("karate"), epsilon=1.0, fit="none")
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "club.csv"
        >>> _ = release.save(file)
        >>> gc.load(file).guarantee == release.guarantee
        True
    """
    check_type("path", path, (str, os.PathLike), "the path of a result")
    kind = kind_at(path)
    module, _, class_name = KINDS[kind].home.rpartition(".")
    if not class_name:
        raise FileFormatError(f"{path!s} is a table of {kind}; any program that reads CSV opens it")
    return getattr(import_module(f"graphcuts_dp.{module}"), class_name).load(path)


def kind_at(path: PathLike) -> str:
    """Return the kind of the result at a path, as its receipt states it.

    Raises:
        FileFormatError: there is no receipt, or it is damaged or of another version.
    """
    return str(read_receipt(receipt_path(path))["kind"])


def guarantee_of(receipt: Mapping[str, Any]) -> PrivacyGuarantee:
    """Return the guarantee that a receipt states, with the provenance if it has one.

    Raises:
        LookupError, TypeError, ValueError, ArithmeticError, AttributeError: the fields are those of
            no guarantee.
    """
    guarantee, stored = PrivacyGuarantee.from_dict(receipt["guarantee"]), receipt.get("provenance")
    return guarantee.released_as(None if stored is None else Provenance.from_dict(stored))


@final
@dataclass(frozen=True)
class Saved:
    """A saved result while it is read: its receipt and its files, which fit together.

    Attributes:
        path: as for `save`.
        kind: one of `KINDS`.
        fields: of the receipt.
        with_graph: whether `graph` reads the graph.
    """

    path: PathLike
    kind: str
    fields: dict[str, Any]
    with_graph: bool = True

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The guarantee of differential privacy."""
        return guarantee_of(self.fields)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays by their names, after a check that they are as the receipt says.

        Raises:
            FileFormatError: they are not, or the file is damaged, or unpacks to far more than its
                size.
        """
        file = KINDS[self.kind].arrays(self.path)
        packed = file.stat().st_size
        table_bytes = Path(self.path).stat().st_size if self.kind in TABLES_OF_CELLS else 0
        try:
            with opened_arrays(file, limit=most_unpacked(packed, ALWAYS_ALLOWED)) as archive:
                check_forms(self.kind, self.fields, archive.forms, table_bytes=table_bytes)
                check_lists(archive.forms, limit=most_unpacked(packed, LISTS_ALLOWED))
                return {name: archive.read(name) for name in archive.forms if name != "header"}
        except FileFormatError as problem:
            raise FileFormatError(f"{file}: {problem}") from None

    @property
    def space(self) -> Space:
        """Return the space that `space_fields` described."""
        return space_from(self.fields)

    def graph(self, space: Space) -> AnyGraph | None:
        """Return the graph on a space; None if none was saved, or without `with_graph`."""
        stored, sets = self.fields["graph"], sets_in(space)
        if stored is None or not self.with_graph:
            return None
        return graph_class(space).read(
            self.path,
            vertices=(sets[0], sets[1]) if len(sets) == 2 else sets[0],
            weighted=stored["weighted"],
            max_weight=stored["max_weight"],
        )


@contextmanager
def opened(path: PathLike, *kinds: str, graph: bool = True) -> Iterator[Saved]:
    """Yield a saved result of one of these kinds, to be read within the `with` statement.

    Its files are compared with their checksums before and after the body, since another process may
    replace them meanwhile. They must also be the same files afterwards, since the first ones may be
    put back. Any error in the body is reported as damage.

    Args:
        path: as for `save`.
        kinds: of `KINDS`.
        graph: False does not read the graph, which may then be missing.

    Raises:
        FileFormatError: a file is missing, damaged, not the one that the receipt names, or of
            another kind or version.
    """
    receipt = receipt_path(path)
    fields = read_receipt(receipt)
    kind = fields["kind"]
    if kind not in kinds:
        raise FileFormatError(f"{path!s} is no {' or '.join(kinds)}, but of kind {kind!r}")
    try:
        form = KINDS[kind]
        names = [file.name for file in form.files(path)[:-1]]
        if form.graph and fields["graph"] is None:
            del names[:-1]
        if set(names) != set(fields["files"]):
            raise FileFormatError(f"{receipt} is the receipt of another release")
        if form.graph and not graph:
            del names[:-1]
        files = {name: fields["files"][name] for name in names}
        check_files(path, files)
        with ExitStack() as stack:
            open_files = [stack.enter_context(_file(path, name).open("rb")) for name in names]
            yield Saved(path, kind, fields, graph)
            check_files(path, files)
            for handle, name in zip(open_files, names, strict=True):
                # An open file keeps its inode, so a file that replaced it has another one.
                if not os.path.samestat(os.fstat(handle.fileno()), _file(path, name).stat()):
                    raise FileFormatError(f"{path!s} was replaced while it was read; read it again")
    except (FileFormatError, MemoryError):
        raise
    except OSError as problem:
        raise FileFormatError(f"cannot read {path!s}: {problem.strerror}") from None
    except Exception:  # damaged fields may raise any
        raise FileFormatError(f"{receipt} is damaged or of another version") from None


def _file(path: PathLike, name: str) -> Path:
    """Return the path of a file beside another path, by its name, see `_is_file_name`."""
    return Path(path).parent / name


def space_fields(space: Space) -> dict[str, Any]:
    """Return the space of a graph as plain values, for a receipt. Public."""
    sets = sets_in(space)
    return {
        "vertices": [labels_or_number(side) for side in sets],
        "bipartite": len(sets) == 2,
        "directed": isinstance(space, Arcs),
    }


def space_from(stored: Mapping[str, Any]) -> Space:
    """Return the space that `space_fields` described.

    Raises:
        GraphError, LookupError, TypeError, ValueError: the fields describe no space.
    """
    sets = [VertexSet(labels) for labels in stored["vertices"]]
    if len(sets) > 1:
        left, right = sets
        return left, right
    (vertices,) = sets
    return Arcs(vertices) if stored["directed"] is True else vertices


def write_receipt(file: Path, fields: Mapping[str, Any]) -> None:
    """Write a receipt, with versions and a digest of its fields.

    Args:
        file: path of the receipt.
        fields: plain values.

    Raises:
        FileFormatError: the file cannot be written.
    """
    versions = {
        "graphcuts_dp": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    receipt = {**fields, "versions": versions}
    receipt["digest"] = _digest(receipt)
    with atomic_write(file) as handle:
        handle.write(json.dumps(receipt, indent=2).encode() + b"\n")


def _digest(receipt: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the fields of a receipt, in hexadecimal."""
    return hashlib.sha256(json.dumps(receipt, sort_keys=True).encode()).hexdigest()


def read_receipt(file: Path) -> dict[str, Any]:
    """Return the fields of a receipt, checked by `receipts.check_fields`.

    Raises:
        FileFormatError: none is there, or it is damaged or of another version.
    """
    receipt = _parsed_receipt(file)
    files = receipt.get("files")
    listed = isinstance(files, dict) and all(
        isinstance(digest, str) and _is_file_name(name) for name, digest in files.items()
    )
    if receipt.get("kind") not in list(KINDS) or not listed or not files:
        raise FileFormatError(f"{file} is damaged or of another version")
    try:
        check_fields(receipt["kind"], receipt)
    except FileFormatError as problem:
        raise FileFormatError(f"{file} is damaged: {problem}") from None
    return receipt


def _parsed_receipt(file: Path) -> dict[str, Any]:
    """Return the fields of a receipt, after a check of its version and its digest.

    Raises:
        FileFormatError: none is there, or it is damaged or of another version.
    """
    damaged = FileFormatError(f"{file} is not a receipt: it is damaged")
    try:
        receipt = json.loads(_receipt_bytes(file))
        if not isinstance(receipt, dict) or receipt.get("format") not in READABLE:
            raise FileFormatError(
                f"{file} is not a receipt of this version of the package; read it with the version "
                "that wrote it, or release again"
            )
        if receipt.pop("digest", None) != _digest(receipt):
            raise FileFormatError(f"{file} is damaged: its fields do not fit its digest")
        return cast(dict[str, Any], current(receipt))
    except (LookupError, TypeError, ValueError, RecursionError):
        raise damaged from None


def _receipt_bytes(file: Path) -> bytes:
    """Return the bytes of a receipt.

    Raises:
        FileFormatError: none is there, it cannot be read, or is larger than receipts are.
        ValueError: no file can have this name.
    """
    try:
        if file.exists() and not file.is_file():
            raise FileFormatError(f"{file} is not a file")
        with file.open("rb") as handle:
            stored = handle.read(LARGEST_RECEIPT + 1)
    except FileNotFoundError:
        raise FileFormatError(f"{file} does not exist; a release has a receipt beside it") from None
    except OSError as problem:
        raise FileFormatError(f"cannot read {file}: {problem.strerror}") from None
    if len(stored) > LARGEST_RECEIPT:
        raise FileFormatError(
            f"{file} is larger than {LARGEST_RECEIPT >> 20} MiB, as no receipt is"
        )
    return stored


def _is_file_name(name: str) -> bool:
    """Return whether a text of a receipt is the name of a file in the same folder.

    A link in that folder may lead elsewhere. Its target is read only if it has the digest that the
    receipt names, so the contents are known to whoever wrote the receipt.
    """
    return "\0" not in name and name not in ("", ".", "..") and Path(name).name == name


def check_files(path: PathLike, files: Mapping[str, str]) -> None:
    """Check that the files beside a path are those that its receipt names.

    Args:
        path: of the result, or of its receipt.
        files: SHA-256 of each file, in hexadecimal, by its name.

    Raises:
        FileFormatError: a file is missing, or has another SHA-256.
    """
    for name, digest in files.items():
        file = _file(path, name)
        if not file.is_file():
            raise FileFormatError(f"{file} is missing; it belongs to the release at {path!s}")
        if sha256_of(file) != digest:
            raise FileFormatError(f"{file} is not the file that the receipt names; it changed")


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal.

    Raises:
        FileFormatError: the file cannot be read.
    """
    try:
        with file.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as problem:
        raise FileFormatError(f"cannot read {file}: {problem.strerror}") from None
