"""A page for the curator: from a file to a published table, each step a form made of the options.

The page reads the head of the private file alone. A run is the command itself, in a process of its
own, and its state is what lies in a folder and what the store has recorded.
"""
