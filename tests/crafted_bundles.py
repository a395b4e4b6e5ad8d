"""Saved results that somebody has altered in order to harm, and what comes of reading them.

`sources` saves a small result of every kind. `receipt_cases` replace a value of a receipt by values
of other types and sizes, with a digest that fits. `archive_cases` replace the file of arrays, and
`large_cases` make receipt and arrays agree on sizes that a small file should not cause. Run as
a program, this module reads the cases of a share of the sources and prints what came of them, with
the peak memory: `python crafted_bundles.py FOLDER SHARE SHARES EVERY`. Of the altered fields it
takes each EVERY-th, of the altered archives 30 times as many.
"""

import contextlib
import copy
import hashlib
import io
import json
import os
import resource
import shutil
import sys
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from command_runs import run_line

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError
from graphcuts_dp.results import bundle
from graphcuts_dp.results.bundle import KINDS, receipt_path

GRAPH = gc.Graph([0, 1, 2, 0], [1, 2, 3, 5], vertices=6)
SIDES = gc.BipartiteGraph([0, 1], [1, 0], left=2, right=["ä", "7"])
ARCS = gc.DirectedGraph([0, 1, 2], [1, 2, 0], vertices=["a", "b", "c"])
HEAVY = gc.Graph([0, 1, 4], [1, 2, 5], [0.5, 2.0, 1.25], vertices=6, max_weight=2.5)
HALVES = gc.Groups(GRAPH.vertices, {"half": ["a", "a", "a", "b", "b", "b"]})
CUTS = [gc.CutQuery([0]), gc.CutQuery([0, 2])]
OPTIONS: dict[str, Any] = {"epsilon": 5.0, "seed": 3}
GONE = object()
ARCHIVES = 30  # times as many of the altered archives are read as of the altered fields
# Texts of JSON that Python would not write.
DEEP, LONG_NUMBER = "deep list", "long number"
ZEROS = bytes(1 << 20)
RAW = {json.dumps(DEEP): "[" * 100_000 + "]" * 100_000, json.dumps(LONG_NUMBER): "9" * 5000}
EVIL = (
    *(GONE, None, True, False, 0, -1, 1, 7, 2**31, 2**63, 10**18, -(10**18), 10**400),
    *(0.5, -0.5, 1e308, 5e-324, float("nan"), float("inf"), float("-inf")),
    *("", "x", "1e999999999", "1/0", "9" * 900, "\ud800", "../../etc/passwd", "x" * 2_000_000),
    *([], [[]], [0], [10**18], {}, {"a": 1}, {"levels": []}, DEEP, LONG_NUMBER),
)


@dataclass(frozen=True)
class Case:
    """An altered bundle.

    Attributes:
        name: what was altered.
        files: contents of all files by their names.
    """

    name: str
    files: dict[str, bytes]


def sources(folder: Path) -> list[Path]:
    """Save a small result of every kind, each in a folder of its own; return their paths."""
    release = gc.release_graph(GRAPH, **OPTIONS)
    made = {
        "dense/g.edges": release,
        "arcs/g.graphml": gc.release_graph(
            ARCS, mechanism="degrees+randomized-response", **OPTIONS
        ),
        "weights/g.mtx": gc.release_graph(HEAVY, noise="laplace", fit="first-order", **OPTIONS),
        "groups/g.csv": gc.release_graph(GRAPH, groups=HALVES, fit="none", **OPTIONS),
        "sparse/g.csv.gz": gc.release_graph(GRAPH, mechanism="sparse", groups=HALVES, **OPTIONS),
        "sides/g.npz": gc.release_graph(SIDES, mechanism="sparse", **OPTIONS),
        "flows/t.csv": gc.release_flows(GRAPH, HALVES, **OPTIONS),
        "cut/c.csv": gc.least_cut(GRAPH, 0, 1, **OPTIONS),
        "tree/p.csv": release.partition("hierarchy"),
        "learnt/g.npz": gc.release_iteratively(
            GRAPH, None, construction="multiplicative-weights:rounds=2", delta=1e-6, **OPTIONS
        ),
        "net/g.edges": gc.release_iteratively(
            gc.Graph([0], [1], vertices=4), CUTS[:1], construction="net", delta=0.0, **OPTIONS
        ),
        "median/g.tsv": gc.release_iteratively(
            gc.Graph([0], [1], vertices=4),
            [*CUTS, gc.Query.statistic("triangles")],
            construction="median",
            delta=1e-6,
            **OPTIONS,
        ),
        "sensing/m.npz": gc.release_iteratively(
            SIDES, CUTS[:1], construction="sensing", delta=1e-6, **OPTIONS
        ),
        "answers/a.npz": gc.release_iteratively(
            GRAPH, CUTS, construction="answers", delta=0.0, **OPTIONS
        ),
    }
    for name, result in made.items():
        (folder / name).parent.mkdir(parents=True)
        result.save(folder / name)
    return [folder / name for name in made]


def files_of(path: Path) -> dict[str, bytes]:
    """Return the contents of all files of a result by their names."""
    return {file.name: file.read_bytes() for file in sorted(path.parent.iterdir())}


def receipt_bytes(fields: dict[str, Any]) -> bytes:
    """Return a receipt of these fields, whose digest fits if Python can compute it."""
    fields = {name: value for name, value in fields.items() if name != "digest"}
    text = json.dumps({**fields, "digest": bundle._digest(fields)})
    for placeholder, raw in RAW.items():
        text = text.replace(placeholder, raw)
    return text.encode()


def addresses(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Generate the keys that lead to each value of a receipt; of long lists to the first one."""
    if at:
        yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "digest":
                yield from addresses(inner, (*at, key))
    elif isinstance(value, list) and value:
        yield from addresses(value[0], (*at, 0))


def altered(fields: dict[str, Any], at: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return fields with another value at an address, or without it."""
    changed = copy.deepcopy(fields)
    inner = changed
    for key in at[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return changed


def receipt_cases(path: Path, every: int = 1) -> Iterator[Case]:
    """Generate bundles with one altered field each; with `every` = k, each k-th of them."""
    files = files_of(path)
    receipt = receipt_path(path).name
    fields = json.loads(files[receipt])
    number = 0
    for at in addresses(fields):
        for value in EVIL:
            number += 1
            if number % every:
                continue
            name = f"{path.parent.name}: {'/'.join(map(str, at))} = {value!r:.40}"
            with contextlib.suppress(RecursionError):
                yield Case(name, files | {receipt: receipt_bytes(altered(fields, at, value))})


def npy(array: Any) -> bytes:
    """Return a .npy file."""
    handle = io.BytesIO()
    np.lib.format.write_array(handle, np.asanyarray(array), allow_pickle=True)
    return handle.getvalue()


def npy_header(type_name: str, shape: str, entries: bytes = b"") -> bytes:
    """Return a .npy file with a header of one's own."""
    text = f"{{'descr': {type_name}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + entries


def zeros(dtype: Any, count: int, shape: str = "") -> list[bytes]:
    """Return the pieces of a .npy file of zeros, which do not take its memory."""
    dtype = np.dtype(dtype)
    full, rest = divmod(count * dtype.itemsize, len(ZEROS))
    header = npy_header(f"'{dtype.str}'", shape or f"({count},)")
    return [header, *[ZEROS] * full, ZEROS[:rest]]


def npz(members: list[tuple[str, Any]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return an archive of members, each of which is bytes or a list of pieces."""
    handle = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(handle, "w", method) as archive:
        warnings.simplefilter("ignore")  # two members of one name
        for name, content in members:
            with archive.open(name, "w") as stream:
                for piece in [content] if isinstance(content, bytes) else content:
                    stream.write(piece)
    return handle.getvalue()


def with_sizes(archive: bytes, sizes: dict[str, int]) -> bytes:
    """Return an archive whose directory names other unpacked sizes than its members have."""
    changed = bytearray(archive)
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        for name in sizes:
            member = opened.getinfo(name)
            at = changed.find(b"PK\x01\x02")
            while changed[at + 46 : at + 46 + len(name)] != name.encode():
                at = changed.find(b"PK\x01\x02", at + 4)
            changed[at + 24 : at + 28] = sizes[name].to_bytes(4, "little")
            local = member.header_offset
            changed[local + 22 : local + 26] = sizes[name].to_bytes(4, "little")
    return bytes(changed)


def archive_cases(path: Path, every: int = 1) -> Iterator[Case]:
    """Generate bundles with other files of arrays, which the receipt names; each k-th of them."""
    files = files_of(path)
    receipt = receipt_path(path).name
    fields = json.loads(files[receipt])
    arrays_name = KINDS[fields["kind"]].arrays(path).name
    whole = files[arrays_name]

    archives = altered_archives(whole)
    for name, content in islice(archives, 0, None, every):
        packed = content() if callable(content) else content
        digest = hashlib.sha256(packed).hexdigest()
        listed = fields | {"files": fields["files"] | {arrays_name: digest}}
        changed = files | {arrays_name: packed, receipt: receipt_bytes(listed)}
        yield Case(f"{path.parent.name}: {name}", changed)


def altered_archives(whole: bytes) -> Iterator[tuple[str, bytes | Callable[[], bytes]]]:
    """Generate what was done to a file of arrays, and what came of it, or a function of it.

    Many of them are large before they are packed, and only some are read.
    """
    with zipfile.ZipFile(io.BytesIO(whole)) as opened:
        members = [(member.filename, opened.read(member)) for member in opened.infolist()]
    with np.load(io.BytesIO(whole)) as stored:
        arrays = dict(stored)
    for share in (0.0, 0.3, 0.9):
        yield f"cut at {share}", whole[: int(share * len(whole))]
    yield "no members", partial(npz, [])
    yield "other bytes before", b"x" * 100 + whole
    yield "one member twice", partial(npz, [*members, members[-1]])
    yield "a member too many", partial(npz, [*members, ("extra.npy", npy(np.zeros(3)))])
    yield "a name of another folder", partial(npz, [*members, ("../../x.npy", npy(np.zeros(3)))])
    yield "a member that is no array", partial(npz, [*members, ("x.txt", b"hello")])
    yield "a bomb beside", partial(npz, [*members, ("bomb.npy", zeros("u1", 40_000_000))])
    yield (
        "thousands of members",
        partial(npz, [*members, *((f"m{i}.npy", b"") for i in range(5000))]),
    )
    yield "packed by LZMA", partial(npz, members, zipfile.ZIP_LZMA)
    yield "packed by BZIP2", partial(npz, members, zipfile.ZIP_BZIP2)
    for number, (name, content) in enumerate(members):
        array = arrays[name.removesuffix(".npy")]
        others = [each for each in members if each[0] != name]
        start = len(content) - array.nbytes

        def replaced(new: Any, name: str = name, others: Any = others) -> Callable[[], bytes]:
            return partial(npz, [*others, (name, new)])

        def misnamed(size: int, name: str = name) -> Callable[[], bytes]:
            return lambda: with_sizes(npz(members), {name: size})

        yield f"{name} is missing", npz(others)
        yield f"{name} of objects", replaced(npy(np.array([{"a": 1}], dtype=object)))
        yield f"{name} is 16 MB of zeros", replaced(zeros("u1", 16_000_000))
        yield (
            f"{name} is a bomb",
            replaced(zeros(array.dtype, 40_000_000 // array.dtype.itemsize)),
        )
        yield f"{name} of twice the length", replaced(npy(np.concatenate([array.ravel()] * 2)))
        yield f"{name} of another type", replaced(npy(np.full(array.shape, 1j)))
        yield f"{name} of 0 dimensions", replaced(npy(np.zeros((), dtype=array.dtype)))
        yield f"{name} is empty", replaced(npy(np.zeros(0, dtype=array.dtype)))
        yield f"{name} cut", replaced(content[:-1])
        entries = content[start:]
        for shape in ("(10**12,)", "(1000000000000,)", "(-1,)", "(3000000000, 3000000000)", "3"):
            yield f"{name} of {shape}", replaced(npy_header("'<i8'", shape, entries))
        for type_name in (
            "'|O'",
            "[('a', '<i8')]",
            "'<U99999999'",
            "'<i8\\\\d'",
            "__import__('os')",
        ):
            yield f"{name} of {type_name}", replaced(npy_header(type_name, "(1,)", entries))
        yield f"{name} of version 9", replaced(content[:6] + b"\x09" + content[7:])
        yield f"{name} of nested lists", replaced(npy_header("'<i8'", "(" * 3000))
        if number % 2 == 0:
            for size in (10, len(content) + 5, 10**9, 2**32 - 2):
                yield f"{name} names {size:,} bytes", misnamed(size)
        for value in _extremes(array.dtype):
            full = np.full_like(array, value)
            yield f"{name} is {value} everywhere", replaced(npy(full))


def large_cases(path: Path) -> Iterator[Case]:  # noqa: C901
    """Generate small bundles whose receipts and arrays agree on many vertices or queries."""
    files = files_of(path)
    receipt = receipt_path(path).name
    fields = json.loads(files[receipt])
    arrays_name = KINDS[fields["kind"]].arrays(path).name
    with zipfile.ZipFile(io.BytesIO(files[arrays_name])) as opened:
        members = {member.filename: opened.read(member) for member in opened.infolist()}

    def case(name: str, changed: dict[str, Any], arrays: dict[str, Any]) -> Case:
        content = npz(list((members | arrays).items()))
        listed = fields["files"] | {arrays_name: hashlib.sha256(content).hexdigest()}
        stored = receipt_bytes(fields | changed | {"files": listed})
        return Case(f"{path.parent.name}: {name}", files | {arrays_name: content, receipt: stored})

    def about(n: int) -> dict[str, Any]:
        text = json.dumps({"vertices": [n], "bipartite": False, "directed": False})
        return {"about.npy": npy(np.frombuffer(text.encode(), dtype=np.uint8))}

    folder = path.parent.name
    if folder == "dense":
        for n in (3_000, 5_000):
            bits = zeros("u1", -(-n * (n - 1) // 16))
            weights = zeros("<u2", n * n, f"({n}, {n})")
            yield case(
                f"{n:,} vertices",
                {"shape": [n, n]},
                about(n) | {"entries/values.npy": bits, "weights.npy": weights},
            )
        text = b'{"vertices": [[' + b"[],[]," * 600_000 + b"]]}"
        yield case("a million lists", {}, {"about.npy": npy(np.frombuffer(text, dtype=np.uint8))})
    if folder == "groups":
        for groups in (900, 3_000):
            measured = copy.deepcopy(fields["measurements"])
            measured["groups"]["rows"]["levels"] = [
                {
                    "name": "half",
                    "labels": list(range(1, groups + 1)),
                    "sizes": [2] * groups,
                    "parents": [0] * groups,
                }
            ]
            yield case(
                f"{groups:,} groups",
                {"shape": [2 * groups, 2 * groups], "measurements": measured},
                about(2 * groups)
                | {
                    "entries/values.npy": zeros("u1", -(-groups * (2 * groups - 1) // 8)),
                    "groups/steps 0.npy": zeros("<i8", groups * (groups + 1) // 2),
                    "groups/codes 0.npy": npy(np.repeat(np.arange(groups), 2)),
                },
            )
    if folder == "sparse":
        for n in (60_000, 500_000, 2**31 - 1):
            vertices = min(n, 10**6)
            yield case(
                f"{n:,} vertices",
                {"shape": [n, n]},
                about(n)
                | {
                    f"{name}.npy": zeros("<i8", vertices)
                    for name in ("groups/codes 0", "degrees/steps 0", "model/row_codes")
                }
                | {
                    f"model/{name}.npy": zeros("<f8", vertices)
                    for name in ("row_factors", "row_spread")
                },
            )
    if folder in ("cut", "tree"):
        for n in (400_000, 2_000_000, 2**31 - 1):
            arrays = {"codes.npy": zeros("<i8", min(n, 10**6))}
            yield case(f"{n:,} vertices", {"vertices": [n]}, arrays)
    if folder in ("learnt", "answers"):
        for n in (1_900, 3_000, 2**31 - 1):
            side = min(n, 3_000)
            arrays = {
                f"list_{name}.npy": zeros("<u8", -(-n // 64) * 2, f"(2, {-(-n // 64)})")
                for name in ("S", "T")
                if n < 10**6
            }
            if folder == "learnt":
                arrays["matrix.npy"] = zeros("<f8", side * side, f"({side}, {side})")
            yield case(f"{n:,} vertices", {"vertices": [n]}, arrays)
        for count in (200_000, 2_000_000):
            arrays = {f"list_{name}.npy": zeros("<u8", count, f"({count}, 1)") for name in "ST"}
            yield case(f"a list of {count:,}", {}, arrays)
    if folder == "median":
        for count in (2_000, 600_000):
            rows = zeros("<f8", count * 6, f"({count}, 6)")
            names = zeros("<U1", count)
            arrays = {"list_rows.npy": rows, "list_statistics.npy": names}
            yield case(f"a list of {count:,}", {}, arrays)
    if folder == "sensing":
        for count in (100_000, 1_000_000):
            yield case(
                f"a list of {count:,}",
                {},
                {"list_digests.npy": zeros("u1", count * 32, f"({count}, 32)")},
            )
    if folder == "flows":
        for groups in (500, 3_000):
            sums = copy.deepcopy(fields["sums"])
            sums["rows"]["levels"] = [
                {
                    "name": "half",
                    "labels": list(range(1, groups + 1)),
                    "sizes": [2] * groups,
                    "parents": [0] * groups,
                }
            ]
            cells = zeros("<i8", groups * (groups + 1) // 2)
            yield case(f"{groups:,} groups", {"sums": sums}, {"steps 0.npy": cells})


def _extremes(dtype: np.dtype[Any]) -> list[Any]:
    """Return values of a type that no result has."""
    if dtype.kind == "f":
        return [np.nan, np.inf, -1.0, 1e308]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return [limits.min, limits.max, 1]
    return []


def outcome(case: Case, folder: Path, path_name: str, *, inspected: bool = True) -> str:
    """Write a bundle and read it: "loaded", "refused", or what else has happened.

    Args:
        case: the bundle.
        folder: that is made anew.
        path_name: of the result.
        inspected: whether a refused bundle is inspected, too, as all others are.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    path = folder / path_name
    loaded = False
    try:
        repr(gc.load(path))
        loaded = True
    except FileFormatError as problem:
        hidden = problem.__suppress_context__ or problem.__context__ is None
        if "\n" in str(problem) or problem.__cause__ is not None or not hidden:
            return f"several lines, or another error behind it: {problem!r}"
    except BaseException as problem:  # noqa: BLE001, RUF100
        return f"{type(problem).__name__}: {problem!s:.200}"
    if not loaded and not inspected:
        return "refused"
    status, out, err = run_line("inspect", str(receipt_path(path)))
    if loaded and status == 0 and out and not err:
        return "loaded"
    if status == 0 or "Traceback" in err or len(err.strip().splitlines()) != 1:
        return f"inspect: status {status}, {err[-300:]!r}"
    return "refused, once loaded" if loaded else "refused"


def main() -> None:
    """Read the cases of a share of the sources; print what came of them as JSON."""
    folder, share, shares, every = Path(sys.argv[1]), *map(int, sys.argv[2:5])
    warnings.simplefilter("ignore")
    paths = sources(folder / "whole")[share::shares]
    counts: dict[str, int] = {}
    failures = []
    peaks = []
    slow = []
    for path in paths:
        whole = Case("as it was", files_of(path))
        assert outcome(whole, folder / "case", path.name) == "loaded", path
    before = peak_bytes()
    for path in paths:
        archives = archive_cases(path, -(-every // ARCHIVES))
        cases = chain(large_cases(path), archives, receipt_cases(path, every))
        for number, case in enumerate(cases):
            started = time.perf_counter()
            inspected = number % 4 == 0
            result = outcome(case, folder / "case", path.name, inspected=inspected)
            kind = result if result in ("loaded", "refused", "refused, once loaded") else "failed"
            counts[kind] = counts.get(kind, 0) + 1
            if kind == "failed":
                failures.append((case.name, result))
            if time.perf_counter() - started > 1:
                slow.append((time.perf_counter() - started, case.name, result))
            if peak_bytes() > (peaks[-1][0] if peaks else before) + 5_000_000:
                peaks.append((peak_bytes(), case.name))
    report: dict[str, Any] = {"counts": counts, "failures": failures}
    report |= {"peak": peak_bytes() - before, "slow": slow}
    report["peaks"] = [(peak - before, name) for peak, name in peaks]
    sys.stdout.write(f"{json.dumps(report)}\n")


def peak_bytes() -> int:
    """Return the most memory that this process has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
