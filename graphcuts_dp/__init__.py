"""Differentially private cut queries on graphs."""
