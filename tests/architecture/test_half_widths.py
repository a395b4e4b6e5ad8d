"""One meaning of the plus-minus sign: the half width of the interval of one number alone.

Simultaneous intervals have another name and no such sign. Whoever writes the sign in a new file
reads this, and adds the file if it stands before the half width of one number.
"""

import re
from pathlib import Path

import numpy as np

import graphcuts_dp as gc

PACKAGE = Path(gc.__file__).parent
SIGN = re.compile(r"\u00b1|\\u00b1|\\xb1|\\N\{PLUS-MINUS SIGN\}|&plusmn;|\+-\{", re.IGNORECASE)
OF_ONE_NUMBER = {
    "estimate/flow_errors.py",
    "page/result.py",
    "page/web/exact.js",
    "page/web/page.html",
    "planning/bounds.py",
    "plotting/flow_tables.py",
    "plotting/web/flows.js",
    "release/updates.py",
    "reports/contents.py",
    "results/flow_table.py",
}


def test_the_sign_stands_where_intervals_are_of_one_number_alone():
    files = [path for ending in ("py", "js", "html") for path in PACKAGE.rglob(f"*.{ending}")]
    signed = {
        path.relative_to(PACKAGE).as_posix()
        for path in files
        if SIGN.search(path.read_text(encoding="utf-8"))
    }
    assert signed == OF_ONE_NUMBER


def test_half_widths_of_tables_are_those_of_one_cell_and_not_of_all():
    club, groups = gc.datasets.load("karate"), gc.datasets.load_groups("karate")
    flows = gc.release_flows(club, groups, epsilon=1.0, seed=1)
    alone, widths = flows.intervals(), flows.half_widths()
    at_once = flows.intervals(simultaneous=True)
    assert (alone[1] - alone[0] <= 2 * widths + 1).all()
    values, inside = flows.values(), alone[0] > 0
    np.testing.assert_allclose((values - alone[0])[inside], widths[inside], atol=1.0)
    assert ((values - at_once[0])[inside] > widths[inside]).all()
