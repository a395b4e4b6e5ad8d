"""Audits of every mechanism that the package exports, each with broken twins; see `registry`."""
