"""Every format of private data, to and from Arrow tables of a schema."""
