"""Tests; `tests.audits` is imported by the command `graphcuts-dp audit` of a checkout."""
