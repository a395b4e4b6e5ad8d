"""Says at the end how many faults were injected."""

import faults


def pytest_terminal_summary(terminalreporter):
    """One line for each kind of fault, and their sum."""
    if faults.injected:
        terminalreporter.section("faults injected")
        for kind, count in sorted(faults.injected.items()):
            terminalreporter.write_line(f"{count:>7,}  {kind}")
        terminalreporter.write_line(f"{sum(faults.injected.values()):>7,}  in all")
