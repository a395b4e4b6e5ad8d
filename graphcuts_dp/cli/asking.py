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

from graphcuts_dp.cli.console import Report
from graphcuts_dp.cli.dialogue import Answers, Dialogue
from graphcuts_dp.cli.plan_answers import DIGITS, epsilon_for, epsilon_of
from graphcuts_dp.cli.plan_questions import questions
from graphcuts_dp.cli.proposals import (
    TEAM,
    Proposal,
    proposal_of,
    store_of,
    unit_of,
)
from graphcuts_dp.cli.spending import foreseen_refusal
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon

_LARGE = 3.0  # an epsilon from which a guarantee is weak


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
    privacy = [proposal.spends, f"{epsilon:g}"]
    if (unit.kind, unit.group_size) != ("edge", 1):
        privacy += ["--privacy-unit", unit.typed]
    words = [*proposal.words, *privacy]
    lines = [shlex.join(["graphcuts-dp", *words])]
    warning = _hidden(proposal, epsilon)
    refusal = _refusal(answers, proposal, epsilon)
    parts = [*[f"Warning: {warning}"] * bool(warning), *[refusal] * bool(refusal)]
    if proposal.counted_lines:
        parts.append(proposal.counted_lines)
    if proposal.dry_run is not None:
        lines.insert(0, shlex.join(["graphcuts-dp", *words, *proposal.dry_run]))
        guess = "" if proposal.assumed is None else f" ({proposal.assumed})"
        parts.append(f"For a forecast, which reads no private file{guess}, type:\n\n  {lines[0]}\n")
    named = shlex.join(["graphcuts-dp", *words])
    purpose = "To compare all mechanisms at" if proposal.words[0] == "plan" else "To spend"
    parts.append(f"{purpose} epsilon = {epsilon:g}, type:\n\n  {named}\n")
    if proposal.afterwards:
        lines.append(shlex.join(["graphcuts-dp", *proposal.afterwards]))
        parts.append(f"Afterwards ask, as often as you like:\n\n  {lines[-1]}\n")
    explained = unit.explain(epsilon=epsilon).sentences
    error = up_to_digits(proposal.error_at(epsilon), DIGITS)
    forecast = (
        f"Forecast: at epsilon = {epsilon:g} the error of {proposal.error_of} is at most "
        f"{error:,g} {proposal.counted} ({DEFAULT_PERCENT})."
    )
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
    if epsilon >= _LARGE:
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
    nothing = "No row of the private file was read, nothing spent; forecasts are by formulas."
    return Report(facts, parts, [nothing])


def _refusal(answers: Answers, proposal: Proposal, epsilon: float) -> str:
    """Return why a store that is there would refuse the command; else "".

    It asks what the store tells without the private rows.
    """
    if answers["data"] is None or answers["who"] == TEAM:
        return ""
    store = Store(store_of(answers))
    if not store.exists:
        return ""
    guarantee = PrivacyGuarantee(epsilon=epsilon, neighbours="", privacy_unit=str(unit_of(answers)))
    return foreseen_refusal(
        store,
        guarantee=guarantee,
        cost=Cost.of_pure(exact_epsilon(epsilon)),
        periods=proposal.periods,
        data=proposal.data,
    )


def _hidden(proposal: Proposal, epsilon: float) -> str:
    """Return a warning if noise exceeds what an answer measures, and what to change; else ""."""
    if not proposal.is_hidden(epsilon) or proposal.size is None:
        return ""
    size, error = proposal.size, up_to_digits(proposal.error_at(epsilon), DIGITS)
    enough = epsilon_for(proposal, size)
    remedy = f"; epsilon = {enough:g} would be enough" if enough <= _LARGE else ""
    return (
        f"noise will hide most of this. {proposal.error_of[:1].upper()}{proposal.error_of[1:]} "
        f"is about {size:,.3g}, and may be off by {error:,g} {proposal.counted}. Before anything "
        f"is spent: {proposal.smaller}{remedy}."
    )
