"""What a checkout runs beside the package: figures, the benchmark, measurements of speed, demos."""
