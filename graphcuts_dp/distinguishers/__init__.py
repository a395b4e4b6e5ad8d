"""Private distinguishers: ways to pick a query on which a graph and a hypothesis differ much."""
