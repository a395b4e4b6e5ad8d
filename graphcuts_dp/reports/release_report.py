"""Compute a report as data: on a saved result (`report_of`), or on a store (`report_of_store`).

A report reads the receipt, the released files and, if one is named, the record of the store, and no
private rows. `rendering` writes it as a page or as text, `registry` as an entry of the registry of
deployments.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any, final

from graphcuts_dp.display import down_to_digits, printable, short_bound, up_to_digits
from graphcuts_dp.errors import FileFormatError, GraphCutsError, LedgerError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.ledger.opening import Store, open_ledger
from graphcuts_dp.ledger.uses import Use
from graphcuts_dp.options import read_options
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON, PrivacyGuarantee
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit, stated_unit
from graphcuts_dp.privacy.provenance import Provenance
from graphcuts_dp.release.receipt_check import check_receipt
from graphcuts_dp.reports import words
from graphcuts_dp.reports.contents import (
    INTERACTIVE,
    SUMMARY,
    ReleaseContents,
    contents_of,
    counted,
    listed,
    short_text,
)
from graphcuts_dp.reports.hazards import Hazard, HazardAnswers, ReportBasis, hazards_of
from graphcuts_dp.results.bundle import (
    KINDS,
    check_files,
    guarantee_of,
    load,
    read_receipt,
    sha256_of,
)
from graphcuts_dp.schema.columns import TAIL, Column, Columns
from graphcuts_dp.session.transcript import LedgerStatus, export_ledger, store_status

_CODE_DIGITS = 16  # hexadecimal digits of a check code: 64 bits
_CODE_GROUP = 4  # of these digits, between hyphens
_DIGITS = 4  # significant digits of an epsilon
_MOST_USES = 4  # uses of a store that a report names; it counts earlier ones
_LONGEST_STATED = 500  # characters of an author or a purpose, as in a provenance
_LONGEST_COLUMN = 36  # characters of the name of a column
_COLUMNS_OPTION = "--columns"  # option of commands, which a store records with a use
# Errors that a receipt with the right digest and meaningless fields raises.
_UNREADABLE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, GraphCutsError)


@final
@dataclass(frozen=True, kw_only=True)
class ColumnsRead:
    """Names of the columns of the private file that were read, as far as they are recorded.

    Attributes:
        user: column of the users; "" if there is none, or it is not known.
        period: column of the dates; "" if there is none, or it is not known.
        endpoints: columns of the two endpoints; empty if they are not known.
    """

    user: str = ""
    period: str = ""
    endpoints: tuple[str, ...] = ()


@final
@dataclass(frozen=True, kw_only=True)
class ReleaseReport:
    """The content of a report of two sheets: one on a release, and a check list on the second.

    Attributes:
        title: in a few words.
        names: of the files of the result, or of the store.
        published: sentences on what was published.
        unit: sentences on whom the guarantee is for.
        odds: sentences on the odds of a guess; one if nothing private was read.
        errors: pairs of what is reported and how exact it is.
        left_out: sentences on what the numbers leave out.
        not_guaranteed: sentences on what the guarantee does not cover.
        budget: sentences on what is used up and what is left.
        author: who released it, as stated; "" if nothing was stated.
        purpose: of the release, as stated; "" if nothing was stated.
        time: of the release, in UTC, in ISO 8601; "" if it is not known.
        check_code: short digest of the receipt, or of the head of the store.
        check: sentences on what the code was compared with.
        warning: that a seed voids the guarantee; "" without a seed.
        hazards: the check list.
        basis: facts that all of this was computed from.
        program: name and version of the program that released it; "" if the receipt has them.
    """

    title: str
    names: tuple[str, ...]
    published: tuple[str, ...]
    unit: tuple[str, ...]
    odds: tuple[str, ...]
    errors: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]
    not_guaranteed: tuple[str, ...]
    budget: tuple[str, ...]
    author: str
    purpose: str
    time: str
    check_code: str
    check: tuple[str, ...]
    warning: str
    hazards: tuple[Hazard, ...]
    basis: ReportBasis
    program: str = ""

    @property
    def origin(self) -> tuple[tuple[str, str], ...]:
        """Pairs on who released the result, when, why and how; unknown ones say so."""
        moment = printable(self.time.removesuffix("+00:00").replace("T", " "))
        time = f"{moment} UTC" if moment else ""
        pairs = (("by", self.author), ("when", time), ("for", self.purpose))
        answers, provenance = self.basis.answers_of_people, self.basis.guarantee.provenance
        questions = (
            ("legal basis", answers.legal_basis),
            ("why this epsilon", answers.why_epsilon),
        )
        made_by = self.program or (provenance.made_by if provenance else "")
        return (
            *((name, text or words.NOT_STATED) for name, text in pairs),
            ("program", printable(made_by) or words.NOT_STATED),
            *((name, text or words.TO_FILL_IN) for name, text in questions),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        del fields["basis"]
        hazards = [asdict(hazard) for hazard in self.hazards]
        return fields | {"hazards": hazards, "guarantee": self.basis.guarantee.to_dict()}


def report_of(
    receipt: PathLike,
    *,
    store: PathLike | Store | None = None,
    author: str = "",
    purpose: str = "",
    code: str = "",
    answers: HazardAnswers | None = None,
) -> ReleaseReport:
    """Return the report of a saved result.

    Args:
        receipt: the JSON file beside the result.
        store: that was charged for it; None to leave out budget and record.
        author: who released it, if the receipt does not state it.
        purpose: of the release, if the receipt does not state it.
        code: check code of an earlier report, to be compared; "" for none.
        answers: of people, about hazards of which no program can know; None for none.

    Raises:
        FileFormatError: the receipt or a file of the result is missing, damaged or changed.
        LedgerError: the store cannot be read, or contradicts the receipt.
        ParameterError: the code is another one, or author or purpose differ from the receipt's.
    """
    file = Path(receipt)
    fields = read_receipt(file)
    check_files(file, fields["files"])
    kind = fields["kind"]
    try:
        guarantee = guarantee_of(fields)
        unit = stated_unit(guarantee) if guarantee.epsilon else None
        # Distances are only a table, and have no class that reads them.
        result = load(str(file).removesuffix(".json")) if KINDS[kind].home else None
        contents = contents_of(kind, result)
    except FileFormatError:
        raise
    except _UNREADABLE:
        raise FileFormatError(f"{file} is damaged or of another version") from None
    digest = sha256_of(file)
    check_code = _code_of(digest)
    checks = [_compare_code(check_code, code)] if code else []
    status, use = None, None
    if store is not None:
        status, use, sentence = _compare_with_store(store, file, digest)
        checks.append(sentence)
    basis = ReportBasis(
        guarantee=guarantee,
        unit=unit,
        contents=contents,
        status=status,
        answers_of_people=answers or HazardAnswers(),
    )
    provenance = guarantee.provenance or Provenance(time="", made_by="")
    if provenance.columns or use is None:
        columns = _columns_of_receipt(provenance)
    else:
        columns = _columns_of_command(use)
    return _report(
        basis,
        names=(*fields["files"], file.name),
        columns=columns,
        skipped_rows=_skipped_rows_sentence(use, kind, provenance),
        author=_stated("author", provenance.author, author),
        purpose=_stated("purpose", provenance.purpose, purpose),
        time=provenance.time,
        check_code=check_code,
        check=checks,
    )


def _code_of(digest: str) -> str:
    """Return the check code of a SHA-256: its first digits, in groups that can be read aloud."""
    starts = range(0, _CODE_DIGITS, _CODE_GROUP)
    return "-".join(digest[start : start + _CODE_GROUP] for start in starts)


def _compare_code(code: str, typed: str) -> str:
    """Compare a check code with the one that was typed, and return a sentence that they agree.

    Raises:
        ParameterError: they differ.
    """
    digits = typed.replace("-", "").replace(" ", "").lower()
    if digits != code.replace("-", ""):
        raise ParameterError(
            f"the check code is {code}, and not {typed!r:.60}: compare the report with the files "
            "that it was made of"
        )
    return "The code is the one that was typed."


def _compare_with_store(
    store: PathLike | Store, file: Path, digest: str
) -> tuple[LedgerStatus, Use, str]:
    """Compare a receipt with the store that was charged.

    Args:
        store: the store.
        file: path of the receipt.
        digest: SHA-256 of the receipt, in hexadecimal.

    Returns:
        What the store has recorded, the use of this result, and a sentence on the comparison.

    Raises:
        FileFormatError, LedgerError: as `check_receipt`.
    """
    checked = check_receipt(store, str(file).removesuffix(".json"))
    status, number = store_status(store), checked.use.number
    where = f"use {number} of store {status.store[:8]}"
    if digest in status.uses[number - 1].files.values():
        return status, checked.use, f"Compared: {where} has recorded this code."
    return status, checked.use, f"Compared with {where}. {words.NOT_RECORDED}"


def _report(
    basis: ReportBasis,
    *,
    names: tuple[str, ...],
    columns: ColumnsRead,
    skipped_rows: str,
    author: str,
    purpose: str,
    time: str,
    check_code: str,
    check: list[str],
    program: str = "",
) -> ReleaseReport:
    """Return a report from its basis.

    Args:
        basis: facts that the report is computed from.
        columns: of the private file.
        skipped_rows: sentence on rows that were skipped; "" for none.
        check: sentences on what the check code was compared with.
        names: as in `ReleaseReport`, like the other arguments.
    """
    contents, guarantee = basis.contents, basis.guarantee
    sentences: Mapping[str, str] = {}
    odds: tuple[str, ...] = (words.NOTHING_READ,)
    if basis.unit is not None:
        explanation = basis.unit.explain(epsilon=guarantee.epsilon, delta=guarantee.delta)
        sentences = explanation.sentences
        odds = tuple(words.of_people(basis.unit, text) for text in explanation.odds_in_words)
        if basis.status is not None and basis.status.epsilon > guarantee.epsilon:
            odds = (*odds, _odds_of_all(basis.unit, basis.status))
    elif guarantee.epsilon:
        odds = (words.NO_UNIT,)
    if not guarantee.is_private:
        odds = (words.NO_GUARANTEE,)
    unit, public = _sentences_on_people(basis, columns, sentences)
    left_out = list(contents.left_out)
    if not left_out and "The bound" in sentences:
        left_out.append(_without_options(sentences["The bound"]))
    left_out.append(skipped_rows)
    if basis.unit is not None and basis.unit.kind == "user":
        left_out.append(words.limit_chosen(basis.unit, basis.answers_of_people.bounds))
    others = words.other_results(short_text(basis.answers_of_people.other_accounts))
    not_compared = words.NOT_COMPARED if _is_store_unread(basis) else ""
    return ReleaseReport(
        title=contents.title,
        names=tuple(short_text(printable(name)) for name in names),
        published=tuple(filter(None, (not_compared, *contents.published))),
        unit=unit or (f"Privacy unit: {guarantee.privacy_unit}.",),
        odds=odds,
        errors=contents.errors,
        left_out=tuple(filter(None, left_out)),
        not_guaranteed=(*public, *others),
        budget=_budget(basis),
        author=author,
        purpose=purpose,
        time=time,
        check_code=check_code,
        check=tuple(check),
        warning="" if guarantee.is_private else words.NOT_PRIVATE,
        hazards=hazards_of(basis),
        basis=basis,
        program=program,
    )


def _odds_of_all(unit: PrivacyUnit, status: LedgerStatus) -> str:
    """Return a sentence on the most that a guess can gain with all results of a store."""
    # All uses together may spend more than a single result may: nothing is hidden from there on.
    epsilon = min(status.epsilon, LARGEST_EPSILON)
    explanation = unit.explain(epsilon=epsilon, delta=status.delta)
    worst = words.of_people(unit, explanation.odds_in_words[-1])
    return (
        f"Worst, with all results in the store (epsilon = {_epsilon_text(status.epsilon)}): {worst}"
    )


def _epsilon_text(epsilon: float) -> str:
    """Return an epsilon in digits, rounded up."""
    return f"{up_to_digits(epsilon, _DIGITS):g}"


def _sentences_on_people(
    basis: ReportBasis, columns: ColumnsRead, sentences: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return sentences on who is protected, and sentences on what about them is public.

    Args:
        basis: facts that the report is computed from.
        columns: of the private file.
        sentences: that explain the privacy unit, by heading.
    """
    unit = basis.unit
    if unit is None:
        return (), ()
    read = (words.columns_read(columns.endpoints, columns.period),) if columns.endpoints else ()
    if unit.kind == "user":
        people = words.protected_people(unit, columns.user)
        return (*people, words.OTHER_PEOPLE, *read), (words.PUBLIC_OF_ROWS,)
    covered = [sentences[name] for name in ("The guarantee", "People") if name in sentences]
    return (*map(_without_options, covered), *read), (f"Not hidden: {sentences['Detectable']}",)


def _without_options(text: str) -> str:
    """Return a text without the sentences that name options, with a capital letter."""
    sentences = (sentence for sentence in text.split(". ") if "--" not in sentence)
    joined = ". ".join(sentences).removesuffix(".")
    return f"{joined[:1].upper()}{joined[1:]}."


def _is_store_unread(basis: ReportBasis) -> bool:
    """Return whether a store was charged that this report has not read."""
    provenance = basis.guarantee.provenance
    return basis.status is None and provenance is not None and bool(provenance.store)


def _budget(basis: ReportBasis) -> tuple[str, ...]:
    """Return sentences on what is used up and what is left."""
    guarantee, status = basis.guarantee, basis.status
    delta = f" and delta = {guarantee.delta:g}" if guarantee.delta else ""
    scope = words.for_whom(basis.unit, guarantee.privacy_unit, basis.contents.periods)
    own_use = f"This uses up epsilon = {_epsilon_text(guarantee.epsilon)}{delta}, {scope}."
    provenance = guarantee.provenance
    if status is None:
        if provenance is None or not provenance.store:
            return own_use, words.NO_STORE
        store = printable(provenance.store)[:8]
        charge = f"It was charged to store {store} as use {provenance.use}."
        return own_use, charge, "What is left is known there."
    delta = f" and delta = {status.delta:g}" if status.delta else ""
    results = counted(len(status.uses), "result")
    all_uses = (
        f"In the store so far: {results}, with epsilon = {_epsilon_text(status.epsilon)}{delta}"
    )
    if status.budget is None or status.left is None:
        unlimited = f"{all_uses}; there is no budget, so nothing limits them."
        return own_use, unlimited, *_uses_listed(status)
    left = down_to_digits(status.left, _DIGITS)
    limited = f"{all_uses} of a budget of {status.budget}: {left:g} is left."
    if status.all_periods is None:
        return own_use, limited, *_uses_listed(status)
    epsilon_of_all = _epsilon_text(status.all_periods.epsilon)
    periods = f"Somebody with rows in all periods has epsilon = {epsilon_of_all}."
    return own_use, limited, *_uses_listed(status), periods


def _uses_listed(status: LedgerStatus) -> tuple[str, ...]:
    """Return a sentence that names the latest results of a store; none for a single one."""
    if len(status.uses) == 1:
        return ()
    uses = [charged.use for charged in status.uses]
    shown = [
        f"{use.number}. {words.KINDS_IN_WORDS.get(use.kind, use.kind)}, "
        f"{printable(use.time)[:10]}, epsilon = {_epsilon_text(use.guarantee.epsilon)}"
        + (f", for {short_text(printable(use.purpose), _LONGEST_COLUMN)}" if use.purpose else "")
        for use in uses[-_MOST_USES:]
    ]
    earlier = len(uses) - len(shown)
    before = f"{counted(earlier, 'earlier one')}; " if earlier else ""
    return (f"These are: {before}{'; '.join(shown)}.",)


def _columns_of_receipt(provenance: Provenance) -> ColumnsRead:
    """Return the columns that a receipt names."""
    named = dict(provenance.columns)
    user, period = named.get("users", ""), named.get("periods", "")
    # The form of the dates follows the name, which is JSON if these words are part of it.
    if period.startswith('"'):
        with suppress(ValueError):  # a receipt that somebody made up
            period = json.JSONDecoder().raw_decode(period)[0]
    else:
        period = period.partition(" as ")[0].partition(" in ")[0]
    endpoints = (_column(named.get("sources")), _column(named.get("targets")))
    return ColumnsRead(
        user="" if user == TAIL else _column(user),
        period=_column(period),
        endpoints=endpoints if all(endpoints) else (),
    )


def _column(typed: Column | None) -> str:
    """Return the name of a column, or its number; "" for none."""
    if isinstance(typed, int):
        return f"number {typed}, counted from 0"
    return short_text(printable(typed or ""), _LONGEST_COLUMN)


def _columns_of_command(use: Use) -> ColumnsRead:
    """Return the columns that the command of a use named; none if it was begun in Python."""
    columns = _columns_option(use) or Columns()
    endpoints = (_column(columns.source), _column(columns.target))
    # `TAIL` in place of the name of a column says that the source of a row is its user.
    user = "" if columns.user == TAIL else _column(columns.user)
    period = _column(columns.period)
    return ColumnsRead(user=user, period=period, endpoints=endpoints if all(endpoints) else ())


def _columns_option(use: Use) -> Columns | None:
    """Return the option `--columns` of the command of a use; None if it is not known."""
    if not use.command:
        return None
    prefix = f"{_COLUMNS_OPTION}="
    typed = [word for name, word in pairwise(use.command) if name == _COLUMNS_OPTION]
    typed += [word.removeprefix(prefix) for word in use.command if word.startswith(prefix)]
    try:
        return read_options(",".join(typed) or None, Columns)
    except GraphCutsError:  # a command of another version
        return None


def _skipped_rows_sentence(use: Use | None, kind: str, provenance: Provenance) -> str:
    """Return a sentence on rows that were skipped; "" for a result that read no rows.

    Args:
        use: in the store; None if no store was read.
        kind: of the result.
        provenance: of the result.
    """
    if provenance.bad_rows:
        return words.ROWS_SKIPPED if provenance.bad_rows == "skip" else words.ROWS_REFUSED
    if kind == "partition" and use is None:
        return ""
    if use is None and provenance.store:
        return words.ROWS_IN_STORE
    columns = None if use is None else _columns_option(use)
    if columns is None:
        return words.ROWS_UNKNOWN
    return words.ROWS_SKIPPED if columns.on_bad == "skip" else words.ROWS_REFUSED


def _stated(name: str, recorded: str, typed: str) -> str:
    """Return the recorded text, or the typed one if nothing is recorded.

    Args:
        name: of the field, for messages.
        recorded: in a receipt or a store; "" if nothing.
        typed: by the caller; "" if nothing.

    Raises:
        ParameterError: they differ, or the typed text is no line of at most 500 characters.
    """
    if recorded and typed and recorded != typed:
        raise ParameterError(f"{name} is recorded as {recorded!r:.60}: leave it out")
    if not typed.isprintable() or len(typed) > _LONGEST_STATED:
        raise ParameterError(f"{name} must be one line of at most {_LONGEST_STATED} characters")
    return recorded or typed


def report_of_store(
    store: PathLike | Store,
    *,
    author: str = "",
    purpose: str = "",
    code: str = "",
    answers: HazardAnswers | None = None,
) -> ReleaseReport:
    """Return the report of a store: its sessions, and all other uses, together.

    Args:
        store: an existing one.
        author: who released it, if no use states it.
        purpose: of the results, if no use states it.
        code: check code of an earlier report, to be compared; "" for none.
        answers: as for `report_of`.

    Raises:
        LedgerError: the store cannot be read, or nothing was spent yet.
        ParameterError: the code is another one, or author or purpose differ from the recorded ones.
    """
    status = store_status(store)
    if not status.uses:
        raise LedgerError("nothing was spent on the data of this store: there is nothing to report")
    uses = [charged.use for charged in status.uses]
    last = uses[-1]
    record, _, digest = status.head.partition(":")
    check_code = _code_of(digest)
    checks = [f"The code is that of record {record} of store {status.store[:8]}."]
    if code:
        checks.append(_compare_code(check_code, code))
    # All uses have one privacy unit, but some kinds of uses do not state its bound. Fields that
    # differ between uses are left out of the guarantee for all of them.
    use_with_unit = next((use for use in reversed(uses) if _unit_or_none(use.guarantee)), last)
    guarantee = replace(
        use_with_unit.guarantee,
        epsilon=status.epsilon,
        delta=status.delta,
        rho=None,
        budget_plan=None,
        seed=next((use.seed for use in uses if use.seed is not None), None),
    )
    answer_counts = None
    if status.sessions:
        answer_count = sum(session.answers for session in status.sessions)
        most_answers = sum(int(session.terms.parameters["queries"]) for session in status.sessions)
        answer_counts = answer_count, most_answers
    basis = ReportBasis(
        guarantee=guarantee,
        unit=_unit_or_none(guarantee),
        contents=_contents_of_store(status, _half_widths(store) if status.sessions else {}),
        status=status,
        answers=answer_counts,
        answers_of_people=answers or HazardAnswers(),
    )
    recorded_author = _joined(use.author for use in uses)
    recorded_purpose = _joined(use.purpose for use in uses)
    return _report(
        basis,
        names=(Path(store.path if isinstance(store, Store) else store).name,),
        columns=_columns_of_command(use_with_unit),
        skipped_rows=words.ROWS_UNKNOWN,
        author=_stated("author", recorded_author, author),
        purpose=_stated("purpose", recorded_purpose, purpose),
        time=last.time,
        check_code=check_code,
        check=checks,
        program=last.made_by,
    )


def _unit_or_none(guarantee: PrivacyGuarantee) -> PrivacyUnit | None:
    """Return the privacy unit of a guarantee; None if it states none, or nothing is read."""
    try:
        return stated_unit(guarantee) if guarantee.epsilon else None
    except ValueError:
        return None


def _contents_of_store(
    status: LedgerStatus, half_widths: Mapping[str, list[float]]
) -> ReleaseContents:
    """Describe a store.

    Args:
        status: what it has recorded.
        half_widths: of the answers, by session.
    """
    uses = [charged.use for charged in status.uses]
    kinds = [words.KINDS_IN_WORDS.get(use.kind, use.kind) for use in uses]
    counts = listed(f"{kind} ({kinds.count(kind):,})" for kind in dict.fromkeys(kinds))
    errors = [
        (f"session {short_text(name)}", _median_error(widths))
        for name, widths in half_widths.items()
    ]
    return ReleaseContents(
        title="Answers of a session" if status.sessions else "Results in a store",
        published=(f"What was charged to this store: {counts}.",),
        errors=tuple(errors),
        biased="each answer has its own interval",
        product_type=INTERACTIVE if status.sessions else SUMMARY,
    )


def _median_error(widths: list[float]) -> str:
    """Return the median of half widths, in words."""
    half = short_bound(median(widths))
    return f"half of the middle interval is {half} ({counted(len(widths), 'answer')})"


def _half_widths(store: PathLike | Store) -> dict[str, list[float]]:
    """Return the half widths of all finite intervals in a store, by session."""
    widths: dict[str, list[float]] = {}
    with closing(open_ledger(store)) as ledger:
        for entry in islice(export_ledger(ledger), 1, None):  # after the header
            low, high = entry["interval"]
            if None not in (low, high):
                widths.setdefault(entry["session"], []).append((high - low) / 2)
    return widths


def _joined(texts: Iterable[str]) -> str:
    """Return the different texts that are not empty, with semicolons between them."""
    return "; ".join(dict.fromkeys(filter(None, texts)))[:_LONGEST_STATED]
