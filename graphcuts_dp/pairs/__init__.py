"""What public code needs of a graph: which pairs there are, vertices, groups, cells, queries."""
