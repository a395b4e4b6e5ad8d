"""Print the processor time of each test function, the slowest first: a plug-in of pytest.

Seconds are those of the process and of the processes that it has waited for. They depend less on
what else the machine does than the durations of pytest. `make profile-tests` loads it.
"""

import resource
from collections import defaultdict
from collections.abc import Generator

import pytest

SHOWN = 60  # test functions

_seconds: dict[str, list[float]] = defaultdict(list)  # of the cases of each test function


def processor_seconds() -> float:
    """Return the processor time of this process, and of its processes that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure a test with its fixtures."""
    before = processor_seconds()
    try:
        return (yield)
    finally:
        _seconds[item.nodeid.split("[")[0]].append(processor_seconds() - before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table."""
    total = sum(map(sum, _seconds.values()))
    dearest = sorted(_seconds.items(), key=lambda function: -sum(function[1]))
    terminalreporter.section(f"{total:.1f} seconds of processor time")
    terminalreporter.write_line("seconds  cases  dearest  test")
    for name, seconds in dearest[:SHOWN]:
        terminalreporter.write_line(
            f"{sum(seconds):7.2f} {len(seconds):6} {max(seconds):8.2f}  {name}"
        )
