"""A map of the base: documents laid out in the plane by what they say."""
