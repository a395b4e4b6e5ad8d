"""`python -m graphcuts_dp` is the command `graphcuts-dp`."""

from graphcuts_dp.cli.main import run

run()
