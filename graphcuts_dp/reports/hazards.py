"""The check list of a report: hazards of NIST SP 800-226, each with its evidence or as open.

Source: NIST SP 800-226, *Guidelines for Evaluating Differential Privacy Guarantees*, March 2025,
https://doi.org/10.6028/NIST.SP.800-226. Its pyramid has the guarantee on top (chapter 2), the
algorithms below (chapter 3), and the deployment at the bottom (chapter 4). The names of hazards
here are ours, by these chapters; the publication has no numbered list.

A hazard is *addressed* if there is evidence in numbers of the receipt, the result or the store, or
in a file of the source that a test looks for. Nothing is addressed by default. What no program can
know, such as who may read the private file, is a question for people: the report has their
`HazardAnswers` as they were typed, and space for answers that are missing. An answer never makes a
hazard addressed.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import final

from graphcuts_dp.display import printable, up_to_digits
from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.options import check, described, option
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.reports.contents import ReleaseContents, counted, listed
from graphcuts_dp.session.transcript import LedgerStatus

GUARANTEE, ALGORITHM, DEPLOYMENT = "2 The guarantee", "3 The algorithms", "4 The deployment"
STRONG_EPSILON = 1.0  # up to which docs/privacy.md calls a guarantee strong
LARGEST_DELTA = 1e-5  # above, SP 800-226 calls a delta suspicious; it also asks for 1/n^2
_TESTED_COSTS = "tests/privacy/test_stated_costs.py"
_AUDITS = "tests/audits/test_audit_registry.py"
_SAMPLERS = "tests/privacy/test_samplers.py"
_SIDE_CHANNELS = "tests/attacks/test_side_channels.py"
_NO_CELL = "tests/attacks/test_no_cell_is_quoted.py"
SECURITY = "SECURITY.md"
# Files of the source that evidence names.
EVIDENCE_FILES = (_TESTED_COSTS, _AUDITS, _SAMPLERS, _SIDE_CHANNELS, _NO_CELL, SECURITY)
ANSWERS_FILE = "report-answers.json"  # beside a result of the page; public
LONGEST_ANSWER = 120  # characters: all answers of this length fit on the second sheet
_WHOLE_PEOPLE = ("user", "person", "vertex")  # kinds of privacy units that may be whole people
# Hazards whose evidence is that something is stated, which a reader has to check.
_ONLY_STATED = (
    "Parameters that are not stated",
    "Errors that are not stated",
    "A unit that is less than a person",
)
Finding = tuple[bool, str]  # whether a hazard is addressed, and the evidence
_SEEDED: Finding = (False, "a seed was given, so there is no guarantee")
# Files of the source by the hazards whose evidence rests on them.
_FILES: dict[str, tuple[str, ...]] = {
    "Claims without proof or test": (_TESTED_COSTS, _AUDITS),
    "Floating point, weak randomness": (_SAMPLERS,),
    "Timing and other side channels": (SECURITY,),
    "Error messages and logs": (_SIDE_CHANNELS, _NO_CELL),
}
# Hazards whose evidence does not count if a seed was given.
_VOID_IF_SEEDED = (
    "Claims without proof or test",
    "Floating point, weak randomness",
    "Error messages and logs",
)
# Fields of `HazardAnswers` by the hazards that they are about.
_ANSWER_FIELDS = {
    "An epsilon too large": "why_epsilon",
    "Several people together": "families",
    "Statistical bias": "complete",
    "Other publications of the same data": "other_results",
    "Systemic bias, small groups": "small_groups",
    "Human bias, impossible numbers": "readers",
    "Bounds chosen from the data": "bounds",
    "Trust in who holds the data": "custody",
    "Timing and other side channels": "watchers",
    "Access to the private data": "access",
    "More data collected than needed": "collection",
}


@final
@dataclass(frozen=True, kw_only=True)
class HazardAnswers:
    """Answers of people, in a few words, about hazards of which no program can know.

    Attributes:
        families: whether something about people who belong together may be inferred.
        complete: whether readers will take the numbers as complete and unbiased.
        other_results: what else was published of the same people.
        other_accounts: which other stores are of other people; it stands on the first page.
        small_groups: who has checked that numbers of small groups are still of use.
        readers: who explains noisy numbers to those who read them.
        bounds: how a bound on contributions or weights was chosen without looking at the data.
        custody: who runs the program, and so can read the private file.
        watchers: who else could have watched how long a run took.
        access: who may read the private file and the store.
        collection: what is done to collect less.
        legal_basis: on what legal basis the data are used; it stands on the first page.
        why_epsilon: why this epsilon was chosen, and the budget; it stands on the first page.

    Raises:
        ParameterError: an answer is no line of at most 120 characters.
    """

    families: str = option(
        "",
        help="Can something be concluded about families, or others who travel together, although "
        "nothing can about one person?",
    )
    complete: str = option("", help="Will a reader take the numbers as complete?")
    other_results: str = option("", help="What else was published of the same people?")
    other_accounts: str = option("", help="Which other stores are of other people?")
    small_groups: str = option("", help="Who checked that numbers of small groups are of use?")
    readers: str = option("", help="Who explains noisy numbers to those who read them?")
    bounds: str = option("", help="How was the bound chosen, without looking at the data?")
    custody: str = option("", help="Who runs the program, and so can read the private file?")
    watchers: str = option("", help="Who else could watch how long a run takes?")
    access: str = option("", help="Who may read the private file and the store?")
    collection: str = option("", help="What is done to collect less, and to delete it?")
    legal_basis: str = option("", help="On what legal basis are the private data used?")
    why_epsilon: str = option("", help="Why this epsilon, and this budget?")

    def __post_init__(self) -> None:
        check(self)
        for about in described(type(self)):
            text = getattr(self, about.name)
            if not text.isprintable() or len(text) > LONGEST_ANSWER:
                raise ParameterError(
                    f"{about.key} must be one line of at most {LONGEST_ANSWER} characters"
                )


def answers_beside(result: Path) -> HazardAnswers:
    """Return the answers that the page wrote beside a result; empty ones where there are none.

    Args:
        result: the released file, or its receipt.

    Raises:
        FileFormatError: their file is damaged.
    """
    try:
        return HazardAnswers(**json.loads((result.parent / ANSWERS_FILE).read_bytes()))
    except FileNotFoundError:
        return HazardAnswers()
    except (OSError, TypeError, ValueError, ParameterError):
        raise FileFormatError(
            f"{ANSWERS_FILE} is damaged: delete it, and open the result"
        ) from None


@final
@dataclass(frozen=True, kw_only=True)
class ReportBasis:
    """The public facts that a report is computed from.

    Attributes:
        guarantee: of the release, or of all uses of a store together.
        unit: of the guarantee; None if nothing private was read, or it is unknown.
        contents: of the result, in words.
        status: what the store has recorded; None if no store was named.
        answers: of sessions, the number of answers so far, and their largest number; None for
            releases.
        answers_of_people: answers of people to questions that no program can answer.
    """

    guarantee: PrivacyGuarantee
    unit: PrivacyUnit | None
    contents: ReleaseContents
    status: LedgerStatus | None = None
    answers: tuple[int, int] | None = None
    answers_of_people: HazardAnswers = field(default_factory=HazardAnswers)


@final
@dataclass(frozen=True, kw_only=True)
class Hazard:
    """A line of the check list.

    Attributes:
        name: in a few words.
        chapter: of SP 800-226.
        addressed: whether the evidence shows that it is addressed.
        evidence: why it is, or why it is not.
        files: of the source, that the evidence rests on.
        question: for people, if no program can answer it; "" if the program has checked.
        answer: of people; "" if it is missing.
        only_stated: whether the evidence is that something is stated, which a reader has to check.
    """

    name: str
    chapter: str
    addressed: bool
    evidence: str
    files: tuple[str, ...] = ()
    question: str = ""
    answer: str = ""
    only_stated: bool = False


def hazards_of(basis: ReportBasis) -> tuple[Hazard, ...]:
    """Return the whole check list, in the order of the chapters.

    Args:
        basis: facts that the report is computed from.
    """
    seeded = not basis.guarantee.is_private
    questions = {about.name: about.help for about in described(HazardAnswers)}
    hazards = []
    for chapter, name, finding in _checks():
        has_no_guarantee = seeded and chapter == GUARANTEE
        addressed, evidence = _SEEDED if has_no_guarantee else finding(basis)
        files = () if seeded and name in _VOID_IF_SEEDED else _FILES.get(name, ())
        hazard = Hazard(
            name=name,
            chapter=chapter,
            addressed=addressed,
            evidence=evidence,
            files=files,
            only_stated=name in _ONLY_STATED,
        )
        answer_field = "" if addressed or has_no_guarantee else _ANSWER_FIELDS.get(name, "")
        if answer_field:
            answer = getattr(basis.answers_of_people, answer_field)
            hazard = replace(hazard, question=questions[answer_field], answer=answer)
        hazards.append(hazard)
    return tuple(hazards)


def _checks() -> tuple[tuple[str, str, Callable[[ReportBasis], Finding]], ...]:
    """Return the chapter and the name of each hazard, with the function that finds its evidence."""
    return (
        (GUARANTEE, "An epsilon too large", _large_epsilon),
        (GUARANTEE, "A delta too large", _large_delta),
        (GUARANTEE, "A unit that is less than a person", _small_unit),
        (GUARANTEE, "Whether somebody is in the data", _presence),
        (GUARANTEE, "Several people together", _several_people),
        (GUARANTEE, "Parameters that are not stated", _parameters),
        (GUARANTEE, "Several results add up", _composition),
        (GUARANTEE, "Other publications of the same data", _other_releases),
        (GUARANTEE, "Post-processing that reads data again", _post_processing),
        (ALGORITHM, "Claims without proof or test", _claims),
        (ALGORITHM, "Errors that are not stated", _utility),
        (ALGORITHM, "Systemic bias, small groups", _systemic_bias),
        (ALGORITHM, "Human bias, impossible numbers", _human_bias),
        (ALGORITHM, "Statistical bias", _statistical_bias),
        (ALGORITHM, "Bounds chosen from the data", _tuned_bounds),
        (DEPLOYMENT, "Endless questions", _queries),
        (DEPLOYMENT, "Trust in who holds the data", _trust),
        (DEPLOYMENT, "Floating point, weak randomness", _randomness),
        (DEPLOYMENT, "Timing and other side channels", _timing),
        (DEPLOYMENT, "Error messages and logs", _messages),
        (DEPLOYMENT, "Access to the private data", _access),
        (DEPLOYMENT, "More data collected than needed", _collection),
    )


def _large_epsilon(basis: ReportBasis) -> Finding:
    epsilon, scope = basis.guarantee.epsilon, "of this result alone"
    if basis.status is not None:
        epsilon, scope = max(epsilon, basis.status.epsilon), "of all results in the store"
    stated = f"epsilon = {up_to_digits(epsilon, 4):g} {scope}"
    if epsilon <= STRONG_EPSILON:
        return True, f"{stated}; that is not above {STRONG_EPSILON:g}, which is often asked for"
    return False, f"{stated} is above {STRONG_EPSILON:g}, up to which it is often called strong"


def _large_delta(basis: ReportBasis) -> Finding:
    delta, vertices = basis.guarantee.delta, basis.contents.vertices
    if not delta:
        return True, "the guarantee holds without exception (delta = 0)"
    limit, limit_text = LARGEST_DELTA, f"{LARGEST_DELTA:g}"
    if vertices and vertices**-2.0 < limit:
        limit, limit_text = vertices**-2.0, f"1 in the square of {vertices:,} vertices"
    comparison = "at most" if delta <= limit else "above"
    return delta <= limit, f"delta = {delta:g} is {comparison} {limit_text}"


def _small_unit(basis: ReportBasis) -> Finding:
    unit, words = basis.unit, basis.guarantee.privacy_unit
    if unit is None:
        return False, "the privacy unit is not known"
    if unit.kind in _WHOLE_PEOPLE and not unit.per_period:
        return True, f"the unit is {words.replace('user', 'person')}, with all that belongs to it"
    return False, f"the unit is {words}: who has 20 of these has 20 times epsilon"


def _presence(basis: ReportBasis) -> Finding:
    if "added or removed" in basis.guarantee.neighbours:
        return True, "neighbours differ by one unit that is added or removed"
    return False, f"public is {basis.guarantee.public}, so who is in it is not hidden"


def _several_people(basis: ReportBasis) -> Finding:
    unit = basis.unit
    if unit is not None and unit.kind in ("edge", "person") and unit.group_size > 1:
        return True, f"the unit is {unit}: {unit.group_size:,} together have the guarantee"
    return False, "two units that act or are looked at together have twice epsilon"


def _parameters(basis: ReportBasis) -> Finding:
    guarantee = basis.guarantee
    rho = "" if guarantee.rho is None else f", rho = {guarantee.rho:.3g}"
    stated = f"epsilon = {guarantee.epsilon:g}, delta = {guarantee.delta:g}{rho}"
    return bool(guarantee.neighbours), f"{stated}, the unit and its neighbours are in the receipt"


def _composition(basis: ReportBasis) -> Finding:
    status, provenance = basis.status, basis.guarantee.provenance
    if status is None:
        if provenance is None or not provenance.store:
            return False, "no store keeps account of what is spent on these data"
        return False, f"charged to store {printable(provenance.store)[:8]}, which was not compared"
    account = f"{counted(len(status.uses), 'result')} in store {status.store[:8]}, with epsilon = "
    account += f"{up_to_digits(status.epsilon, 4):g}"
    if status.budget is None:
        return False, f"{account}, and no budget limits them"
    return not status.seeded, f"{account} of a budget of {status.budget}"


def _other_releases(basis: ReportBasis) -> Finding:
    del basis
    return False, "other results of the same people add up with this one"


def _post_processing(basis: ReportBasis) -> Finding:
    plan, shares = basis.guarantee.budget_plan, basis.guarantee.spent
    if not basis.guarantee.is_private:
        return False, "the noise is known to who knows the seed"
    if plan is None:
        return False, "the receipt does not list what was measured"
    measured = listed(f"{name} ({epsilon:.3g})" for name, epsilon in shares) or "one statistic"
    return True, f"all that was read is charged: {measured}; the rest reads noisy numbers alone"


def _claims(basis: ReportBasis) -> Finding:
    if not basis.guarantee.is_private:
        return False, "a seed was given"
    noises = f"noise: {', '.join(basis.contents.noises)}; " if basis.contents.noises else ""
    return True, f"{noises}tests compare the stated cost with a proof, and audits attack it"


def _utility(basis: ReportBasis) -> Finding:
    stated = [text for _, text in basis.contents.errors if "nothing is proven" not in text]
    if not stated:
        return False, "no error is stated"
    return True, f"the first page has {counted(len(stated), 'error')}, or intervals"


def _systemic_bias(basis: ReportBasis) -> Finding:
    numbers = basis.contents.small_numbers
    noise = "the same noise weighs more on small groups"
    return False, f"{noise}; {numbers}" if numbers else noise


def _human_bias(basis: ReportBasis) -> Finding:
    impossible = basis.contents.impossible
    if not impossible:
        return False, "readers may take noise for facts"
    return False, f"{impossible}; readers may distrust them"


def _statistical_bias(basis: ReportBasis) -> Finding:
    contents = basis.contents
    if not contents.unbiased:
        return False, contents.biased or "the result does not say whether it is unbiased"
    return True, "; ".join(filter(None, (contents.unbiased, contents.biased)))


def _tuned_bounds(basis: ReportBasis) -> Finding:
    unit = basis.unit
    weighted = "weight" in basis.guarantee.neighbours
    if unit is not None and unit.kind in ("edge", "person") and not weighted:
        return True, "no bound on contributions or weights was needed"
    return False, "a bound that was chosen after looking at the data tells of them"


def _queries(basis: ReportBasis) -> Finding:
    if basis.answers is not None:
        answer_count, most = basis.answers
        return (
            True,
            f"asked one by one: {counted(answer_count, 'answer')} so far, of at most {most:,}",
        )
    return True, "not interactive: what is in the files answers further questions without the data"


def _trust(basis: ReportBasis) -> Finding:
    del basis
    return False, "central model: whoever ran the program could read the private file"


def _randomness(basis: ReportBasis) -> Finding:
    if not basis.guarantee.is_private:
        return False, "a seed was given, so the noise can be taken off"
    return True, "whole units of noise from the system's generator, no seed"


def _timing(basis: ReportBasis) -> Finding:
    del basis
    return False, "time and memory of a run depend on the data"


def _messages(basis: ReportBasis) -> Finding:
    if not basis.guarantee.is_private:
        return False, "a seed was given"
    return True, "tests find no private value in messages that others see, nor in logs"


def _access(basis: ReportBasis) -> Finding:
    del basis
    return False, "whoever can read the files needs no guess"


def _collection(basis: ReportBasis) -> Finding:
    del basis
    return False, "what is not collected cannot come out"
