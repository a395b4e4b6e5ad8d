"""One file per figure: a table in, a matplotlib Figure out."""
