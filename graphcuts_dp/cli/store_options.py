"""Options about the store on which everything that is spent on the private data is recorded."""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import final

from graphcuts_dp.cli import options
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.owned_rows import PrivateData
from graphcuts_dp.ledger.ledger import Head
from graphcuts_dp.ledger.opening import Budget, Store, Subject, stores_beside
from graphcuts_dp.options import PRIVACY, option


def store_named(
    path: str,
    budget_epsilon: float | None = None,
    budget_delta: float = 0.0,
    expect_head: str | None = None,
) -> Store:
    """The store that the options describe.

    Raises:
        ParameterError: half of a budget, or one out of range; no head; no file name.
    """
    if budget_epsilon is None and budget_delta:
        raise ParameterError("--budget-delta needs --budget-epsilon")
    budget = None if budget_epsilon is None else Budget(budget_epsilon, budget_delta)
    if expect_head is not None:
        Head.parse(expect_head)
    found = Store(path, budget=budget, expect_head=expect_head)
    found.file  # noqa: B018  # refuses what is no file name
    return found


_privacy = partial(option, group=PRIVACY)


@final
@dataclass(frozen=True, kw_only=True)
class Spending:
    """Where a command that can do without a store charges what it costs."""

    store: str | None = _privacy(
        None, help="File that records what was spent on the data; created if it does not exist."
    )
    budget_epsilon: options.BudgetEpsilon = None
    budget_delta: options.BudgetDelta = 0.0
    uncounted: bool = _privacy(
        False, help="Charge no store, even if a store near the data is about them."
    )

    def check(self) -> Store | None:
        """The store to charge; call it before anything is read.

        Raises:
            ParameterError: options that do not fit together, or a budget out of range.
            LedgerError: no file name.
        """
        if self.store is not None:
            if self.uncounted:
                raise ParameterError("give --store or --uncounted, not both")
            return store_named(self.store, self.budget_epsilon, self.budget_delta)
        if self.budget_epsilon is not None or self.budget_delta:
            raise ParameterError("a budget is kept in a store: add, for example, --store mail.db")
        return None

    def remind(self, data: PrivateData | Subject, file: str) -> None:
        """Refuse to spend beside a store in the data's or the working folder that is about them.

        Raises:
            ParameterError: there is one, and it was not named.
        """
        if self.store is not None or self.uncounted:
            return
        folders = {Path(os.path.realpath(file)).parent, Path.cwd()}
        for found in stores_beside(sorted(folders), data):
            raise ParameterError(
                f"{found} keeps account of what is spent on these data: add --store {found}, "
                "or --uncounted to spend beside it"
            )
