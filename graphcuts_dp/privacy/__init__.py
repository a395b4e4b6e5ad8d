"""Where noise is drawn and what it guarantees."""
