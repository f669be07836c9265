"""Documents out of a base and into another, in bundles (E21), with nothing extracted or embedded again."""
