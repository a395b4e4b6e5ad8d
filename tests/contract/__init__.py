"""The contract of reading: one list of tables, through every source of private rows."""
