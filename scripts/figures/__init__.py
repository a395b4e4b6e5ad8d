"""What the papers claim, measured and drawn: one file for each figure. Not private."""
