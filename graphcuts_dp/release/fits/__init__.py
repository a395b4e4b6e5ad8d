"""Fits of a synthetic graph to a noisy matrix. None of them can read a private graph."""
