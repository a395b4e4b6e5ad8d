"""What to expect of each mechanism, from public numbers alone."""
