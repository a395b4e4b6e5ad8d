"""`graphcuts-dp plan --ask`: questions, and the commands to type that the answers lead to.

1. `Dialogue` asks those of `plan_questions.questions` that apply, in order. `plan_help` has what
   "?" explains, and `plan_answers` reads what is typed.
2. `proposals.proposal_of` turns the answers into a command, with its error at each epsilon by
   formulas and dry runs.
3. If a store exists, it is asked whether it would refuse that command.
4. The report has the commands, which can be typed as they are and charge a store. It begins with a
   warning if noise exceeds a typical answer.

Only the head of the private file is read, which names its columns; public files are read whole. If
the first line may be a row, the dialogue asks whether it names the columns. Until then, and
whatever the answer is, it shows no word of that line that is not a usual name of a column.
"""

import shlex
from dataclasses import replace
from fractions import Fraction

from graphcuts_dp.cli.console import Report
from graphcuts_dp.cli.dialogue import Answers, Dialogue
from graphcuts_dp.cli.options import spelled_as_typed
from graphcuts_dp.cli.plan_answers import (
    DIGITS,
    LARGE_EPSILON,
    RESULTS_IN_BUDGET,
    epsilon_of,
    noise_warning,
)
from graphcuts_dp.cli.plan_choices import (
    TEAM,
    store_of,
    unit_of,
)
from graphcuts_dp.cli.plan_questions import questions
from graphcuts_dp.cli.proposals import (
    Proposal,
    proposal_of,
    unused,
)
from graphcuts_dp.cli.reading import PrivacyOptions, Reading
from graphcuts_dp.cli.spending import Spending, expected_refusal
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.options import described
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit

_OPTION_CLASSES = (PrivacyOptions, Reading, Spending)  # have the options that a store may name
_NOTHING_READ = "No row of the private file was read, nothing spent; forecasts are by formulas."
_FREE = Cost.of_pure(Fraction(0))


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
    refusal = _refusal(answers, proposal, Cost.of_pure(exact_epsilon(epsilon)))
    if not refusal:
        return _report(proposal, unit, epsilon)
    if not _refusal(answers, proposal, _FREE):  # only the budget is in the way
        return _report_of_spent_budget(store_of(answers), epsilon, refusal)
    return _report_with_new_store(answers, proposal, refusal)


def _refusal(answers: Answers, proposal: Proposal, cost: Cost) -> str:
    """Return why the store would refuse the command at a cost; "" if it would not, or is missing.

    The store answers without the private rows. Options are named as they are typed.
    """
    if answers["data"] is None or answers["who"] == TEAM:
        return ""
    store = Store(store_of(answers))
    if not store.exists:
        return ""
    refusal = expected_refusal(
        store,
        guarantee=PrivacyGuarantee(
            epsilon=epsilon_of(answers), neighbours="", privacy_unit=str(unit_of(answers))
        ),
        cost=cost,
        periods=proposal.periods,
        data=proposal.empty_data,
    )
    known = [option for kind in _OPTION_CLASSES for option in described(kind)]
    return str(spelled_as_typed(ParameterError(refusal), known, [store.path]))


def _report(
    proposal: Proposal, unit: PrivacyUnit, epsilon: float, refusal: str = "", notice: str = ""
) -> Report:
    """Return the commands to type with their forecast.

    Args:
        proposal: the command.
        unit: its privacy unit.
        epsilon: its privacy parameter.
        refusal: why the store of the data refuses the answers, if the command has another store.
        notice: what to say first.
    """
    privacy = [proposal.epsilon_option, f"{epsilon:g}"]
    if (unit.kind, unit.group_size) != ("edge", 1):
        privacy += ["--privacy-unit", unit.typed]
    words = [*proposal.words, *privacy]
    command = _typed(words)
    commands = [command]
    warning = noise_warning(proposal, epsilon)
    parts = [notice] if notice else []
    if warning:
        parts.append(f"Warning: {warning}")
    if proposal.counting_note:
        parts.append(proposal.counting_note)
    if proposal.dry_run is not None:
        commands.insert(0, _typed([*words, *proposal.dry_run]))
        guess = ""
        if proposal.assumed is not None:
            guess = f" ({proposal.assumed}: replace them by your guess)"
        parts.append(
            f"For a forecast, which reads no private file{guess}, type:\n\n  {commands[0]}\n"
        )
    purpose = "To compare all mechanisms at" if proposal.words[0] == "plan" else "To spend"
    parts.append(f"{purpose} epsilon = {epsilon:g}, type:\n\n  {command}\n")
    if proposal.afterwards:
        commands.append(_typed(proposal.afterwards))
        parts.append(f"Afterwards ask, as often as you like:\n\n  {commands[-1]}\n")
    if proposal.next_periods:
        parts.append(proposal.next_periods)
    error = up_to_digits(proposal.error_at(epsilon), DIGITS)
    guarantee = unit.explain(epsilon=epsilon).sentences
    parts += [
        _forecast(proposal, epsilon, error),
        f"The guarantee: {guarantee['The guarantee']}",
        f"Strength: {guarantee['Strength']}",
    ]
    if epsilon >= LARGE_EPSILON:
        parts.append(
            f"That is weak: an epsilon of {epsilon:g} hides little. Allow more error, or "
            "take a smaller privacy unit."
        )
    facts = {
        "command": command,
        "commands": commands,
        "counted": proposal.counting_note,
        "epsilon": epsilon,
        "error": error,
        "error_of": proposal.error_of,
        "privacy_unit": str(unit),
        "private_rows_read": False,
        "refusal": refusal,
        "warning": warning,
    }
    return Report(facts, parts, [_NOTHING_READ])


def _typed(words: list[str]) -> str:
    return shlex.join(["graphcuts-dp", *words])


def _forecast(proposal: Proposal, epsilon: float, error: float) -> str:
    """Return sentences on the error, and on how much of the result is noise."""
    items = proposal.counted_items
    guaranteed = (
        f"Forecast: at epsilon = {epsilon:g} the error of {proposal.error_of} is at most "
        f"{error:,g} {items} ({DEFAULT_PERCENT})."
    )
    sentences = [guaranteed]
    if proposal.assumed is not None and proposal.dry_run is None:
        sentences.append(f"For that, {proposal.assumed}.")
    if proposal.typical_value is None and proposal.cells is not None:
        sentences.append(
            f"With fewer than about {error * proposal.cells:,.3g} {items} in all, most of the "
            "table is noise."
        )
    if proposal.table_error_at is not None:
        table_error = up_to_digits(proposal.table_error_at(epsilon), DIGITS)
        sentences.append(
            f"A table of the sums between the groups alone (`flows`) would be off by "
            f"{table_error:,g}."
        )
    return " ".join(sentences)


def _report_of_spent_budget(path: str, epsilon: float, refusal: str) -> Report:
    """Return what to do if the budget of a store does not suffice; it has no command."""
    advice = (
        f"{refusal}\n\nNo command is printed, as the budget of {path} limits what these data "
        "reveal. Start again and allow more error, or stop here: what was published can still "
        "be asked, for nothing, by `graphcuts-dp answer`."
    )
    facts = {
        "command": "",
        "commands": [],
        "epsilon": epsilon,
        "private_rows_read": False,
        "refusal": refusal,
        "warning": "",
    }
    return Report(facts, [advice], [_NOTHING_READ])


def _report_with_new_store(answers: Answers, proposal: Proposal, refusal: str) -> Report:
    """Return the command with a new store, as that of the data refuses what was answered."""
    path, epsilon = store_of(answers), epsilon_of(answers)
    new_path = unused(path)
    store_option = proposal.words.index("--store")
    words = [
        *proposal.words[:store_option],
        *("--store", new_path, "--budget", f"{RESULTS_IN_BUDGET * epsilon:g}"),
        *("--separate-budget", "REASON"),
        *proposal.words[store_option + 2 :],
    ]
    afterwards = [new_path if word == path else word for word in proposal.afterwards]
    notice = (
        f"{refusal}\n\nTo stay with {path}, start again and answer as its results did. The command "
        f"below has a new store, {new_path}, instead: what both spend on these data adds up, and "
        "no store knows of the sum. Type it only if that is right, with your reason in place of "
        "REASON; or stop here."
    )
    with_new_store = replace(proposal, words=words, afterwards=afterwards)
    return _report(with_new_store, unit_of(answers), epsilon, refusal, notice)
