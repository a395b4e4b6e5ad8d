"""Reads the truth: measured errors, marked as not private."""
