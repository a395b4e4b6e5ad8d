"""Runs: each is the command itself in a process of its own, and a folder that tells all about it.

A run's plan is on the disk before its process starts, the process charges the store before it draws
noise, and what it writes appears whole or not at all. So whenever this process or that one is
killed, the folder and the store tell what happened: there is a result, and it is paid for; or the
charge is there alone; or nothing was spent. The process holds a lock on a file of the folder while
it lives, which the system gives back whatever ends it.

The charge of a run is the first use of its kind and cost that the store has besides those that it
had before. A command that somebody else gives on the same store, while a run is at work that ends
without a charge of its own, can be taken for it: then the page says that more was spent by it.
"""

import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, final

from filelock import lock_descriptor

from graphcuts_dp.cli.console import PROGRESS_FILE
from graphcuts_dp.display import down_to_digits
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.files import atomic_write
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.options import INPUT
from graphcuts_dp.page.form import PRODUCTS, Product, Values, completed, typed_budget
from graphcuts_dp.results.bundle import receipt_path
from graphcuts_dp.session.transcript import LedgerStatus, UseStatus, store_status

RUNNING, DONE, LOST, REFUSED, STOPPED = "running", "done", "lost", "refused", "stopped"
_OWN = ".run"  # folder within that of a run: plan, lock, report, notes, progress, outcome
_ERROR = "error: "
_ROUNDING = 1e-9  # of sums of epsilon
_SECONDS = 600  # of the comparison with the truth


@final
@dataclass(frozen=True, kw_only=True)
class PageRun:
    """A run, as its folder tells.

    Attributes:
        folder: of its results; its name is that of the run.
        plan: what was to be made, as plain values.
    """

    folder: Path
    plan: dict[str, Any]

    @property
    def product(self) -> Product:
        """What it makes."""
        return PRODUCTS[self.plan["product"]]

    @property
    def result(self) -> Path:
        """Where the result is, once there is one."""
        return self.folder / self.product.result

    @property
    def files(self) -> list[str]:
        """The files that may be published."""
        return sorted(each.name for each in self.folder.iterdir() if each.is_file())

    @property
    def report(self) -> dict[str, Any]:
        """What the command said at its end; empty if it did not come to that."""
        try:
            told: dict[str, Any] = json.loads(self._text("report.json"))
        except ValueError:
            return {}
        return told

    @property
    def running(self) -> bool:
        """Whether its process is alive."""
        with (self.folder / _OWN / "lock").open("ab") as lock:
            return not lock_descriptor(lock.fileno(), blocking=False)

    def state(self) -> dict[str, Any]:
        """Where it stands: its name, a sentence, and what the command has said meanwhile."""
        known = self._text("outcome.json")
        if known:
            told: dict[str, Any] = json.loads(known)
            return told
        if self.running:
            done, _, message = self._text("progress").partition(" ")
            return {"state": RUNNING, "done": float(done or 0), "message": message, **self._notes()}
        found = self._ended()
        with atomic_write(self.folder / _OWN / "outcome.json", force=True) as file:
            file.write(json.dumps(found).encode())
        return found

    def _ended(self) -> dict[str, Any]:
        charge = self._charge()
        if charge is not None and self._is_whole:
            return {"state": DONE, "message": "", **self._notes(), "charge": charge}
        if charge is not None:
            told = (
                f"The store recorded this use at {charge['time']}: epsilon = "
                f"{charge['guarantee']['epsilon']:g} is spent. Its result was not written: resume "
                "it, which costs nothing more."
            )
            return {"state": LOST, "message": told, **self._notes(), "charge": charge}
        notes = self._notes()
        if notes["errors"]:
            return {"state": REFUSED, "message": "Nothing was spent.", **notes}
        told = "It ended before anything was charged, and nothing was spent: run it again."
        return {"state": STOPPED, "message": told, **notes}

    @property
    def _is_whole(self) -> bool:
        """True if the result is there: a file; of a session its store; of a helper its report."""
        if self.product.result:
            return receipt_path(self.result).exists()
        return bool(self.product.offered_as) or bool(self.report)

    def _charge(self) -> dict[str, Any] | None:
        """Its use of the store, as plain values."""
        uses = uses_on(self.plan["store"])[self.plan["uses"] :]
        epsilon = self.plan["expected"]["epsilon"]
        mine = (
            each.to_dict()
            for each in uses
            if each.use.kind == self.product.kind and each.use.guarantee.epsilon == epsilon
        )
        return next(mine, None)

    def _notes(self) -> dict[str, list[str]]:
        lines = self._text("notes.txt").splitlines()
        return {
            "errors": [line.removeprefix(_ERROR) for line in lines if line.startswith(_ERROR)],
            "notes": [line for line in lines if not line.startswith(_ERROR)],
        }

    def _text(self, name: str) -> str:
        try:
            return (self.folder / _OWN / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def against_truth(self) -> str:
        """What the command says that measures the result against the private file. NOT PRIVATE.

        It is kept nowhere.

        Raises:
            ParameterError: there is no such command, or it fails.
        """
        truth = self.product.truth
        if truth is None:
            raise ParameterError("only a synthetic graph is compared with the truth here")
        source = str(Path(self.plan["source"]).expanduser().resolve())
        options = truth.option_words(self.plan["values"], self.folder.parent, (INPUT,))
        line = [*PROGRAM, *truth.command.split(), source, str(self.result), *options]
        try:
            ended = subprocess.run(  # noqa: S603  # our own program
                line, capture_output=True, text=True, check=False, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ParameterError("the comparison takes long: type the command instead") from None
        if ended.returncode:
            raise ParameterError(ended.stderr.strip().rpartition(_ERROR)[2])
        return ended.stdout


PROGRAM = (sys.executable, "-m", "graphcuts_dp")


@final
@dataclass(frozen=True)
class Runs:
    """All runs of a folder.

    Attributes:
        folder: where each has one of its own, and stores are.
    """

    folder: Path

    def all(self) -> list[PageRun]:
        """From the latest to the first."""
        plans = sorted(self.folder.glob(f"*/{_OWN}/plan.json"), reverse=True)
        return [self.find(each.parent.parent.name) for each in plans]

    def find(self, name: str) -> PageRun:
        """The run of this name.

        Raises:
            ParameterError: there is none.
        """
        place = self.folder / name
        try:
            if place.parent != self.folder or name in ("", ".", ".."):
                raise ValueError
            plan = json.loads((place / _OWN / "plan.json").read_bytes())
        except (OSError, ValueError):
            raise ParameterError("there is no such run") from None
        return PageRun(folder=place, plan=plan)

    def start(
        self, name: str, values: Values, source: str, confirmed: float | None = None
    ) -> PageRun:
        """Begin a run.

        Args:
            name: of the product.
            values: what was typed.
            source: the private file.
            confirmed: the epsilon that somebody was shown and confirmed.

        Raises:
            GraphCutsError: what the preview refuses; another amount was confirmed; the budget does
                not allow it; another run is at work. Nothing was spent.
        """
        product = PRODUCTS[name]
        if not source or not Path(source).expanduser().exists():
            raise ParameterError("choose the private file in \u201cChoose the data\u201d")
        values = completed(values, source)
        expected = product.preview(values)
        if confirmed != expected["epsilon"]:
            raise ParameterError(
                f"this uses up {expected['epsilon']:g}, which was not confirmed: confirm it"
            )
        store = product.store(values, self.folder)
        refusal = budget_of(store, values, expected)["refusal"]
        if refusal is not None:
            raise ParameterError(refusal)
        if any(each.state()["state"] == RUNNING for each in self.all()):
            raise ParameterError("a run is at work: wait for its end")
        place = self.folder / f"{datetime.now().astimezone():%Y-%m-%d-%H%M%S-%f}-{name}"
        words = product.words(values, source, self.folder)
        plan = {
            "product": name,
            "values": dict(values),
            "source": source,
            "words": words,
            "store": store,
            "uses": len(uses_on(store)),
            "time": f"{datetime.now().astimezone():%Y-%m-%d %H:%M}",
            "expected": expected,
        }
        own = place / _OWN
        own.mkdir(parents=True, mode=0o700)
        with (own / "lock").open("ab") as lock:
            lock_descriptor(lock.fileno())
            with atomic_write(own / "plan.json") as file:
                file.write(json.dumps(plan).encode())
            _start_process(place, [*words, "--json"], lock.fileno())
        return PageRun(folder=place, plan=plan)

    def resume(self, name: str) -> PageRun:
        """Go on with a run that was charged and has no result; it costs nothing more.

        Args:
            name: of the run.

        Raises:
            GraphCutsError: another run is at work, or there is nothing to resume.
        """
        run = self.find(name)
        told = run.state()
        if told["state"] != LOST:
            raise ParameterError("only a run that was charged and has no result can be resumed")
        if any(each.state()["state"] == RUNNING for each in self.all()):
            raise ParameterError("a run is at work: wait for its end")
        own = run.folder / _OWN
        with (own / "lock").open("ab") as lock:
            lock_descriptor(lock.fileno())
            (own / "outcome.json").unlink(missing_ok=True)
            words = ["resume", self._store_of(run), "--use", str(told["charge"]["number"])]
            _start_process(run.folder, words, lock.fileno())
        return run

    @staticmethod
    def _store_of(run: PageRun) -> str:
        return str(run.folder / str(run.plan["store"]))


def _start_process(folder: Path, words: list[str], lock: int) -> None:
    """Start a command of this program that goes on where the page is stopped.

    Args:
        folder: of the run, in which it works.
        words: of the command.
        lock: handle of the locked file, which it holds while it lives.
    """
    own = folder / _OWN
    with (own / "report.json").open("wb") as out, (own / "notes.txt").open("wb") as err:
        child = subprocess.Popen(  # noqa: S603  # our own program
            [*PROGRAM, *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            pass_fds=(lock,),
            start_new_session=True,
            env={**os.environ, PROGRESS_FILE: str(own / "progress")},
        )
    threading.Thread(target=child.wait, daemon=True).start()  # until nothing is left of it


def uses_on(store: str) -> tuple[UseStatus, ...]:
    """All uses that a store has recorded; none where there is no store yet.

    Raises:
        LedgerError: it cannot be read.
    """
    return store_status(store).uses if Store(store).exists else ()


def spent_on(store: str) -> dict[str, Any] | None:
    """What a store has recorded, for the page; None where there is none yet.

    Raises:
        LedgerError: it cannot be read.
    """
    if not Store(store).exists:
        return None
    found: LedgerStatus = store_status(store)
    told = {
        name: getattr(found, name)
        for name in ("epsilon", "delta", "budget", "left", "privacy_unit")
    }
    return told | {"uses": [each.to_dict() for each in found.uses]}


def budget_of(store: str, values: Values, expected: dict[str, Any]) -> dict[str, Any]:
    """Return what a use would leave of the budget, and why it is refused, if it is.

    The budget of a store that exists is its own, that of a new one is what was typed. Of a use
    with a delta only epsilon is compared here; the store itself checks both when it is charged.

    Args:
        store: its file.
        values: what was typed.
        expected: from a preview.

    Returns:
        `uses`, this use; `used`, all before; `total`, `left` before and `after` this use, None
        without a budget; and `refusal`, None if the budget allows it.

    Raises:
        LedgerError: the store cannot be read.
    """
    spent = spent_on(store)
    typed = typed_budget(values)
    left = typed if spent is None else spent["left"]
    used = 0.0 if spent is None else spent["epsilon"]
    uses = expected["epsilon"]
    told = {"uses": uses, "used": used, "left": left, "refusal": None, "after": None}
    told["total"] = None if left is None else left + used
    if left is None:
        return told
    if uses > left * (1 + _ROUNDING):
        most = down_to_digits(left, 6)
        told["refusal"] = (
            f"Only {most:g} of the budget is left, and this would use up {uses:g}: type at most "
            f"{most:g} as the amount to use, which makes the numbers less exact"
            if left > 0
            else "The budget of these data is used up: nothing more can come out of them"
        )
    return told | {"after": max(0.0, left - uses)}
