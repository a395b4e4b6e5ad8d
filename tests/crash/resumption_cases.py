"""Commands that charge a store, and checks of what a fault has left."""

import json
from pathlib import Path

import command_cases as cases

import graphcuts_dp as gc
from graphcuts_dp.results.bundle import sha256_of

EPSILON = 5.0
_CHARGED = f"--epsilon {EPSILON:g} --store new.db --budget 7"
LINES = {
    "release": f"release in.csv r.csv --fit maximum-entropy {_CHARGED}",
    "flows": f"flows in.csv staff.csv r.csv {_CHARGED}",
    "cuts": f"cuts in.csv r.csv --from 0 --to 5 {_CHARGED}",
}


def inputs(folder: Path) -> dict[str, bytes]:
    """Write the files that the commands read; return their contents by name."""
    folder.mkdir()
    gc.datasets.load("karate").write(folder / "in.csv")
    rows = "".join(f"{vertex},{'ab'[vertex > 16]}\n" for vertex in range(34))
    (folder / "staff.csv").write_text(f"vertex,half\n{rows}")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def check_and_resume(folder: Path, status: int | None, messages: str) -> str:
    """Check that a run has left no charge, or a charge whose result `resume` restores.

    Args:
        folder: in which the command ran.
        status: that it ended with; None if it was killed.
        messages: on its standard error.

    Returns:
        In two words what was left.
    """
    assert "Traceback" not in messages
    store, result = folder / "new.db", folder / "r.csv"
    receipt = folder / "r.csv.json"
    uses = gc.store_status(store).uses if store.exists() else ()
    if not uses:
        assert status != 0
        assert not receipt.exists()
        assert "epsilon = 5 was spent" not in messages
        return "no charge"
    (use,) = uses
    if status == 2:
        assert "epsilon = 5 was spent (use 1); resume with: graphcuts-dp resume new.db" in messages
    before = {path.name: sha256_of(path) for path in folder.glob("r.csv*")}
    is_complete = receipt.exists()
    assert is_complete or status != 0
    resumed = cases.call(folder, "resume new.db" + " --force" * bool(before))
    assert resumed.status == 0, resumed.err
    status_after = gc.store_status(store)
    assert status_after.epsilon == EPSILON
    assert len(status_after.uses) == 1
    assert status_after.uses[0].state == "finished"
    loaded = gc.load(result)
    after = {path.name: sha256_of(path) for path in folder.glob("r.csv*")}
    assert json.loads(receipt.read_text())["provenance"]["use"] == 1
    assert loaded.guarantee.epsilon == EPSILON
    assert status_after.uses[0].files == after
    if is_complete:
        assert before == after
    if use.state == "unfinished":
        return "a charge, measured again"
    resumed_twice = cases.call(folder, "resume new.db --force")
    assert resumed_twice.status == 0, resumed_twice.err
    assert after == {path.name: sha256_of(path) for path in folder.glob("r.csv*")}
    return "a whole result" if is_complete else "a charge, restored"
