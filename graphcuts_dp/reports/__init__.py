"""Reports: one printed page on a release, for whoever decides about it, and a check list."""
