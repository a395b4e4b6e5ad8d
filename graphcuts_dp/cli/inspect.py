"""`graphcuts-dp inspect`: what a receipt says, in plain words, and whether its files are whole."""

from typing import Annotated, Any

import typer

from graphcuts_dp.cli.console import out, show_json
from graphcuts_dp.cli.publishing import KEEP, NOT_PRIVATE
from graphcuts_dp.cli.receipt_words import how_made, kind_of, promise
from graphcuts_dp.errors import FileFormatError, GraphCutsError
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.receipts import check_files, read_any_receipt

EXAMPLE = """Example: graphcuts-dp inspect synthetic.graphml.json

RECEIPT is the .json file beside a release, or the release itself. The command first verifies the
digest of the receipt and the checksums of the files that it names; status 2 means that one has
changed or is missing. This detects damaged and mixed files. It does not show who wrote them, since
a receipt is not signed."""

_UNREADABLE = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, GraphCutsError)


def inspect(
    receipt: Annotated[
        str, typer.Argument(metavar="RECEIPT", help="The .json file beside a release.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Explain a receipt in plain words, and verify the files that it names."""
    file, fields = read_any_receipt(receipt)
    names = fields["files"]
    kind = kind_of(fields)
    if not kind:
        raise FileFormatError(f"{file} is of a product that this version does not know")
    if not _is_table_of_files(names):
        raise FileFormatError(f"{file} is damaged or of another version")
    check_files(file, names)
    try:
        guarantee = PrivacyGuarantee.from_dict(fields["guarantee"])
        words = how_made(kind, fields) | promise(guarantee)
        private = guarantee.is_private
        versions = ", ".join(f"{name} {text}" for name, text in fields["versions"].items())
    except _UNREADABLE:
        raise FileFormatError(f"{file} is damaged or of another version") from None
    words |= {
        "May be published": f"{', '.join(names)} and {file.name}." if private else NOT_PRIVATE,
        "Keep to yourself": f"{KEEP}.",
        "Other releases": "of the same data add up with this one: their epsilons, and what this "
        "page says holds of each alone; graphcuts-dp store status tells the sum.",
        "Files": f"{', '.join(names)}: whole, as the receipt says.",
        "Made with": f"{versions}.",
    }
    if as_json:
        show_json(_plain(kind, words, names, private=private))
        return
    if not private:
        out.print(f"NOT PRIVATE: {NOT_PRIVATE}\n", markup=False)
    for heading, text in words.items():
        out.print(f"{heading}: {text}", markup=False)


def _is_table_of_files(names: Any) -> bool:
    return (
        isinstance(names, dict)
        and bool(names)
        and all(isinstance(digest, str) for digest in names.values())
        and not any("\0" in name for name in names)
    )


def _plain(kind: str, words: dict[str, str], names: Any, *, private: bool) -> dict[str, Any]:
    told = {heading.lower().replace(" ", "_"): text for heading, text in words.items()}
    return told | {"kind": kind, "private": private, "files": list(names)}
