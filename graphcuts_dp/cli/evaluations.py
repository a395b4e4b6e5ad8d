"""`graphcuts-dp evaluate`: the group of its subcommands."""

import typer

from graphcuts_dp.cli import cut_norm, evaluate
from graphcuts_dp.cli.console import HELP

evaluations = typer.Typer(
    cls=evaluate.GraphsByDefault,
    help="Measure errors against the truth: evaluate TRUE SYNTHETIC. NOT PRIVATE.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings=HELP,
)
evaluations.command("graphs", epilog=evaluate.GRAPHS_EXAMPLE)(evaluate.evaluate_graphs)
evaluations.command("release", epilog=evaluate.RELEASE_EXAMPLE)(evaluate.evaluate_release)
evaluations.command("cut-norm", epilog=cut_norm.EXAMPLE)(cut_norm.evaluate_cut_norm)
