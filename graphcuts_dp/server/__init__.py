"""Interactive sessions for analysts who do not hold the graph: over HTTP, and in a browser."""
