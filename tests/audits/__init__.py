"""Audits of what the package exports and of the contenders of the benchmark, in one table."""
