"""Test the isolation of rows: one inserted or changed line changes one row, and no other.

    python -m scripts.isolation                           # our readers, 1,500 tries each
    python -m scripts.isolation --reader pandas --reader duckdb --tries 300 --seed 7

A table of `ROWS` rows with distinct endpoints is written as text. At a random position one line of
`ODD_LINES` is inserted, or put in the place of a row. The table is then read with bad rows left
out. A try is *refused* if nothing is read, and *harmed* if another row is missing or changed, or if
more rows come than the odd line has parts. A guarantee about neighbouring tables needs 0 of both:
what one person writes into a line must not decide about the rows of others.

The status is 1 if one of our readers was harmed or refused a table. Other readers, which must be
installed, are told to leave out bad rows and to read every cell as text.
"""

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import graphcuts_dp as gc

ROWS = 40  # of a table: neighbours on both sides, and quick to read
TRIES = 1_500
Row = tuple[str, str]

# Odd lines by what is odd about them, with commas where the table has its separator.
ODD_LINES: dict[str, bytes] = {
    "empty": b"",
    "blanks alone": b"  \t ",
    "separators alone": b",,",
    "too few cells": b"a",
    "too many cells": b"a,b,1,2",
    "very many cells": b"a," * 5_000,
    "a very long cell": b"x" * 300_000 + b",b,1",
    "an empty endpoint": b",b,1",
    "no weight": b"a,b,",
    "a weight that is no number": b"a,b,one",
    "a weight that is not finite": b"a,b,nan",
    "an infinite weight": b"a,b,1e999",
    "a negative weight": b"a,b,-1",
    "a decimal comma in quotes": b'a,b,"1,5"',
    "a quote that stays open": b'a,"b,1',
    "a quote that stays open at the start": b'"a,b,1',
    "a quote alone": b'"',
    "three quotes": b'"""',
    "a quote within a cell": b'a"a,b,1',
    "text behind a quote": b'"a"a,b,1',
    "single quotes that stay open": b"'a,b,1",
    "a backslash at the end": b"a,b,1\\",
    "a backslash before a quote": b'"a\\",b,1',
    "NUL": b"a\0a,b,1",
    "NUL alone": b"\0",
    "bytes that are no UTF-8": b"\xff\xfe,b,1",
    "half a character": b"\xc3,b,1",
    "an old encoding": b"Z\xfcrich,b,1",
    "a surrogate": b"\xed\xa0\x80,b,1",
    "a character beyond 16 bits": "\U0001f600,b,1".encode(),
    "a byte-order mark": b"\xef\xbb\xbfa,b,1",
    "a byte-order mark alone": b"\xef\xbb\xbf",
    "a byte-order mark of UTF-16": b"\xff\xfea\0,\0b\0",
    "a lone carriage return": b"a,b,1\rc,d,1",
    "a carriage return at the end": b"a,b,1\r",
    "a vertical tab": b"a\v,b,1",
    "a form feed": b"\f,b,1",
    "a separator of units": b"a\x1f,b,1",
    "the end of a file of DOS": b"\x1a",
    "a next line of C1": "a\u0085,b,1".encode(),
    "no-break spaces": "\u00a0a\u00a0,b,1".encode(),
    "a line separator": "a\u2028b,c,1".encode(),
    "a comment": b"# a,b,1",
    "a comment behind blanks": b"  % a,b,1",
    "a comment of our files": b'# graphcuts-dp: {"vertices": 2}',
    "a comment of KONECT": b"% sym weighted",
    "a separator that is declared": b"sep=;",
    "the header once more": b"source,target,weight",
    "another separator": b"a;b;1",
    "tabs": b"a\tb\t1",
    "blanks around cells": b" a , b , 1 ",
    "an integer": b"1,2,1",
    "an integer with a leading zero": b"007,2,1",
    "an integer beyond 64 bits": b"9" * 30 + b",2,1",
    "a float": b"7.0,2,1",
    "a date": b"2026-01-31,2,1",
    "a missing value in words": b"NA,null,1",
}


def our_rows(path: Path) -> list[Row]:
    """Read private rows with `gc.Rows`."""
    rows = gc.Rows.read(
        path,
        columns=_columns(path),
        counting="weight",
        kind="directed",
        public_vertices_from_file=True,
    )
    assert rows.row_arrays is not None  # noqa: S101  # a file that was read
    labels = rows.space.vertices.labels
    endpoints = zip(*rows.row_arrays.endpoints, strict=True)
    return [(str(labels[a]), str(labels[b])) for a, b in endpoints]


def our_graph(path: Path) -> list[Row]:
    """Read a graph with `gc.DirectedGraph`."""
    graph = gc.DirectedGraph.read(path, columns=_columns(path), max_weight_change=1)
    pairs = zip(graph.rows.tolist(), graph.columns.tolist(), strict=True)
    return [(str(graph.labels[a]), str(graph.labels[b])) for a, b in pairs]


def _columns(path: Path) -> gc.Columns:
    if path.suffix == ".csv":
        return gc.Columns(source="source", target="target", weight="weight", on_bad="skip")
    return gc.Columns(source=0, target=1, weight=2, on_bad="skip")


def by_pandas(path: Path) -> list[Row]:
    """Read with pandas."""
    import pandas

    frame = pandas.read_csv(
        path, dtype=str, on_bad_lines="skip", encoding_errors="replace", keep_default_na=False
    )
    return [*zip(frame["source"], frame["target"], strict=True)]


def by_polars(path: Path) -> list[Row]:
    """Read with Polars."""
    import polars

    frame = polars.read_csv(
        path,
        infer_schema=False,
        ignore_errors=True,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
    )
    return [*zip(frame["source"].to_list(), frame["target"].to_list(), strict=True)]


def by_duckdb(path: Path) -> list[Row]:
    """Read with DuckDB."""
    import duckdb

    with duckdb.connect() as connection:
        query = "select source, target from read_csv(?, header=true, delim=',', all_varchar=true, "
        return connection.execute(query + "ignore_errors=true)", [str(path)]).fetchall()


def by_pyarrow(path: Path) -> list[Row]:
    """Read with Arrow."""
    import pyarrow
    from pyarrow import csv

    names = ("source", "target", "weight")
    table = csv.read_csv(
        path,
        parse_options=csv.ParseOptions(invalid_row_handler=lambda _: "skip"),
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pyarrow.string())),
    )
    return [*zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True)]


# Each with the ending of the files that it reads.
OURS: dict[str, tuple[str, Callable[[Path], list[Row]]]] = {
    "Rows, .csv": (".csv", our_rows),
    "Graph, .csv": (".csv", our_graph),
    "Rows, .edges": (".edges", our_rows),
    "Graph, .edges": (".edges", our_graph),
}
OTHERS: dict[str, tuple[str, Callable[[Path], list[Row]]]] = {
    "pandas": (".csv", by_pandas),
    "polars": (".csv", by_polars),
    "duckdb": (".csv", by_duckdb),
    "pyarrow": (".csv", by_pyarrow),
}


def isolation(
    reader: str, tries: int, seed: int, folder: Path
) -> tuple[Counter[str], Counter[str]]:
    """Return how often other rows were harmed, and how often nothing was read, by odd line.

    Args:
        reader: its name in `OURS` or `OTHERS`.
        tries: how many tables are read.
        seed: of the positions and lines.
        folder: where tables are written.
    """
    ending, read = (OURS | OTHERS)[reader]
    path, draw = folder / f"table{ending}", random.Random(seed)  # noqa: S311
    harmed: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for _ in range(tries):
        kind, line = draw.choice([*ODD_LINES.items()])
        position, is_inserted = draw.randrange(ROWS), draw.random() < 0.5
        rows = [(f"from{number}", f"to{number}") for number in range(ROWS)]
        lines = [f"{a},{b},1".encode() for a, b in rows]
        lines[position : position + (not is_inserted)] = [line]
        other_rows = rows if is_inserted else [*rows[:position], *rows[position + 1 :]]
        content = b"\n".join(lines) + b"\n"
        if ending == ".csv":
            content = b"source,target,weight\n" + content
        else:
            content = content.replace(b",", b" ")
        path.write_bytes(content)
        try:
            read_rows = read(path)
        except Exception:  # noqa: BLE001, RUF100  # whatever a library raises: nothing was read
            refused[kind] += 1
            continue
        missing, more = Counter(other_rows) - Counter(read_rows), len(read_rows) - len(other_rows)
        if missing or more > len(re.split(b"[\r\n]", line)):
            harmed[kind] += 1
    return harmed, refused


def main() -> None:
    """Print a line for each reader, and what harmed it most."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--reader",
        action="append",
        choices=[*OURS, *OTHERS],
        help="reader to test; all of this package if omitted",
    )
    parser.add_argument("--tries", type=int, default=TRIES, help="number of changed lines")
    parser.add_argument("--seed", type=int, default=0, help="seed of the changes")
    options = parser.parse_args()
    failed = False
    print(f"{'reader':<16}{'tries':>8}{'harmed':>8}{'refused':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for reader in options.reader or OURS:
            counts = isolation(reader, options.tries, options.seed, Path(folder))
            harmed, refused = (sum(count.values()) for count in counts)
            print(f"{reader:<16}{options.tries:>8}{harmed:>8}{refused:>8}")
            for kind, often in (counts[0] + counts[1]).most_common(5):
                print(f"    {often:>4}  {kind}")
            failed |= reader in OURS and bool(harmed + refused)
    sys.exit(failed)


if __name__ == "__main__":
    main()
