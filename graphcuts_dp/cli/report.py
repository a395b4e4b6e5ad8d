"""`graphcuts-dp report`: two printed pages on a release, the second with its hazards."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, remember_written, write_out
from graphcuts_dp.cli.inspect import is_release, receipt_named
from graphcuts_dp.cli.inspect_data import is_there
from graphcuts_dp.cli.spending import store_named
from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.files import check_writable_set, is_database
from graphcuts_dp.options import INPUT, input_option, option, output_option
from graphcuts_dp.reports.hazards import HazardAnswers, answers_beside
from graphcuts_dp.reports.registry import registry_entry
from graphcuts_dp.reports.release_report import ReleaseReport, report_of, report_of_store
from graphcuts_dp.reports.rendering import html_page, markdown

_RENDERERS: Mapping[str, Callable[[ReleaseReport], str]] = {".html": html_page, ".md": markdown}


def report(
    *,
    release: str = typer.Argument(
        metavar="RELEASE", help="A release, or the receipt beside it; or the store of a session."
    ),
    target: str | None = typer.Argument(
        None, metavar="OUT", help="File to write, .html or .md; standard output if omitted."
    ),
    store: str | None = input_option(
        None,
        help="The store that was charged: adds the budget used and left, and compares the release "
        "and its check code with what the store has recorded.",
        metavar="FILE",
    ),
    author: str | None = input_option(
        None, help="Who released it, if the receipt does not say so.", flag="--who --author"
    ),
    purpose: str | None = input_option(
        None, help="What it is for, if the receipt does not say so."
    ),
    code: str | None = input_option(
        None, help="Check code of a printed report: fail unless it is the one of this release."
    ),
    answers: HazardAnswers = option(
        HazardAnswers(),
        help="Your answers to the questions of the second page, which no program can answer; "
        "others can be filled in by hand.",
        group=INPUT,
        of=HazardAnswers,
    ),
    registry: str | None = output_option(
        None,
        help="Also write a draft of an entry for the public registry of deployments, as JSON.",
        metavar="FILE",
    ),
    force: bool = options.FORCE,
) -> Report:
    """Write a report on a release, of two printed pages, with a check list of hazards.

    Example: graphcuts-dp report flows.csv report.html --store trips.db

    Example: graphcuts-dp report synthetic.graphml --author "City office" --purpose "Timetable"

    Example: graphcuts-dp report flows.csv --store trips.db --code 46fb-5bcc-2ced-3e36

    Example: graphcuts-dp report flows.csv report.html --answers "access=Two people of the city
    office,other-results=None so far"

    Example: graphcuts-dp report mail.db answers.md

    The first page says what was published, by whom, when and for what purpose; whom the guarantee
    is for, and how much a guess can gain; how exact the numbers are, and what was left out; what is
    not guaranteed; and how much of the budget is used up and left. The second page goes through the
    hazards of NIST SP 800-226: those that the program checked, with evidence, and those that you
    answer, by hand or with --answers; answers that the page wrote beside the release count, too.
    The .html file needs no network, and prints on two sheets.

    The check code is a digest of the receipt, which the store records: with --store, and with
    --code for a report on paper, the command fails if they do not agree. The report reads receipts,
    released files and stores, and no private file. Everything in it may be published.
    """
    if code == "":  # else the report would be written without being compared
        raise ParameterError("--code is empty: type the check code of the printed report")
    if target is not None:
        _check_ending(target)
    check_writable_set([file for file in (target, registry) if file is not None], force=force)
    content = _content(
        release,
        store,
        author=author or "",
        purpose=purpose or "",
        code=code or "",
        answers=answers,
    )
    texts = {}  # by file
    if target is not None:
        texts[target] = _RENDERERS[Path(target).suffix](content)
    if registry is not None:
        texts[registry] = json.dumps(registry_entry(content), indent=2) + "\n"
    for file, text in texts.items():
        write_out([text], file, force=force)
        remember_written([file], "write the other one by the same command, which spends nothing")
    blocks: list[Any] = [] if target is not None else [markdown(content).rstrip()]
    if texts:
        blocks.append({"check_code": content.check_code, "files": "  ".join(texts)})
    return Report(content.to_dict() | {"files": list(texts)}, blocks)


def _check_ending(path: str) -> None:
    """Check that a report can be written to a file of this name.

    Raises:
        FileFormatError: the file has another ending than those of reports.
    """
    if Path(path).suffix not in _RENDERERS:
        raise FileFormatError(f"{path}: a report ends in {' or '.join(_RENDERERS)}")


def _content(
    release: str, store: str | None, *, answers: HazardAnswers, **printed: Any
) -> ReleaseReport:
    """Return the content of the report of a release, or of a store.

    Args:
        release: typed path of the release, its receipt or a store.
        store: typed path of the store that was charged for the release; None if omitted.
        answers: typed answers to questions; those that the page wrote beside a release fill the
            others.
        printed: the author, the purpose and the check code; see `report_of`.

    Raises:
        GraphCutsError: as `report_of` and `report_of_store`.
    """
    if is_release(release):
        charged_store = None if store is None else store_named(store)
        receipt = receipt_named(release)
        typed_answers = {name: text for name, text in asdict(answers).items() if text}
        answers = replace(answers_beside(Path(receipt)), **typed_answers)
        return report_of(receipt, store=charged_store, answers=answers, **printed)
    if not is_there(release):
        raise FileFormatError(f"{release} does not exist; name a release, its receipt or a store")
    if not (Path(release).is_file() and is_database(Path(release))):
        raise FileFormatError(
            f"{release} has no receipt beside it, and is no store; name a release"
        )
    if store is not None:
        raise ParameterError(f"{release} is a store itself: leave out --store")
    return report_of_store(store_named(release), answers=answers, **printed)
