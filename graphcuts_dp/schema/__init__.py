"""Public facts about tables: their columns, types and text, before any row is read."""
