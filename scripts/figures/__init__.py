"""Measure and draw what the papers claim: one file for each figure. Not private."""
