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
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, final

from filelock import lock_descriptor

from graphcuts_dp.cli.console import PROGRESS_FILE
from graphcuts_dp.cli.spending import WOULD_REFUSE
from graphcuts_dp.display import down_to_digits
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.files import atomic_write
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.options import INPUT
from graphcuts_dp.page.accounts import (
    PageAccount,
    names_for_report,
    other_accounts,
    spent_on,
    unused_name,
    uses_on,
)
from graphcuts_dp.page.form import Product, Values, completed, with_store
from graphcuts_dp.page.products import PRODUCTS, typed_budget
from graphcuts_dp.page.steps import EXACT, STEPS
from graphcuts_dp.page.words import KEYS
from graphcuts_dp.reports.hazards import ANSWERS_FILE, HazardAnswers, answers_beside
from graphcuts_dp.results.bundle import receipt_path

RUNNING, DONE, LOST, REFUSED, STOPPED = "running", "done", "lost", "refused", "stopped"
_OWN = ".run"  # folder within that of a run: plan, lock, report, notes, progress, outcome
_ERROR = "error: "
_ROUNDING = 1e-9  # of sums of epsilon
_BUDGET = KEYS["budget"].partition(".")[0]  # what keys of its fields begin with
# A message of `ledger.charges.check_known`.
_CHARGED_ELSEWHERE = re.compile(r"these data were charged to the store (.+?): add ")
SAY_WHOSE = (
    f"say in \u201c{STEPS[EXACT][0]}\u201d whether the people of this file are also in another "
    "account of this folder"
)
_OTHER_DATA = "is about other private data, or these have changed"  # of `ledger.opening`
_SECONDS = 600  # of the comparison with the truth
PROGRAM = (sys.executable, "-m", "graphcuts_dp")  # words that start this program


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
        """Return what it makes."""
        return PRODUCTS[self.plan["product"]]

    @property
    def result(self) -> Path:
        """Return the path of the result, whether or not there is one yet."""
        return self.folder / self.product.result

    @property
    def files(self) -> list[str]:
        """The files that may be published."""
        return sorted(file.name for file in self.folder.iterdir() if file.is_file())

    @property
    def report(self) -> dict[str, Any]:
        """Return what the command said at its end; empty if it did not come to that."""
        try:
            fields: dict[str, Any] = json.loads(self._text("report.json"))
        except ValueError:
            return {}
        return fields

    @property
    def running(self) -> bool:
        """Return whether its process is alive."""
        with (self.folder / _OWN / "lock").open("ab") as lock:
            return not lock_descriptor(lock.fileno(), blocking=False)

    def state(self) -> dict[str, Any]:
        """Return where it stands: its name, a sentence, and what the command has said meanwhile."""
        known = self._text("outcome.json")
        if known:
            recorded: dict[str, Any] = json.loads(known)
            return recorded
        if self.running:
            done, _, message = self._text("progress").partition(" ")
            return {"state": RUNNING, "done": float(done or 0), "message": message, **self._notes()}
        outcome = self._ended()
        with atomic_write(self.folder / _OWN / "outcome.json", force=True) as file:
            file.write(json.dumps(outcome).encode())
        return outcome

    def _ended(self) -> dict[str, Any]:
        charge = self._charge()
        if charge is not None and self._is_whole:
            return {"state": DONE, "message": "", **self._notes(), "charge": charge}
        if charge is not None:
            message = (
                f"The store recorded this use at {charge['time']}: epsilon = "
                f"{charge['guarantee']['epsilon']:g} is spent. Its result was not written: resume "
                "it, which costs nothing more."
            )
            return {"state": LOST, "message": message, **self._notes(), "charge": charge}
        notes = self._notes()
        if notes["errors"]:
            return {"state": REFUSED, "message": "Nothing was spent.", **notes}
        message = "It ended before anything was charged, and nothing was spent: run it again."
        return {"state": STOPPED, "message": message, **notes}

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
            use_status.to_dict()
            for use_status in uses
            if use_status.use.kind == self.product.kind
            and use_status.use.guarantee.epsilon == epsilon
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

    @property
    def answers(self) -> HazardAnswers:
        """Return the answers to questions of the report that were typed before the run.

        Raises:
            FileFormatError: their file is damaged.
        """
        return answers_beside(self.result)

    def against_truth(self) -> str:
        """Return the comparison of the result with the private file. NOT PRIVATE.

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


@final
@dataclass(frozen=True, kw_only=True)
class RunForecast:
    """Forecast of a run, from public facts alone: no private row is read.

    Attributes:
        values: of the form, as the run takes them.
        store: file of the account that would be charged.
        expected: from a preview.
        budget: what the run would leave of the budget, and why it is refused, see `budget_of`.
    """

    values: dict[str, str]
    store: str
    expected: dict[str, Any]
    budget: dict[str, Any]


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
        return [self.find(plan.parent.parent.name) for plan in plans]

    def find(self, name: str) -> PageRun:
        """The run of this name.

        Raises:
            ParameterError: there is none.
        """
        folder = self.folder / name
        try:
            if folder.parent != self.folder or name in ("", ".", ".."):
                raise ValueError
            plan = json.loads((folder / _OWN / "plan.json").read_bytes())
        except (OSError, ValueError):
            raise ParameterError("there is no such run") from None
        return PageRun(folder=folder, plan=plan)

    def forecast(self, product: Product, typed: Values, source: str) -> RunForecast:
        """Return what a run would do, and whether its account would refuse it.

        The budget of an account that exists is its own: what is typed as a budget is left out.

        Args:
            product: of the run.
            typed: values of the form.
            source: the private file; only its name is used.

        Raises:
            GraphCutsError: what the preview refuses.
        """
        values = completed(typed, source)
        store = product.store(values, self.folder)
        if Store(store).exists:
            values = {key: text for key, text in values.items() if key.partition(".")[0] != _BUDGET}
        role = "same_people" if values.get(KEYS["same_people"]) else "store"
        expected = product.preview(values | {KEYS[role]: store})
        budget = budget_of(store, values, expected)
        foreseen = next((note for note in expected["notes"] if WOULD_REFUSE in note), "")
        if foreseen:
            expected["notes"] = [note for note in expected["notes"] if note != foreseen]
        if foreseen and budget["refusal"] is None:
            text = foreseen.partition(WOULD_REFUSE)[2]
            budget["refusal"] = f"the account would refuse this: {product.in_words(text)}"
        return RunForecast(values=values, store=store, expected=expected, budget=budget)

    def account(self, values: Values, source: str) -> dict[str, Any]:
        """Return the account that a result would be charged to, and the others of the folder.

        Args:
            values: what was typed.
            source: the private file; only its name is used.

        Returns:
            `of_file`, the account that is typed or named after the file; `charged`, the same, or
            that of the same people if one is named; `others`, all but `of_file`; and `unused`, a
            name for a new account beside `of_file`.

        Raises:
            GraphCutsError: an account cannot be read.
        """
        table = PRODUCTS["table"]
        alone = {**values, KEYS["same_people"]: ""}
        of_file = Path(table.store(with_store(alone, source), self.folder))
        charged = Path(table.store(with_store(values, source), self.folder))
        return {
            "of_file": PageAccount.of(of_file).to_dict(),
            "charged": PageAccount.of(charged).to_dict(),
            "others": [account.to_dict() for account in other_accounts(self.folder, of_file)],
            "unused": unused_name(of_file),
        }

    def start(
        self,
        name: str,
        values: Values,
        source: str,
        confirmed: float | None = None,
        answers: Mapping[str, str] | None = None,
        *,
        separate: bool = False,
        people: int | None = None,
    ) -> PageRun:
        """Begin a run.

        Args:
            name: of the product.
            values: what was typed.
            source: the private file.
            confirmed: the epsilon that somebody was shown and confirmed.
            answers: to questions of the report, by the fields of `HazardAnswers`; empty ones do
                not count. They are kept beside the result, and may be published.
            separate: whether somebody has said that the other accounts of the folder are of other
                people; a new account beside others needs it.
            people: a public guess of how many people there are, for an estimate; None if absent.

        Raises:
            GraphCutsError: what the preview refuses; another amount was confirmed; the budget does
                not allow it; it is not said whether other accounts are of the same people; an
                answer is too long; another run is at work. Nothing was spent.
            TypeError: an answer to no question.
        """
        product = PRODUCTS[name]
        if not source or not Path(source).expanduser().exists():
            raise ParameterError("choose the private file in \u201cChoose the data\u201d")
        forecast = self.forecast(product, values, source)
        values, expected, store = forecast.values, forecast.expected, forecast.store
        if confirmed != expected["epsilon"]:
            raise ParameterError(
                f"this uses up {expected['epsilon']:g}, which was not confirmed: confirm it"
            )
        if forecast.budget["refusal"] is not None:
            raise ParameterError(forecast.budget["refusal"])
        stated = {key: text.strip() for key, text in (answers or {}).items() if text.strip()}
        others = other_accounts(self.folder, Path(store))
        if others and not Store(store).exists and not separate:
            raise ParameterError(SAY_WHOSE)
        if others and separate:
            stated["other_accounts"] = names_for_report(others)
        HazardAnswers(**stated)  # refused here, before anything is spent
        if any(run.state()["state"] == RUNNING for run in self.all()):
            raise ParameterError("a run is at work: wait for its end")
        folder = self.folder / f"{datetime.now().astimezone():%Y-%m-%d-%H%M%S-%f}-{name}"
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
            "people": people,
        }
        record_folder = folder / _OWN
        record_folder.mkdir(parents=True, mode=0o700)
        with (record_folder / "lock").open("ab") as lock:
            lock_descriptor(lock.fileno())
            with atomic_write(record_folder / "plan.json") as file:
                file.write(json.dumps(plan).encode())
            if stated:
                with atomic_write(folder / ANSWERS_FILE) as file:
                    file.write(json.dumps(stated, indent=2, ensure_ascii=False).encode())
            _start_process(folder, [*words, "--json"], lock.fileno())
        return PageRun(folder=folder, plan=plan)

    def resume(self, name: str) -> PageRun:
        """Go on with a run that was charged and has no result; it costs nothing more.

        Args:
            name: of the run.

        Raises:
            GraphCutsError: another run is at work, or there is nothing to resume.
        """
        run = self.find(name)
        status = run.state()
        if status["state"] != LOST:
            raise ParameterError("only a run that was charged and has no result can be resumed")
        if any(other.state()["state"] == RUNNING for other in self.all()):
            raise ParameterError("a run is at work: wait for its end")
        record_folder = run.folder / _OWN
        with (record_folder / "lock").open("ab") as lock:
            lock_descriptor(lock.fileno())
            (record_folder / "outcome.json").unlink(missing_ok=True)
            words = ["resume", self._store_of(run), "--use", str(status["charge"]["number"])]
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
    record_folder = folder / _OWN
    with (
        (record_folder / "report.json").open("wb") as out,
        (record_folder / "notes.txt").open("wb") as err,
    ):
        child = subprocess.Popen(  # noqa: S603  # our own program
            [*PROGRAM, *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            pass_fds=(lock,),
            start_new_session=True,
            env={**os.environ, PROGRESS_FILE: str(record_folder / "progress")},
        )
    threading.Thread(target=child.wait, daemon=True).start()  # until nothing is left of it


def is_of_other_data(error: str) -> bool:
    """Return whether an account refused rows because it was made for other ones."""
    return _OTHER_DATA in error


def account_named_in(error: str) -> str | None:
    """Return the account that a refusal names, because these rows were charged to it before.

    It is None of another refusal, or if that account is not there.
    """
    named = _CHARGED_ELSEWHERE.search(error)
    return named[1] if named and Path(named[1]).exists() else None


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
        without a budget; `is_fixed`, whether the account exists, so that its budget is what it is;
        and `refusal`, None if the budget allows it.

    Raises:
        LedgerError: the store cannot be read.
    """
    account = spent_on(store)
    typed = typed_budget(values)
    left = typed if account is None else account["left"]
    used = 0.0 if account is None else account["epsilon"]
    uses = expected["epsilon"]
    budget = {"uses": uses, "used": used, "left": left, "refusal": None, "after": None}
    budget["is_fixed"] = account is not None
    budget["total"] = None if left is None else left + used
    if left is None:
        return budget
    if uses > left * (1 + _ROUNDING):
        most = down_to_digits(left, 6)
        budget["refusal"] = (
            f"Only {most:g} of the budget is left, and this would use up {uses:g}: type at most "
            f"{most:g} as the amount to use, which makes the numbers less exact"
            if left > 0
            else f"The account {Path(store).name} is used up: nothing more can come out of its "
            "data. If this file is about other people, give it an account of its own in "
            f"\u201c{STEPS[EXACT][0]}\u201d"
        )
    return budget | {"after": max(0.0, left - uses)}
