"""Iterative database constructions: hypotheses that answer queries and learn from mistakes."""
