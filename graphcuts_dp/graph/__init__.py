"""Graphs, their files, and queries on them."""
