"""Tables of what passes between public groups: strategy, measurement, consistency, intervals."""
