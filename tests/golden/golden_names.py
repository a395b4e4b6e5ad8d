"""All names that a user can type or import, by the table that they stand in."""

import inspect
from typing import Any

from graphcuts_dp.cli.main import COMMANDS
from graphcuts_dp.cutnorm.cut_norm import NORMS as CUT_NORMS
from graphcuts_dp.distances.answers import MECHANISMS as DISTANCES
from graphcuts_dp.estimate.noises import NOISES
from graphcuts_dp.io.files import FORMATS
from graphcuts_dp.iterative.game import PLAYERS
from graphcuts_dp.iterative.learning import CALIBRATIONS as OFFLINE_CALIBRATIONS
from graphcuts_dp.iterative.learning import DISTINGUISHER_NAMES, MEDIAN
from graphcuts_dp.learn.calibrations import CALIBRATIONS
from graphcuts_dp.learn.constructions import CONSTRUCTIONS
from graphcuts_dp.learn.norms import NORMS as LEARNING_NORMS
from graphcuts_dp.privacy.k_norm import NORMS as ANSWER_NOISES
from graphcuts_dp.privacy.privacy_unit import PRIVACY_UNITS
from graphcuts_dp.queries.graph_queries import STATISTICS
from graphcuts_dp.session.starts import STARTS
from graphcuts_dp.session.terms import LINEAR_METHODS, METHODS
from graphcuts_dp.synth.mechanisms import ALL_MECHANISMS
from graphcuts_dp.synth.methods import FIT_NAMES
from graphcuts_dp.synth.separation_oracles import ORACLES
from scripts.benchmark.baselines import BASELINES
from scripts.benchmark.contenders.table import CONTENDERS
from scripts.figures.registry import FIGURES
from tests.audits.public_names import public_names
from tests.audits.registry import ENTRIES, exported_mechanisms


def _public() -> dict[str, Any]:
    return {name: value for name, value in public_names().items() if not name.startswith("_")}


def _drawing_noise() -> list[str]:
    """Return the public functions that take an epsilon and a seed."""
    functions = {name: value for name, value in _public().items() if inspect.isfunction(value)}
    return [
        name
        for name, function in functions.items()
        if {"epsilon", "seed"} <= {*inspect.signature(function).parameters}
    ]


def names() -> dict[str, list[str]]:
    """Return the sorted names of each table."""
    public = _public()
    tables = {
        "public names": public,
        "public functions that draw noise": _drawing_noise(),
        "kinds of query": [name for name in public if name.endswith("Query")],
        "readers and converters": [
            name for name in public if "from_" in name or "read_" in name or name.startswith("to_")
        ],
        "formats": FORMATS,
        "formats that are written": [name for name, form in FORMATS.items() if form.write],
        "noises": NOISES,
        "noises of a list of answers": ANSWER_NOISES,
        "mechanisms of a release": ALL_MECHANISMS,
        "fits": FIT_NAMES,
        "oracles": list(ORACLES),
        "protections": PRIVACY_UNITS,
        "session methods": METHODS,
        "session methods for linear queries": LINEAR_METHODS,
        "calibrations of sessions": CALIBRATIONS,
        "starts of sessions": STARTS,
        "constructions": [*CONSTRUCTIONS, MEDIAN],
        "norms of mirror descent": LEARNING_NORMS,
        "distinguishers": DISTINGUISHER_NAMES,
        "calibrations of iterative releases": OFFLINE_CALIBRATIONS,
        "players": PLAYERS,
        "statistics": STATISTICS,
        "distance mechanisms": DISTANCES,
        "cut norms": CUT_NORMS,
        "baselines": BASELINES,
        "contenders": CONTENDERS,
        "figures": [figure.name for figure in FIGURES],
        "commands": COMMANDS,
        "audits": [entry.name for entry in ENTRIES],
        "mechanisms that are audited": exported_mechanisms(),
    }
    return {title: sorted(set(map(str, table))) for title, table in tables.items()}
