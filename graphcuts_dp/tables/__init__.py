"""Rows and columns of files and tables, before anybody knows what they are about."""
