"""Average distances on a public map to the people of a private list of locations."""
