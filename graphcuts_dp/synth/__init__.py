"""From noisy measurements to a synthetic graph: post-processing."""
