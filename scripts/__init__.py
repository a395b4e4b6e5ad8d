"""Scripts of a checkout: figures, the benchmark, measurements of speed, demos, and checks."""
