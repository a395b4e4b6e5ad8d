"""Iterative releases: hypotheses that learn from noisy answers to queries they look for."""
