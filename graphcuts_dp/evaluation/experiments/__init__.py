"""What the papers claim, measured: one file for each figure, which returns a table. Not private."""
