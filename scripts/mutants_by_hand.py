"""Mistakes that somebody could make and that no rule of `mutants` finds: mutants_by_hand.toml."""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Edit:
    """A mistake that somebody could make, by hand: `old` within a function becomes `new`.

    No file is named, so that the mistake survives moves: of all functions of this name in the
    package, just one has this text, and has it once.

    Attributes:
        function: qualified name: "measure_degrees", "OneSidedPair.cost".
        old: text of it.
        new: the mistake.
        killed_by: the test that fails with it, and passes without: `mutate.py --by-hand` tries. ""
            where only a whole run of `mutate.py` tells.
        mistake: what it is, in words.
    """

    function: str
    old: str
    new: str
    killed_by: str = ""
    mistake: str = ""


_TABLE = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
BY_HAND = tuple(Edit(**each) for each in tomllib.loads(_TABLE)["edit"])
