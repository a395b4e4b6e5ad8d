"""`PRODUCTS`: the commands that the page offers, with their forms."""

from graphcuts_dp.cli import cuts, evaluate, flows, inspect, release, session
from graphcuts_dp.ledger.opening import Budget
from graphcuts_dp.options import read_options
from graphcuts_dp.page.form import Product, Values, typed_value
from graphcuts_dp.page.words import BOUND_PRESET, NOT_OF_BOUND, NOT_OFFERED

PRODUCTS = {
    "table": Product(
        title="A table of how much passes between places",
        command="flows",
        function=flows.flows,
        kind="flows",
        result="table.csv",
        preset={"plot": "table.png", "html": "table.html"},
    ),
    "graph": Product(
        title="A simulated network that resembles yours",
        command="release",
        function=release.release,
        kind="release",
        result="synthetic.graphml",
        unshown_notes=("The noisy matrix ",),
        truth=Product(title="", command="evaluate release", function=evaluate.release),
    ),
    "cut": Product(
        title="A split of the places where the least passes",
        command="cuts",
        function=cuts.cuts,
        kind="cut",
        result="parts.csv",
    ),
    "session": Product(
        title="Questions of analysts, answered one by one",
        command="session start",
        function=session.start,
        kind="session",
    ),
    "bound": Product(
        title="How many rows people have",
        command="flows",
        function=flows.flows,
        kind="bound",
        preset=BOUND_PRESET,
        omitted=(*(name for name in NOT_OFFERED if name not in BOUND_PRESET), *NOT_OF_BOUND),
        is_result=False,
    ),
}
# The command that reports how a private file would be read; no product of the form.
LOOK = Product(title="", command="inspect", function=inspect.inspect)


def typed_budget(values: Values) -> float | None:
    """Return the budget that is typed for a new store; None if none is.

    Raises:
        ParameterError: a text that is no budget.
    """
    about = next(option for option in PRODUCTS["table"].offered if option.of is Budget)
    text = typed_value(about, values)
    return float(read_options(text, Budget).epsilon) if text else None
