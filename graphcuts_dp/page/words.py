"""The words of the page for people who do not program: labels of options, and messages.

`PLAIN` has the options that the page shows at once, each in its step. All other options stand under
"details" of the step of their group, in the words of the command. `plain` translates messages of
commands into these words. A test checks that the keys of `PLAIN` are options.
"""

import re
from collections.abc import Mapping
from typing import Any

from graphcuts_dp.page.steps import CHECK, CONFIRM, COUNT, EXACT, OUT, STEPS, WHO, PlainWords

PLAIN: Mapping[str, PlainWords] = {
    "columns.source": PlainWords(
        label="Column of the place from which a row goes",
        step=CHECK,
        role="from",
        hint="",
        empty="found by its name, such as from",
    ),
    "columns.target": PlainWords(
        label="Column of the place to which it goes",
        step=CHECK,
        role="to",
        hint="",
        empty="found by its name, such as to",
    ),
    "columns.user": PlainWords(
        label="Column that names the person",
        step=CHECK,
        role="person",
        hint="",
        empty="rows name no person",
    ),
    "columns.period": PlainWords(
        label="Column of the date", step=CHECK, role="date", hint="", empty="rows have no date"
    ),
    "periods": PlainWords(
        label="Months to report",
        step=CHECK,
        role="months",
        needs_date_column=True,
        hint="The first and the last, as 2026-01..2026-12. Days, quarters and years work, too.",
    ),
    "columns.date-format": PlainWords(
        label="How dates are written",
        step=CHECK,
        role="date_format",
        needs_date_column=True,
        hint="Empty: as 2026-01-31. Else with %d, %m and %Y, as %d.%m.%Y for 31.01.2026.",
    ),
    "columns.time-zone": PlainWords(
        label="Time zone",
        step=CHECK,
        needs_date_column=True,
        hint="Only for times with an offset, as Europe/Berlin.",
    ),
    "kind": PlainWords(
        label="Trips from A to B, and from B to A",
        step=CHECK,
        role="direction",
        hint="For links without a direction, such as friendship: together.",
        choices={
            "undirected": "count together",
            "directed": "count apart",
            "bipartite": "go between two lists, such as readers and books",
        },
    ),
    "groups": PlainWords(
        label="Public list of the places",
        step=CHECK,
        role="places",
        hint="A table that anybody may see: a line for each place, with the area to which it "
        "belongs; if it has one column, each place is an area of its own. In a network of people, "
        "the places are its members.",
    ),
    "vertices": PlainWords(
        label="Names of all places, if the list above does not have them",
        step=CHECK,
        role="names",
        hint="A file that anybody may see, with one name on each line; or how many there are.",
    ),
    "columns.encoding": PlainWords(
        label="Encoding of the private file",
        step=CHECK,
        role="text_of_file",
        hint="Empty: UTF-8. A file of Excel on Windows: cp1252.",
    ),
    "columns.header": PlainWords(
        label="The first line of the private file names its columns", step=CHECK, role="header"
    ),
    "columns.delimiter": PlainWords(
        label="What separates the columns of the private file", step=CHECK, role="separator"
    ),
    "groups-columns.encoding": PlainWords(
        label="Encoding of the list of places",
        step=CHECK,
        role="text_of_list",
        hint="Empty: UTF-8, or else that of the private file.",
    ),
    "groups-columns.header": PlainWords(
        label="The first line of the list of places names its columns", step=CHECK
    ),
    "groups-columns.delimiter": PlainWords(
        label="What separates the columns of the list of places", step=CHECK
    ),
    "groups-columns.levels": PlainWords(
        label="Columns of the areas in the list of places", step=CHECK
    ),
    "groups-columns.vertex": PlainWords(
        label="Column of the places in the list of places", step=CHECK
    ),
    "public-vertices-from-file": PlainWords(
        label="The places that occur in the private file are public",
        step=CHECK,
        role="places_of_file",
    ),
    "columns.on-bad": PlainWords(
        label="Rows that cannot be used",
        step=CHECK,
        role="bad_rows",
        hint="Such as rows without a place, or with a place that is not in the list.",
        choices={"refuse": "stop, and use nothing up", "skip": "leave them out"},
    ),
    "privacy-unit": PlainWords(
        label="Protected is",
        step=WHO,
        role="unit",
        hint="Whoever sees the result, and knows all other rows, cannot tell whether this one is "
        "in the file. A person needs a column that names people.",
        choices={
            "user": "a person, with all rows of that person",
            "row": "a row, such as one trip",
            "edge": "a link between two places or people",
            "vertex": "a place or member, with all its links",
        },
    ),
    "privacy-unit.max-contributions": PlainWords(
        label="How many rows of a person count, at most, in all months together",
        step=COUNT,
        role="most_rows",
        hint="If a person has more, a table counts a share of each row, so that all of them count "
        "for this many together; other results count this many of the rows. A higher limit needs "
        "more noise.",
    ),
    "privacy-unit.per-period": PlainWords(
        label="In each month separately",
        step=COUNT,
        hint="A person is then protected in each month, not in all of them together.",
    ),
    "privacy-unit.max-units": PlainWords(label="Most that one row may count for", step=COUNT),
    "privacy-unit.group-size": PlainWords(
        label="How many links are protected together", step=COUNT
    ),
    "privacy-unit.max-degree": PlainWords(
        label="How many links of a place count, at most", step=COUNT, role="most_links"
    ),
    "by": PlainWords(
        label="One table for each",
        step=OUT,
        hint="day, month, quarter or year. Empty: as the months to report are written.",
        needs_date_column=True,
    ),
    "first": PlainWords(label="This place", step=OUT, hint="It is kept apart from the other one."),
    "second": PlainWords(label="The other place", step=OUT, hint="As it stands in the list."),
    "queries.queries": PlainWords(
        label="How many questions in all", step=OUT, hint="Asked by analysts, one by one."
    ),
    "dry-run": PlainWords(
        label="About how many links there are",
        step=OUT,
        hint="A guess from what is public, for the preview alone.",
    ),
    "author": PlainWords(
        label="Who publishes?",
        step=CONFIRM,
        hint="For example your name and your office. It stands in the report.",
    ),
    "purpose": PlainWords(
        label="What for?",
        step=CONFIRM,
        hint="In a few words, such as a report on trips of 2026. It stands in the report.",
    ),
    "epsilon": PlainWords(label="Uses up", step=EXACT, role="epsilon"),
    "budget.epsilon": PlainWords(
        label="Budget: all results of these data together use up at most",
        step=EXACT,
        role="budget",
        hint="For ever. Set once, with the first result. Empty: no limit.",
    ),
    "budget.delta": PlainWords(label="and with delta at most", step=EXACT, hint="Usually empty."),
    "store": PlainWords(
        label="File that keeps account",
        step=EXACT,
        role="store",
        hint="Empty: named after the private file.",
    ),
    "same-people-as": PlainWords(
        label="Instead: account of other data about the same people",
        step=EXACT,
        role="same_people",
        hint="Both share its budget, so that what is used up adds up.",
    ),
}
# Keys of fields by their roles on the page. The first one is set by `BOUND_PRESET`, not by a field.
KEYS = {
    "share_above": "contributions.share-above",
    **{words.role: key for key, words in PLAIN.items() if words.role},
}
# Options of `PLAIN` that stand under "details" all the same.
_IN_DETAILS = (
    "columns.time-zone",
    "columns.encoding",
    "columns.header",
    "columns.delimiter",
    "groups-columns.encoding",
    "groups-columns.header",
    "groups-columns.delimiter",
    "groups-columns.levels",
    "groups-columns.vertex",
    "public-vertices-from-file",
    "privacy-unit.per-period",
    "privacy-unit.group-size",
    "budget.delta",
    "store",
    "same-people-as",
)

# Options without a field: files are new, noise is never seeded, every run has a store, and how many
# rows people have is a product of its own. The others are left to the command line.
NOT_OFFERED = ("force", "seed", "uncounted", "expect_head", "contributions", "partition")
# A private estimate of the number of rows that about 5 of 100 people exceed.
BOUND_PRESET = {"contributions": "choice", KEYS["share_above"]: "0.05", "epsilon": "0.1"}
# The privacy unit that is proposed if columns name people; if they name dates alone; if neither.
UNITS = {"person": "user", "date": "row", "": "edge"}
# Encodings that the page offers for files that are not UTF-8, each with a program that writes it.
ENCODINGS: Mapping[str, str] = {"cp1252": "Excel on Windows"}
# Options of tables that a count of people's rows does not have.
NOT_OF_BOUND = (
    *("privacy_unit", "locations", "by", "known_max", "plot", "od", "margins", "spreadsheet"),
    "measure_margins",
    *("accurate", "noise", "whole", "expected_cell"),
)

# Options in messages of commands, each with an example of what matches.
_VALUE = r"('[^']*'|\"[^\"]*\"|[\w.,-]*\w)?"
_CHOICE = re.compile(r"--([a-z][a-z-]*) ([a-z]+)(?![\w=:-])")  # --kind directed
# --columns user=person, --privacy-unit user:max-contributions=3, --epsilon
_SWITCH = re.compile(rf"--([a-z][a-z-]*)(?:[ =](?:[a-z-]+:)?([a-z][a-z-]*)={_VALUE})?")
_ARGUMENT = re.compile(rf"(?<![\w\"-])([a-z][a-z_-]*)={_VALUE}")  # max_degree=5
_COMPOUND = re.compile(r"(?<![\w\u201c-])[a-z]+(?:[_-][a-z]+)+(?![\w\u201d-])")  # max_degree
_OPTION_NAME = re.compile(  # --by, user=, the file of the groups, max_units
    r"--([a-z][a-z-]*)|(?<![\w-])([a-z][a-z_-]*)=|file of the (\w+)"
    r"|(?<![\w-])([a-z]+(?:[_-][a-z]+)+)(?![\w-])"
)
_EXAMPLE = re.compile(r", for example \u201c[^\u201d]*\u201d: (?=\w+ for Excel)")
# After options were replaced by their labels in quotation marks, these have no meaning any more:
_METAVAR = re.compile(r"\u201d [A-Z]{3,}\b")
_PYTHON_NAME = re.compile(r"\u201d \(\u201c[^\u201d]*\u201d\)")  # the same option in brackets
_LONGEST_COMMON_WORD = 4  # letters; options up to this length, such as --by, are common words, too
_PAGE_WORDS = {  # by the words of the command line and of Python
    "expected, no proof": "a forecast; the result states its own bound, which is proven",
    "a dry run": "a preview",
    "a cell": "a number",
    "the command": "the page",
    "vertex set": "list of places",
    "vertices": "places",
    "vertex": "place",
    "an endpoint": "a place",
    "endpoints": "places",
    "endpoint": "place",
    "the period": "the date",
    "the groups name": "the list of places names",
    "users": "people",
    "user": "person",
    "edges": "links",
    "edge": "link",
    "pass": "set",
    "GRAPH": "the private file",
}


def shown(key: str) -> bool:
    """Return whether the field of an option is shown at once."""
    return key in PLAIN and key not in _IN_DETAILS


def label_of(key: str, labels: Mapping[str, str]) -> str:
    """Return the label of an option on the page.

    Args:
        key: of the option as it is typed; an option within another may lack the outer name.
        labels: of all fields of the form, by key.
    """
    key = key.replace("_", "-")
    full = _full_key(key, labels)
    return labels.get(full, key.rpartition(".")[2].replace("-", " "))


def _full_key(key: str, labels: Mapping[str, str]) -> str:
    """Return the key of a field for a key that may lack the name of an outer option."""
    return key if key in labels else next((k for k in labels if k.endswith(f".{key}")), key)


def _with_value(key: str, value: str | None, labels: Mapping[str, str]) -> str:
    """Return the label of an option in quotation marks, with the plain words of its value."""
    label = f"\u201c{label_of(key, labels)}\u201d"
    value = (value or "").strip("'\"")
    plain_words = PLAIN.get(_full_key(key.replace("_", "-"), labels))
    words = plain_words.choices.get(value, value) if plain_words else value
    return f"{label}: {words}" if words and not words.isupper() else label


def plain(text: str, labels: Mapping[str, str]) -> str:
    """Return a message of a command in the words of the page: it names fields, and no options.

    Args:
        text: one line.
        labels: of all fields of the form, by key.
    """

    def choice(match: re.Match[str]) -> str:
        plain_words = PLAIN.get(match[1])
        is_choice = plain_words is not None and match[2] in plain_words.choices
        return _with_value(match[1], match[2], labels) if is_choice else match[0]

    def switch(match: re.Match[str]) -> str:
        outer, inner, value = match.groups()
        key = f"{outer}.{inner}" if f"{outer}.{inner}" in labels else inner or outer
        return _with_value(key, value, labels)

    def argument(match: re.Match[str]) -> str:
        return _with_value(match[1], match[2], labels)

    def option_name(match: re.Match[str]) -> str:
        key = match[0].replace("_", "-")
        is_option = key in labels or any(full.endswith(f".{key}") for full in labels)
        return f"\u201c{label_of(key, labels)}\u201d" if is_option else match[0]

    text = _CHOICE.sub(choice, " ".join(text.split()))
    text = _ARGUMENT.sub(argument, _SWITCH.sub(switch, text))
    text = _EXAMPLE.sub(" to ", _COMPOUND.sub(option_name, text))
    text = _PYTHON_NAME.sub("\u201d", _METAVAR.sub("\u201d", text))
    for words, page_words in _PAGE_WORDS.items():
        text = re.sub(rf"(?<![\w\u201c]){words}(?!\w)", page_words, text)
    return text


def step_of(text: str, fields: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the step at which the cause of a message can be changed; None if it names no field.

    It is the step that the message names, else that of the first option that it names.

    Args:
        text: the message.
        fields: of the form, by key, see `form.Product.by_key`.
    """
    for name, (title, _) in STEPS.items():
        if f"\u201c{title}\u201d" in text:
            return name
    option_names = [next(filter(None, groups)) for groups in _OPTION_NAME.findall(text)]
    option_names += [
        word
        for word in re.findall(r"\w+", text)
        if len(word) > _LONGEST_COMMON_WORD and word in fields
    ]
    keys = [name.replace("_", "-") for name in option_names]
    inner_keys = [next((k for k in fields if k.endswith(f".{key}")), "") for key in keys]
    matching_keys = [key for key in inner_keys if key] + [key for key in keys if key in fields]
    return str(fields[matching_keys[0]]["step"]) if matching_keys else None
