"""The words of a report, for people who do not program.

Sentences about who is protected are in no other file of reports; `hazards` has the sentences of the
check list.
"""

from collections.abc import Mapping

from graphcuts_dp.privacy.privacy_unit import PrivacyUnit

# Headings of the first page, by the part of a report.
HEADINGS: Mapping[str, str] = {
    "published": "What was published",
    "unit": "Who is protected",
    "odds": "What a guess can gain",
    "errors": "How exact it is",
    "left_out": "What was left out",
    "not_guaranteed": "What is not guaranteed",
    "budget": "What is used up, and what is left",
    "origin": "By whom, when and for what purpose",
    "check": "Check code",
    "decision": "Decision",
}
HAZARDS = "Hazards of NIST SP 800-226"
ABOUT_HAZARDS = (
    "The hazards that NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees "
    "(March 2025), describes, in our words, each with its chapter. A tick has its evidence: "
    "numbers of this result and its receipt, or tests of the program (their files in brackets)."
)
YES, NO = "addressed", "not addressed"
# Words for kinds of uses whose names in a store are not for everybody.
KINDS_IN_WORDS = {
    "bound": "estimate of a limit on rows of a person",
    "contributions": "estimate of how many rows people have",
}
YOU_CHECK = "you check"  # mark of a hazard whose evidence is only that something is stated
# Headings of both parts of the check list, and the text below the second one.
CHECKED, ASKED = "The program checked", "You answer"
ABOUT_ASKED = "No program can know these. Fill them in by hand, or with the option --answers."
NOT_STATED = "not stated"
NO_GUARANTEE = "A seed was given: there is no guarantee, and a guess can become certain."
NOTHING_READ = "Nothing private was read, so nothing private can come out."
NO_UNIT = "The receipt names a privacy unit that this program does not know."
NOT_PRIVATE = (
    "NOT PRIVATE. A seed was given, so whoever guesses it can take the noise off: publish nothing "
    "of this."
)
NOT_GUARANTEED = (
    "Other results of the same data add up with this one, whoever publishes them.",
    "What holds of people in general may come out: that is what the numbers are for.",
    "Who keeps the private file, and the machine that reads it, are trusted.",
)
# On the store of a result. In the last sentence, "it" is the store, which is named before.
NO_STORE = "It was charged to no store: nothing limits further results of the same data."
NOT_COMPARED = "Made without the store of this result: ask for the report with --store."
NOT_RECORDED = "It agrees, but has not recorded these files, so that the code is not compared."
# One of these is about rows of the private table that could not be used.
ROWS_SKIPPED = "Rows that could not be used were skipped; how many is private."
ROWS_REFUSED = "No row was skipped: one that could not be used would have stopped the program."
ROWS_UNKNOWN = "Neither receipt nor store says whether rows that could not be used were skipped."
ROWS_IN_STORE = "The store says whether rows that could not be used were skipped."
# Dotted lines, to be filled in on paper.
TO_FILL_IN, _NAME_TO_FILL_IN, _DATE_TO_FILL_IN = "." * 40, "." * 26, "." * 14
DECISION = (
    f"Approved / not approved, by: {_NAME_TO_FILL_IN} Date: {_DATE_TO_FILL_IN}",
    f"Signature: {_NAME_TO_FILL_IN} Conditions, and until when: {_NAME_TO_FILL_IN}",
)
# On people whom rows name beside the user, and on what is public about rows.
OTHER_PEOPLE = (
    "Anyone else whom a row is about, such as a nurse in a patient's row, is not protected as a "
    "person: only each single row is, as one of those of its person."
)
PUBLIC_OF_ROWS = (
    "Not hidden: the names of all places (or of whatever the rows go between), public groups, "
    "periods, limits and all options."
)


def protected_people(unit: PrivacyUnit, column: str) -> tuple[str, ...]:
    """Return sentences on who is protected where all rows of a user are the unit.

    Args:
        unit: of kind "user".
        column: of the private file that names the users; "" if it is not known.
    """
    in_period = " in any one period" if unit.per_period else ""
    presence = "there are any" if unit.per_period else "the person is there at all"
    column_text = f"the column \u201c{column}\u201d" if column else "the column of users"
    rows = f"with all of that person's rows{in_period}: whether {presence}, and what the rows say."
    two_names = (
        "Somebody with two names in that column counts as two persons. Two persons together have "
        "twice epsilon."
    )
    return f"Protected is each person in {column_text} of the private file, {rows}", two_names


def of_people(unit: PrivacyUnit, text: str) -> str:
    """Return a text with "person" in place of "user", as in the rest of a report."""
    return text.replace("one user", "one person") if unit.kind == "user" else text


def columns_read(endpoints: tuple[str, ...], period: str) -> str:
    """Return a sentence on the columns of the endpoints, and on that of the dates.

    Args:
        endpoints: names of the columns.
        period: name of the column of the dates; "" if there is none.
    """
    columns = " to ".join(f"\u201c{name}\u201d" for name in endpoints)
    dated = f", dated by \u201c{period}\u201d" if period else ""
    return f"Columns: from {columns}{dated}."


def limit_chosen(unit: PrivacyUnit, answer: str) -> str:
    """Return a sentence on how the limit of a person's rows was chosen.

    Args:
        unit: of kind "user".
        answer: how the people in charge say that it was chosen; "" leaves space to write it.
    """
    person = "a person in each period" if unit.per_period else "a person"
    return (
        f"Limit of {unit.group_size:,} rows (or units of weight) {person}: the curator states that "
        "it was chosen without looking at the data, or by a choice that a store has charged: "
        f"{answer or TO_FILL_IN}"
    )


def other_results(other_accounts: str) -> tuple[str, ...]:
    """Return `NOT_GUARANTEED`, with the stores that the curator states to be of other people.

    Args:
        other_accounts: names of these stores; "" if nothing is stated.
    """
    if not other_accounts:
        return NOT_GUARANTEED
    stated = f"stores of other people, as the curator states: {other_accounts}"
    return (f"Other results of the same people add up; {stated}.", *NOT_GUARANTEED[1:])


def for_whom(unit: PrivacyUnit | None, privacy_unit: str, periods: int) -> str:
    """Return whom an epsilon is for, and for which periods together.

    Args:
        unit: None if it is unknown.
        privacy_unit: the unit in the words of the receipt.
        periods: number of published periods; 0 if there are none.
    """
    if unit is None or unit.kind != "user":
        return f"for {privacy_unit}"
    if unit.per_period:
        times = f": with rows in all {periods:,} of them, {periods:,} times as much"
        return f"for each person in each period by itself{times if periods > 1 else ''}"
    return "for each person" + (f" in all {periods:,} periods together" if periods > 1 else "")
