"""Where noise is drawn and what it promises."""
