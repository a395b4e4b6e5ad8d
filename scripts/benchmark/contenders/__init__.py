"""Methods that enter the benchmark, one file each, written from their papers with exact noise."""
