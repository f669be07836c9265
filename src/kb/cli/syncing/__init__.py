"""A folder that the base follows: looked at, compared with the documents of its files, and carried over."""
