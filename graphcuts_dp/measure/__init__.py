"""Measure statistics of a private graph: noisy values, each with its exact cost."""
