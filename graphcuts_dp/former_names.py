"""Names of version 0.1 and what took their place: for errors, and for reading stored files.

Each renaming stands here once. Until version 1.0, a former name that somebody types is refused with
the new one; a former key of a stored file is read as the new one.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

from graphcuts_dp.arrays import plain_number
from graphcuts_dp.errors import ParameterError

F = TypeVar("F", bound=Callable[..., Any])

# Names of the package `graphcuts_dp`.
PUBLIC_NAMES: Mapping[str, str] = {
    "BoundPlan": "planning.ContributionBoundPlan",
    "BoundRow": "planning.ContributionBoundRow",
    "ChosenBound": "ContributionBound",
    "DegreePlan": "planning.DegreeBoundPlan",
    "DegreeRow": "planning.DegreeBoundRow",
    "Fitting": "FitOptions",
    "Protect": "PrivacyUnit",
    "Response": "Mechanism",
    "choose_bound": "choose_contribution_bound",
    "pairs": "schema",
    "plan_bounds": "planning.plan_contribution_bounds",
}
# Options of functions, of the command line (with hyphens) and of HTTP.
OPTIONS: Mapping[str, str] = {
    "at_most": "privacy_unit, which holds group_size, max_units or max_contributions",
    "data": "data_name",
    "degree_bound": "max_degree",
    "force_hopeless": "allow_useless",
    "hide_change": "max_weight_change",
    "most_right": "max_right_size",
    "most_spectral": "max_spectral_norm",
    "owner": "user",
    "protect": "privacy_unit",
    "rest": "default_group",
    "unit": "weight_unit",
    "weight_cap": "max_weight",
}
# Flags of commands, and fields of HTTP requests.
FLAGS: Mapping[str, str] = {**OPTIONS, "at_most": "group_size"}  # of `distances`
FIELDS: Mapping[str, str] = {**OPTIONS, "owner": "analyst"}  # of a session
# Values of options, by the option.
VALUES: Mapping[str, Mapping[str, str]] = {
    "counting": {"owners": "users"},
    "mechanism": {
        "response": "randomized-response",
        "degrees+response": "degrees+randomized-response",
    },
    "oracle": {"cut-norm": "low-rank"},
    "privacy_unit": {
        "edges": "edge",
        "rows": "row",
        "owner": "user",
        "people": "person",
    },
}
# Keys of values that are typed in one word, by the value.
KEYS: Mapping[str, Mapping[str, str]] = {
    "edge": {"at-most": "group-size"},
    "row": {"at-most": "max-units"},
    "user": {"at-most": "max-contributions"},
    "vertex": {"degree-bound": "max-degree"},
    "columns": {"owner": "user"},
    "contributions": {"most": "known-max"},
    "groups_columns": {"rest": "default-group"},
    "queries": {"most-right": "max-right-size", "most-spectral": "max-spectral-norm"},
}

# Keys of stored JSON: of stores of format 9, receipts of format 12, and records of results.
_STORED_OPTIONS = ("degree_bound", "hide_change", "most_right", "most_spectral", "weight_cap")
STORED_KEYS: Mapping[str, str] = {
    **{former: OPTIONS[former] for former in _STORED_OPTIONS},
    "at_most": "group_size",
    "may_buy": "may_measure_degrees",
    "off_by_at_most": "error_bound",
    "promise": "guarantee",
    "protects": "privacy_unit",
}
_KEYS_OF_COLUMNS = {"owner": "user"}
# Their keys are names of files and of groups.
_NAMED_BY_USERS = ("files", "levels")
# Keys that are renamed only beside another one: that one, the key, and its new name.
_KEYS_BESIDE = (
    ("neighbours", "parts", "spent"),  # of a guarantee in a receipt
    ("terminals", "ends", "terminal_vertices"),
    ("rounding", "places", "measured_levels"),
    ("kind", "given", "listed"),  # of the list of an iterative release
)
_BOUNDS = {
    "edges": ("edge:group-size", "at_most"),
    "rows": ("row:max-units", "at_most"),
    "owner": ("user:max-contributions", "at_most"),
    "vertex": ("vertex:max-degree", "degree_bound"),
}


def current(stored: Any) -> Any:
    """Return stored plain values with the keys, and the words for privacy units, of today.

    Values that were stored by this version stay as they are.
    """
    if isinstance(stored, list):
        return [current(value) for value in stored]
    if not isinstance(stored, dict):
        return stored
    values = dict(stored)
    if values.get("protect") in _BOUNDS:
        unit, bound = _BOUNDS[values.pop("protect")]
        size = values.pop(bound, None)
        values.pop("at_most", None), values.pop("degree_bound", None)
        values["privacy_unit"] = unit.partition(":")[0] if size is None else f"{unit}={size}"
    for where, key, name in _KEYS_BESIDE:
        if where in values and key in values and "class" not in values:
            values[name] = values.pop(key)
    current_values: dict[str, Any] = {}
    for key, value in values.items():
        name = STORED_KEYS.get(key, key)
        if name == "privacy_unit" and isinstance(value, str):
            current_values[name] = value.replace("owner", "user")
        elif name == "counting" and value == "owners":
            current_values[name] = "users"
        elif name == "columns" and isinstance(value, dict):
            current_values[name] = {
                _KEYS_OF_COLUMNS.get(role, role): text for role, text in value.items()
            }
        elif name == "mechanism" and isinstance(value, str):
            current_values[name] = VALUES["mechanism"].get(value, value)
        else:
            current_values[name] = value if name in _NAMED_BY_USERS else current(value)
    return current_values


def refuses_former_options(**former: str) -> Callable[[F], F]:
    """Decorate a function or a class: former names of options are refused, with the new ones.

    These are the names of `OPTIONS` that are none of its parameters. Numbers may be scalars of
    numpy, such as `float32`: the function sees Python's own, as checks of types and JSON need.

    Args:
        former: new names that only this function has, by the former ones.
    """
    return lambda function: _decorated(function, former)


def _decorated(function: F, former: Mapping[str, str]) -> F:
    if isinstance(function, type):
        function.__init__ = _decorated(function.__init__, former)  # type: ignore[misc]
        return function
    parameters = signature(function).parameters
    renamed = {name: new for name, new in {**OPTIONS, **former}.items() if name not in parameters}

    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        check_options(options, renamed)
        plain_options = {name: plain_number(value) for name, value in options.items()}
        return function(*map(plain_number, args), **plain_options)

    return cast(F, checked)


def check_options(names: Iterable[str], former: Mapping[str, str] = OPTIONS) -> None:
    """Refuse former names of options.

    Raises:
        ParameterError: one is among the names; the message gives the new one.
    """
    for name in names:
        if name in former:
            raise ParameterError(f"{name} is now called {former[name]}")
