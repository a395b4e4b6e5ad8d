"""Private cuts of the least weight: which vertices hang together, and where a graph breaks."""
