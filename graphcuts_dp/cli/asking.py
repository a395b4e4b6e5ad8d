"""`graphcuts-dp plan --ask`: questions, and the commands to type that the answers lead to.

Of the private file the head is read, which names its columns, and no row; public files are read
whole. What the header and earlier answers suggest stands in brackets, and an empty line takes it. A
wrong answer is asked again with what was wrong, "back" returns to the question before, and all
other answers stay. The commands can be typed as they are, and keep account of what they spend.

Where the first line may be a row, the dialogue asks whether it names the columns. Until then, and
whatever the answer is, it shows no word of it that is not a usual name of a column.

`Dialogue` asks those of `plan_questions.questions` that apply, in order. `proposals` makes of the
answers a command, and the error at each epsilon, by formulas and dry runs. If noise exceeds what an
answer measures, the report begins with a warning: nothing is spent at that time.
"""

import shlex
from dataclasses import replace
from fractions import Fraction

from graphcuts_dp.cli.console import Report
from graphcuts_dp.cli.dialogue import Answers, Dialogue
from graphcuts_dp.cli.options import spelled
from graphcuts_dp.cli.plan_answers import (
    DIGITS,
    LARGE,
    RESULTS_IN_BUDGET,
    epsilon_of,
    hidden_warning,
)
from graphcuts_dp.cli.plan_questions import questions
from graphcuts_dp.cli.proposals import (
    TEAM,
    Proposal,
    proposal_of,
    store_of,
    unit_of,
    unused,
)
from graphcuts_dp.cli.reading import PrivacyOptions, Reading
from graphcuts_dp.cli.spending import Spending, foreseen_refusal
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.options import described
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit

_KINDS_OF_OPTIONS = (PrivacyOptions, Reading, Spending)  # which the refusal of a store may name
_NOTHING = "No row of the private file was read, nothing spent; forecasts are by formulas."


def ask(path: str | None = None) -> Report:
    """Ask what a plan needs, and return the commands to type with their forecast.

    Args:
        path: of the private file, as if it were typed at the first question; None to ask for it.

    Raises:
        ParameterError: the answers end with one that is wrong, or before a question without a
            usual answer.
    """
    answers = Dialogue(questions()).run(path)
    proposal, unit, epsilon = proposal_of(answers), unit_of(answers), epsilon_of(answers)
    refusal = _refusal(answers, proposal, epsilon)
    if refusal:
        return _refused(answers, proposal, epsilon, refusal)
    return _proposed(proposal, unit, epsilon)


def _proposed(
    proposal: Proposal, unit: PrivacyUnit, epsilon: float, refusal: str = "", notice: str = ""
) -> Report:
    """Return the commands to type with their forecast.

    Args:
        proposal: the command.
        unit: its privacy unit.
        epsilon: of it.
        refusal: why a store refuses what was asked for, if this is a command beside it.
        notice: what to say first.
    """
    privacy = [proposal.spends, f"{epsilon:g}"]
    if (unit.kind, unit.group_size) != ("edge", 1):
        privacy += ["--privacy-unit", unit.typed]
    words = [*proposal.words, *privacy]
    lines = [shlex.join(["graphcuts-dp", *words])]
    warning = hidden_warning(proposal, epsilon)
    parts = [*[notice] * bool(notice), *[f"Warning: {warning}"] * bool(warning)]
    if proposal.counted_lines:
        parts.append(proposal.counted_lines)
    if proposal.dry_run is not None:
        lines.insert(0, shlex.join(["graphcuts-dp", *words, *proposal.dry_run]))
        guess = ""
        if proposal.assumed is not None:
            guess = f" ({proposal.assumed}: replace them by your guess)"
        parts.append(f"For a forecast, which reads no private file{guess}, type:\n\n  {lines[0]}\n")
    named = shlex.join(["graphcuts-dp", *words])
    purpose = "To compare all mechanisms at" if proposal.words[0] == "plan" else "To spend"
    parts.append(f"{purpose} epsilon = {epsilon:g}, type:\n\n  {named}\n")
    if proposal.afterwards:
        lines.append(shlex.join(["graphcuts-dp", *proposal.afterwards]))
        parts.append(f"Afterwards ask, as often as you like:\n\n  {lines[-1]}\n")
    if proposal.later:
        parts.append(proposal.later)
    explained = unit.explain(epsilon=epsilon).sentences
    error = up_to_digits(proposal.error_at(epsilon), DIGITS)
    forecast = (
        f"Forecast: at epsilon = {epsilon:g} the error of {proposal.error_of} is at most "
        f"{error:,g} {proposal.counted} ({DEFAULT_PERCENT})."
    )
    if proposal.assumed is not None and proposal.dry_run is None:
        forecast += f" For that, {proposal.assumed}."
    if proposal.size is None and proposal.cells is not None:
        forecast += (
            f" With fewer than about {error * proposal.cells:,.3g} {proposal.counted} in all, most "
            "of the table is noise."
        )
    if proposal.table_error_at is not None:
        table_error = up_to_digits(proposal.table_error_at(epsilon), DIGITS)
        forecast += (
            f" A table of the sums between the groups alone (`flows`) would be off by "
            f"{table_error:,g}."
        )
    parts += [
        forecast,
        f"The guarantee: {explained['The guarantee']}",
        f"Strength: {explained['Strength']}",
    ]
    if epsilon >= LARGE:
        parts.append(
            f"That is weak: an epsilon of {epsilon:g} hides little. Allow more error, or "
            "take a smaller privacy unit."
        )
    facts = {
        "command": named,
        "commands": lines,
        "counted": proposal.counted_lines,
        "epsilon": epsilon,
        "error": error,
        "error_of": proposal.error_of,
        "privacy_unit": str(unit),
        "private_rows_read": False,
        "refusal": refusal,
        "warning": warning,
    }
    return Report(facts, parts, [_NOTHING])


def _refused(answers: Answers, proposal: Proposal, epsilon: float, refusal: str) -> Report:
    """Return what to change where a store would refuse the command, which is not printed."""
    path = store_of(answers)
    if not _refusal(answers, proposal, 0.0):  # only the budget is in the way
        change = (
            f"{refusal}\n\nNo command is printed, as the budget of {path} limits what these data "
            "reveal. Start again and allow more error, or stop here: what was published can still "
            "be asked, for nothing, by `graphcuts-dp answer`."
        )
        facts = {"command": "", "commands": [], "epsilon": epsilon, "refusal": refusal}
        return Report({**facts, "private_rows_read": False, "warning": ""}, [change], [_NOTHING])
    new = unused(path)
    beside = [
        *("--store", new, "--budget", f"{RESULTS_IN_BUDGET * epsilon:g}"),
        *("--separate-budget", "REASON"),
    ]
    at = proposal.words.index("--store")
    words = [*proposal.words[:at], *beside, *proposal.words[at + 2 :]]
    afterwards = [new if word == path else word for word in proposal.afterwards]
    notice = (
        f"{refusal}\n\nTo stay with {path}, start again and answer as its results did. The command "
        f"below has a new store, {new}, instead: what both spend on these data adds up, and no "
        "store knows of the sum. Type it only if that is right, with your reason in place of "
        "REASON; or stop here."
    )
    other = replace(proposal, words=words, afterwards=afterwards)
    return _proposed(other, unit_of(answers), epsilon, refusal, notice)


def _refusal(answers: Answers, proposal: Proposal, epsilon: float) -> str:
    """Return why a store that is there would refuse the command at this cost; else "".

    It asks what the store tells without the private rows. Options are named as they are typed.
    """
    if answers["data"] is None or answers["who"] == TEAM:
        return ""
    store = Store(store_of(answers))
    if not store.exists:
        return ""
    guarantee = PrivacyGuarantee(
        epsilon=epsilon_of(answers), neighbours="", privacy_unit=str(unit_of(answers))
    )
    refusal = foreseen_refusal(
        store,
        guarantee=guarantee,
        cost=Cost.of_pure(exact_epsilon(epsilon) if epsilon else Fraction(0)),
        periods=proposal.periods,
        data=proposal.data,
    )
    known = [option for kind in _KINDS_OF_OPTIONS for option in described(kind)]
    return str(spelled(ParameterError(refusal), known, [store.path]))
