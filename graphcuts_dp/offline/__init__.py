"""Offline releases that learn the graph from noisy answers to queries they look for."""
