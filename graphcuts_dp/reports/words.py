"""The words of a report, which people read who do not program.

It is the only file of reports with sentences about who is protected; `hazards` has those of the
check list.
"""

from collections.abc import Mapping

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
}
HAZARDS = "Hazards of NIST SP 800-226"
ABOUT_HAZARDS = (
    "The hazards that NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees "
    "(March 2025), describes, in our words, each with its chapter. A tick has its evidence: "
    "numbers of this result and its receipt, and files of the source of the program."
)
YES, NO = "addressed", "not addressed"
CHECKED, ASKED = "The program checked", "You answer"
ABOUT_ASKED = "No program can know these. Fill them in by hand, or with the option --answers."
NOT_STATED = "not stated"
NO_GUARANTEE = "A seed was given: there is no guarantee, and a guess can become certain."
NOTHING_READ = "Nothing private was read, so nothing private can come out."
NO_UNIT = "the receipt names a privacy unit that this program does not know"
NOT_PRIVATE = (
    "NOT PRIVATE. A seed was given, so whoever guesses it can take the noise off: publish nothing "
    "of this."
)
OTHERS = (
    "Other results of the same data add up with this one, whoever publishes them.",
    "What holds of people in general may come out: that is what the numbers are for.",
    "Who keeps the private file, and the machine that reads it, are trusted.",
)
# What the noise does not cover of the reading of a table.
ROWS_SKIPPED = "Rows that could not be used were skipped; how many is private."
ROWS_REFUSED = "No row was skipped: one that could not be used would have stopped the program."
ROWS_UNKNOWN = "The receipt does not say whether rows that could not be used were skipped."
NO_STORE = "It was charged to no store: nothing limits further results of the same data."
NOT_RECORDED = "It agrees, but has not recorded these files, so that the code is not compared."
