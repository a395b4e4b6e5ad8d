"""Fits of a synthetic graph to a noisy matrix; none of them can read a private graph."""
