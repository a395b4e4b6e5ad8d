"""The durable record of everything that was spent on one private data set."""
