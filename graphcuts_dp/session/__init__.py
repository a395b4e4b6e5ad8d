"""Answers one by one: mechanisms that keep a state between queries."""
