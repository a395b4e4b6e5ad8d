"""Figures: arrays and texts in, a matplotlib Figure out. One module for each kind of picture."""
