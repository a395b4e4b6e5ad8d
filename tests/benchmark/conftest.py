"""Fixtures of the benchmark's tests."""

import pytest


@pytest.fixture
def watch(monkeypatch):
    """Replaces a function by one that notes something of what it is given, and calls it."""

    def watched(place, name, note):
        seen, function = [], getattr(place, name)

        def noting(*given, **named):
            seen.append(note(*given, **named))
            return function(*given, **named)

        monkeypatch.setattr(place, name, noting)
        return seen

    return watched
