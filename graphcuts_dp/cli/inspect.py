"""`graphcuts-dp inspect`: what a release holds and guarantees, and whether its files are whole.

If it is given a private file, `inspect_data` reports how that would be read. `graphcuts-dp
datasets`, the small public graphs that come with the package, is here as well.
"""

from dataclasses import asdict
from glob import escape
from pathlib import Path

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report
from graphcuts_dp.cli.inspect_data import inspect_data, is_there
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.datasets import list_datasets, load
from graphcuts_dp.display import Displayed, cell_text
from graphcuts_dp.errors import FileFormatError, GraphCutsError, ParameterError
from graphcuts_dp.options import input_option
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.privacy_unit import stated_unit
from graphcuts_dp.results.bundle import KINDS, check_files, read_receipt, receipt_path
from graphcuts_dp.results.bundle import load as load_result

NOT_PRIVATE = (
    "A seed was given, so whoever guesses it can take the noise off: publish nothing of this."
)
KEEP = (
    "the private file itself, the store and its bounds on what is left, seeds, and whatever was "
    "measured against the truth (evaluate)"
)
_SHOWN_ROWS = 10  # of the result's table
# Errors of a receipt whose digest is right, and whose fields are not.
_UNREADABLE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, GraphCutsError)


def guarantee_in_words(guarantee: PrivacyGuarantee) -> dict[str, str]:
    """Return what a guarantee means and how strong it is: sentences by headings.

    Raises:
        GraphCutsError, ValueError: an epsilon or a privacy unit that no release has.
    """
    if guarantee.epsilon == 0:
        return {"Strength": "nothing private was read, so nothing can come out."}
    explanation = stated_unit(guarantee).explain(epsilon=guarantee.epsilon, delta=guarantee.delta)
    sentences = dict(explanation.sentences)
    del sentences["The guarantee"]  # the card of the result states it
    return sentences | {"Strength": " ".join([sentences["Strength"], *explanation.odds_in_words])}


def receipt_named(name: str) -> Path:
    """Return the receipt that a name means.

    Args:
        name: the receipt itself, the release beside it, or the common beginning of both.

    Returns:
        The receipt; it need not exist.

    Raises:
        FileFormatError: several receipts have names that begin so.
    """
    if name.endswith(".json"):
        return Path(name)
    receipt = receipt_path(name)
    if is_there(receipt):
        return receipt
    receipts = sorted(
        file
        for file in receipt.parent.glob(f"{escape(Path(name).name)}.*.json")
        if not file.name.endswith(".schema.json")
    )
    if len(receipts) > 1:
        names = ", ".join(file.name for file in receipts)
        raise FileFormatError(f"{name} may be any of {names}; name one of them")
    return receipts[0] if receipts else receipt


def inspect(
    *,
    file: str = typer.Argument(
        metavar="FILE", help="A release, or the receipt beside it; or a private file."
    ),
    reading: Reading,
    nonprivate: bool = input_option(
        False,
        help="NOT PRIVATE: also read the rows of a private file, and count those that cannot be "
        "used.",
    ),
) -> Report:
    """Explain a release and verify its files; or show how a private file would be read.

    Example: graphcuts-dp inspect synthetic.graphml.json

    Example: graphcuts-dp inspect trips.csv

    Example: graphcuts-dp inspect trips.parquet --columns period=started --kind directed

    Example: graphcuts-dp inspect --nonprivate trips.csv --vertices stops.txt

    For a release, FILE is the .json file beside it, or the release itself. The command first
    verifies the digest of the receipt and the checksums of the files that it names; status 2 means
    that one has changed or is missing. This detects damaged and mixed files. It does not show who
    wrote them, since a receipt is not signed.

    For a private table or graph, or a folder of Parquet files, the command prints the format, the
    columns with their types, how each is used, the direction, the time zone of periods, what is
    ignored, what you still have to say, and a command to type next. It takes this from the options
    and from the head of the file alone; no row decides anything. With --nonprivate it also counts
    the rows that --columns on-bad=skip leaves out, by kinds of faults; do not publish these
    numbers. Options of reading, and --nonprivate, are for private files only.
    """
    if nonprivate or reading != Reading() or not is_release(file):
        return inspect_data(file, reading, nonprivate=nonprivate)
    return _inspect_release(file)


def is_release(name: str) -> bool:
    """Return whether a name means a receipt; see `receipt_named`.

    One that ends in .json does. The name of a file without a receipt beside it does not, even if
    the name of a receipt begins with it.
    """
    if name.endswith(".json") or is_there(receipt_path(name)):
        return True
    return not is_there(name) and is_there(receipt_named(name))


def _inspect_release(name: str) -> Report:
    """Verify the files of a release, and explain it.

    Raises:
        FileFormatError: a file has changed or is missing, or the receipt cannot be understood.
    """
    file = receipt_named(name)
    fields = read_receipt(file)
    names, kind = fields["files"], fields["kind"]
    check_files(file, names)
    try:
        guarantee = PrivacyGuarantee.from_dict(fields["guarantee"])
        result: Displayed = guarantee  # for tables alone, which no class reads
        if KINDS[kind].home:
            result = load_result(str(file).removesuffix(".json"))
        facts = {name: cell_text(value) for name, value in result._card().facts}
        words = guarantee_in_words(guarantee)
        versions = ", ".join(f"{name} {text}" for name, text in fields["versions"].items())
    except FileFormatError:
        raise
    except _UNREADABLE:
        raise FileFormatError(f"{file} is damaged or of another version") from None
    private = guarantee.is_private
    words |= {
        "May be published": f"{', '.join(names)} and {file.name}." if private else NOT_PRIVATE,
        "Keep to yourself": f"{KEEP}.",
        "Other releases": "of the same data add up with this one: their epsilons, and what this "
        "page says holds of each alone; graphcuts-dp store status shows the sum.",
        "Files": f"{', '.join(names)}: whole, as the receipt says.",
        "Made with": f"{versions}.",
    }
    facts_and_words = {
        heading.lower().replace(" ", "_"): text for heading, text in (facts | words).items()
    }
    marks = [] if private else [f"NOT PRIVATE: {NOT_PRIVATE}\n"]
    return Report(
        facts_and_words | {"kind": kind, "private": private, "files": list(names)},
        [*marks, result, *(f"{heading}: {text}" for heading, text in words.items())],
        most=_SHOWN_ROWS,
    )


def datasets(
    *,
    name: str | None = typer.Argument(None, metavar="NAME", help="Data set to write to a file."),
    target: str | None = typer.Argument(None, metavar="OUT", help="File to write to."),
    force: bool = options.FORCE,
) -> Report:
    """List the bundled public graphs, or write one to a file.

    Example: graphcuts-dp datasets

    Example: graphcuts-dp datasets us-flights flights.graphml
    """
    if name is not None:
        if target is None:
            raise ParameterError("name the file to write, for example flights.graphml")
        load(name).write(target, force=force)
        return Report({"files": [target]}, [])
    data_sets, lines = list_datasets(), []
    width = max(len(data.name) for data in data_sets)
    for data in data_sets:
        lines.append(f"{data.name:<{width}}  {data.title}")
        facts = (data.source, data.licence, data.sha256 and f"sha256 {data.sha256}")
        lines += [f"{'':<{width}}  {fact}" for fact in facts if fact]
    return Report([asdict(data) for data in data_sets], lines)
