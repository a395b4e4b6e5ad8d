"""Options about the store on which everything that is spent on the private data is recorded."""

import os
from pathlib import Path
from typing import Annotated

import typer

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.ledger.beside import stores_beside
from graphcuts_dp.ledger.opening import Store, Subject
from graphcuts_dp.ledger.records import Head
from graphcuts_dp.ledger.spending import Budget

StoreOption = Annotated[
    str | None,
    typer.Option(help="File that remembers what was spent on the data; made if it is not there."),
]
BudgetEpsilonOption = Annotated[
    float | None, typer.Option(help="Of a new store: cap on all uses of the data together.")
]
BudgetDeltaOption = Annotated[float, typer.Option(help="Likewise.")]
ExpectHeadOption = Annotated[
    str | None,
    typer.Option(help="What `store status` gave as head: refuse a store that has forgotten since."),
]
UncountedOption = Annotated[
    bool,
    typer.Option("--uncounted", help="Charge no store, though one beside the data is about them."),
]


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


def optional_store(
    path: str | None, budget_epsilon: float | None, budget_delta: float
) -> Store | None:
    """Likewise, of a command that can do without a store.

    Raises:
        ParameterError: likewise, or a budget without a store.
    """
    if path is not None:
        return store_named(path, budget_epsilon, budget_delta)
    if budget_epsilon is not None or budget_delta:
        raise ParameterError("a budget is kept in a store: add, for example, --store mail.db")
    return None


def check_counted(
    store: Store | None, data: AnyGraph | Subject, file: str, *, uncounted: bool
) -> None:
    """Refuse to spend beside a store that lies in the folder of the data and is about them.

    Raises:
        ParameterError: there is one, and it was not named.
    """
    if store is not None:
        if uncounted:
            raise ParameterError("give --store or --uncounted, not both")
        return
    if uncounted:
        return
    folders = {Path(os.path.realpath(file)).parent, Path.cwd()}
    for found in stores_beside(sorted(folders), data):
        raise ParameterError(
            f"{found} keeps account of what is spent on these data: add --store {found}, "
            "or --uncounted to spend beside it"
        )
