"""Noise: its distributions and samplers, its privacy cost, and the guarantees that it gives."""
