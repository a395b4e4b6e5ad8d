"""PrivateCuts: methods for private graphs, measured by their cuts, side by side."""
