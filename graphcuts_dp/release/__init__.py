"""Synthetic graphs: noise once, then post-processing."""
