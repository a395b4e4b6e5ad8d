"""The table of flows as a Parquet file; needs pyarrow, which is no dependency."""

import importlib.util
import io
from typing import TYPE_CHECKING

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.atomic import atomic_write, check_writable
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.receipts import PathLike

if TYPE_CHECKING:
    import pandas as pd


def write_parquet(path: PathLike, frame: "pd.DataFrame", *, seeded: bool, force: bool) -> None:
    """Write a table; see `FlowStatistics.write_parquet`."""
    if importlib.util.find_spec("pyarrow") is None:
        raise FileFormatError(
            "Parquet needs the package pyarrow: python -m pip install pyarrow; or save as .csv"
        )
    check_writable(path, force=force)
    frame = frame.copy()
    for side in ("from", "to"):
        if len({type(label) for label in frame[side]}) > 1:  # a column has one type
            frame[side] = frame[side].map(str)
    if seeded:
        frame["mark"] = SEEDED_WARNING
    packed = io.BytesIO()
    frame.to_parquet(packed, engine="pyarrow", index=False)
    with atomic_write(path, force=force) as handle:
        handle.write(packed.getvalue())
