"""Runs of commands from the page: each has a process of its own and a folder with its record.

A run's plan is on the disk before its process starts, the process charges the store before it draws
noise, and its files appear whole or not at all. So whenever this process or that one is killed, the
folder and the store show one of three states: a result that was charged, a charge without a result,
or nothing spent. The process holds a lock on a file of the folder while it lives; the operating
system releases it, however the process ends.

The charge of a run is the first use of its kind and cost on the store after the run has begun. If a
run ends without a charge, and another command on the same store has meanwhile added a use of the
same kind and cost, the page takes this use for the charge, and reports more as spent than was.
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
_RECORD = ".run"  # in the folder of a run: plan, lock, report, notes, progress, outcome
_ERROR = "error: "  # begins the lines of a command that refuses
_ROUNDING = 1e-9  # of sums of epsilon
_BUDGET = KEYS["budget"].partition(".")[0]  # first part of the keys of all fields of the budget
# A message of `ledger.charges.check_known`.
_CHARGED_ELSEWHERE = re.compile(r"these data were charged to the store (.+?): add ")
OTHER_ACCOUNTS_UNANSWERED = (
    f"say in \u201c{STEPS[EXACT][0]}\u201d whether the people of this file are also in another "
    "account of this folder"
)
_OTHER_DATA = "is about other private data, or these have changed"  # of `ledger.opening`
_COMPARISON_SECONDS = 600
PROGRAM = (sys.executable, "-m", "graphcuts_dp")  # words that start this program


@final
@dataclass(frozen=True, kw_only=True)
class PageRun:
    """A run, as its folder and its store record it.

    Attributes:
        folder: of its results; its name is that of the run.
        plan: the product, its values and its forecast when the run began, as plain values.
    """

    folder: Path
    plan: dict[str, Any]

    @property
    def product(self) -> Product:
        """The product that the run makes."""
        return PRODUCTS[self.plan["product"]]

    @property
    def result(self) -> Path:
        """The path of the result, which may not exist yet."""
        return self.folder / self.product.result

    @property
    def files(self) -> list[str]:
        """The files that may be published."""
        return sorted(file.name for file in self.folder.iterdir() if file.is_file())

    @property
    def report(self) -> dict[str, Any]:
        """The report that the command printed at its end; empty if it did not reach its end."""
        try:
            fields: dict[str, Any] = json.loads(self._text("report.json"))
        except ValueError:
            return {}
        return fields

    @property
    def is_running(self) -> bool:
        """True if the process of the run is alive."""
        with (self.folder / _RECORD / "lock").open("ab") as lock:
            return not lock_descriptor(lock.fileno(), blocking=False)

    def state(self) -> dict[str, Any]:
        """Return the state of the run, a sentence about it, and the messages of the command.

        The final state is stored in the folder once, so that later uses of the store do not change
        it.
        """
        text = self._text("outcome.json")
        if text:
            stored_state: dict[str, Any] = json.loads(text)
            return stored_state
        if self.is_running:
            done, _, message = self._text("progress").partition(" ")
            return {"state": RUNNING, "done": float(done or 0), "message": message, **self._notes()}
        outcome = self._final_state()
        with atomic_write(self.folder / _RECORD / "outcome.json", force=True) as file:
            file.write(json.dumps(outcome).encode())
        return outcome

    def _final_state(self) -> dict[str, Any]:
        """Return the state of a run whose process is gone."""
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
        """True if the result is complete.

        A file is complete once it has its receipt, and an estimate once it has its report. Another
        result without a file is in its store.
        """
        if self.product.result:
            return receipt_path(self.result).exists()
        return self.product.is_result or bool(self.report)

    def _charge(self) -> dict[str, Any] | None:
        """Return the use that the run has charged, as plain values; None if there is none."""
        uses = uses_on(self.plan["store"])[self.plan["uses"] :]
        epsilon = self.plan["expected"]["epsilon"]
        own_uses = (
            use_status.to_dict()
            for use_status in uses
            if use_status.use.kind == self.product.kind
            and use_status.use.guarantee.epsilon == epsilon
        )
        return next(own_uses, None)

    def _notes(self) -> dict[str, list[str]]:
        """Return the errors of the command, and its other messages, each a line."""
        lines = self._text("notes.txt").splitlines()
        return {
            "errors": [line.removeprefix(_ERROR) for line in lines if line.startswith(_ERROR)],
            "notes": [line for line in lines if not line.startswith(_ERROR)],
        }

    def _text(self, name: str) -> str:
        """Return the text of a file of the record; "" if it cannot be read."""
        try:
            return (self.folder / _RECORD / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    @property
    def answers(self) -> HazardAnswers:
        """The answers to questions of the report that were typed before the run.

        Raises:
            FileFormatError: their file is damaged.
        """
        return answers_beside(self.result)

    def against_truth(self) -> str:
        """Return the comparison of the result with the private file. NOT PRIVATE; stored nowhere.

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
            process = subprocess.run(  # noqa: S603  # our own program
                line, capture_output=True, text=True, check=False, timeout=_COMPARISON_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ParameterError("the comparison takes long: type the command instead") from None
        if process.returncode:
            raise ParameterError(process.stderr.strip().rpartition(_ERROR)[2])
        return process.stdout


@final
@dataclass(frozen=True, kw_only=True)
class RunForecast:
    """Forecast of a run, from public facts alone: no private row is read.

    Attributes:
        values: of the form, completed.
        store: file of the account that would be charged.
        expected: the preview.
        budget: see `budget_of`.
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
        folder: of the page, with the stores and a folder for each run.
    """

    folder: Path

    def all(self) -> list[PageRun]:
        """Return all runs, the latest first."""
        plans = sorted(self.folder.glob(f"*/{_RECORD}/plan.json"), reverse=True)
        return [self.find(plan.parent.parent.name) for plan in plans]

    def find(self, name: str) -> PageRun:
        """Return the run of a name.

        Raises:
            ParameterError: there is none.
        """
        folder = self.folder / name
        try:
            if folder.parent != self.folder or name in ("", ".", ".."):
                raise ValueError
            plan = json.loads((folder / _RECORD / "plan.json").read_bytes())
        except (OSError, ValueError):
            raise ParameterError("there is no such run") from None
        return PageRun(folder=folder, plan=plan)

    def forecast(self, product: Product, typed: Values, source: str) -> RunForecast:
        """Return the forecast of a run, and whether its account would refuse it.

        An account that exists has a budget already: one that is typed is ignored.

        Args:
            product: of the run.
            typed: values of the form.
            source: the private file; only its name is used.

        Raises:
            GraphCutsError: the preview refuses.
        """
        values = completed(typed, source)
        store = product.store(values, self.folder)
        if Store(store).exists:
            values = {key: text for key, text in values.items() if key.partition(".")[0] != _BUDGET}
        # A store of other data about the same people is named in a field of its own.
        store_role = "same_people" if values.get(KEYS["same_people"]) else "store"
        expected = product.preview(values | {KEYS[store_role]: store})
        budget = budget_of(store, values, expected)
        refusal_note = next((note for note in expected["notes"] if WOULD_REFUSE in note), "")
        if refusal_note:
            expected["notes"] = [note for note in expected["notes"] if note != refusal_note]
        if refusal_note and budget["refusal"] is None:
            text = refusal_note.partition(WOULD_REFUSE)[2]
            budget["refusal"] = f"the account would refuse this: {product.in_words(text)}"
        return RunForecast(values=values, store=store, expected=expected, budget=budget)

    def account(self, values: Values, source: str) -> dict[str, Any]:
        """Return the account that a result would be charged to, and the others of the folder.

        Args:
            values: values of the form.
            source: the private file; only its name is used.

        Returns:
            `of_file`: the account that is typed or named after the file; `charged`: the account of
            data about the same people if one is chosen, else `of_file`; `others`: all but
            `of_file`; `unused`: a name for a new account beside `of_file`.

        Raises:
            GraphCutsError: an account cannot be read.
        """
        table = PRODUCTS["table"]
        unshared_values = {**values, KEYS["same_people"]: ""}
        of_file = Path(table.store(with_store(unshared_values, source), self.folder))
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
            values: values of the form.
            source: the private file.
            confirmed: the epsilon that the curator was shown and confirmed.
            answers: to questions of the report, by the fields of `HazardAnswers`; empty ones are
                ignored. They are stored beside the result, and may be published.
            separate: whether the curator has answered that the other accounts of the folder are
                about other people. A new account beside others needs this answer.
            people: a public guess of how many people there are, for an estimate; None if absent.

        Raises:
            GraphCutsError: the preview refuses; another amount was confirmed; the budget does not
                allow it; it is not answered whether other accounts are about the same people; an
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
        typed_answers = {key: text.strip() for key, text in (answers or {}).items() if text.strip()}
        others = other_accounts(self.folder, Path(store))
        if others and not Store(store).exists and not separate:
            raise ParameterError(OTHER_ACCOUNTS_UNANSWERED)
        if others and separate:
            typed_answers["other_accounts"] = names_for_report(others)
        HazardAnswers(**typed_answers)  # refused here, before anything is spent
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
        record_folder = folder / _RECORD
        record_folder.mkdir(parents=True, mode=0o700)
        with (record_folder / "lock").open("ab") as lock:
            lock_descriptor(lock.fileno())
            with atomic_write(record_folder / "plan.json") as file:
                file.write(json.dumps(plan).encode())
            if typed_answers:
                with atomic_write(folder / ANSWERS_FILE) as file:
                    file.write(json.dumps(typed_answers, indent=2, ensure_ascii=False).encode())
            _start_process(folder, [*words, "--json"], lock.fileno())
        return PageRun(folder=folder, plan=plan)

    def resume(self, name: str) -> PageRun:
        """Resume a run that was charged and has no result; it costs nothing more.

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
        record_folder = run.folder / _RECORD
        with (record_folder / "lock").open("ab") as lock:
            lock_descriptor(lock.fileno())
            (record_folder / "outcome.json").unlink(missing_ok=True)
            words = [
                "resume",
                str(run.folder / str(run.plan["store"])),
                "--use",
                str(status["charge"]["number"]),
            ]
            _start_process(run.folder, words, lock.fileno())
        return run


def _start_process(folder: Path, words: list[str], lock: int) -> None:
    """Start a command of this program, which runs on if the page is stopped.

    Args:
        folder: of the run; the working directory of the process.
        words: of the command.
        lock: handle of the locked file; the process inherits it, and so the lock.
    """
    record_folder = folder / _RECORD
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
    threading.Thread(target=child.wait, daemon=True).start()  # reaps the process


def is_of_other_data(error: str) -> bool:
    """Return whether an account refused rows because it was created for other rows."""
    return _OTHER_DATA in error


def account_named_in(error: str) -> str | None:
    """Return the account that a refusal names, because these rows were charged to it before.

    None for another refusal, or if that account does not exist.
    """
    match = _CHARGED_ELSEWHERE.search(error)
    return match[1] if match and Path(match[1]).exists() else None


def budget_of(store: str, values: Values, expected: dict[str, Any]) -> dict[str, Any]:
    """Return the part of the budget that a use would leave, and why it is refused, if it is.

    A store that exists has a budget of its own; that of a new store is the one that is typed. Only
    epsilon is compared here; the store checks delta, too, when it is charged.

    Args:
        store: file of the store.
        values: values of the form.
        expected: the preview of the use.

    Returns:
        `uses`: epsilon of this use; `used`: epsilon of all earlier uses; `total`: the budget;
        `left` and `after`: its rest before and after this use; `is_fixed`: whether the account
        exists, so that its budget cannot change; `refusal`: why the budget does not allow the use,
        None if it does. Without a budget, `total`, `left` and `after` are None.

    Raises:
        LedgerError: the store cannot be read.
    """
    account = spent_on(store)
    typed = typed_budget(values)
    left = typed if account is None else account["left"]
    used = 0.0 if account is None else account["epsilon"]
    epsilon = expected["epsilon"]
    budget = {"uses": epsilon, "used": used, "left": left, "refusal": None, "after": None}
    budget["is_fixed"] = account is not None
    budget["total"] = None if left is None else left + used
    if left is None:
        return budget
    if epsilon > left * (1 + _ROUNDING):
        budget["refusal"] = _too_much(Path(store).name, left, epsilon)
    return budget | {"after": max(0.0, left - epsilon)}


def _too_much(account: str, left: float, epsilon: float) -> str:
    """Return why the budget of an account does not allow a use of this epsilon."""
    if left <= 0:
        return (
            f"The account {account} is used up: nothing more can come out of its data. If this "
            "file is about other people, give it an account of its own in "
            f"\u201c{STEPS[EXACT][0]}\u201d"
        )
    most = down_to_digits(left, 6)
    return (
        f"Only {most:g} of the budget is left, and this would use up {epsilon:g}: type at most "
        f"{most:g} as the amount to use, which makes the numbers less exact"
    )
