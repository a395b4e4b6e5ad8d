"""Reports of two printed sheets: one on a release, for decision-makers, and a check list."""
