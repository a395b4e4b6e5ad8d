"""Released tables with hostile names and periods, for tests of the page that shows flows."""

import numpy as np
import pandas as pd

import graphcuts_dp as gc

HOSTILE = (
    "</script><img src=x onerror=document.title='taken'>",
    "<!--<script>document.title='taken'",
    "{{DATA}} &amp; \"quoted' \u2028 \u202e",
    "javascript:alert(1)",
    "S\u00fcd, links des Mains",
    "Nord",
    "$x^2$ \\u003c",
    "Ost",
)
MONTHS = 4


def table(names=HOSTILE, *, kind="directed", periods=MONTHS, rows=4000, epsilon=2.0):
    """Trips between zones of which each is a group; None periods for one table."""
    rng = np.random.default_rng(5)
    count = len(names)
    shares = rng.exponential(1, (count, count)) ** 3
    pairs = rng.choice(count**2, size=rows, p=(shares / shares.sum()).ravel())
    months = rng.integers(1, (periods or 1) + 1, size=rows)
    frame = pd.DataFrame(
        {
            "start": np.array(names, dtype=object)[pairs // count],
            "stop": np.array(names, dtype=object)[pairs % count],
            "date": [f"2026-{month:02}-11" for month in months],
        }
    )
    columns = gc.Columns(source="start", target="stop", period="date" if periods else None)
    declared = None if periods is None else f"2026-01..2026-{periods:02}"
    trips = gc.Rows.of(frame, columns=columns, vertices=list(names), kind=kind, periods=declared)
    groups = gc.Groups.of({name: (name,) for name in names}, gc.VertexSet(names), ("zone",))
    by = {} if periods is None else {"by": "month"}
    return gc.release_flows(trips, groups, epsilon=epsilon, seed=3, **by)


def locations(names=HOSTILE):
    """Places of all zones, in and around a town."""
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "id": list(names),
            "lat": 50.1 + 0.1 * rng.random(len(names)),
            "lon": 8.6 + 0.2 * rng.random(len(names)),
        }
    )
