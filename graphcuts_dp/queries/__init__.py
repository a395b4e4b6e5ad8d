"""Cut queries, rank-one and other linear queries, statistics of graphs, and lists of them."""
