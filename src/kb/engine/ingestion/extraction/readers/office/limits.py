"""How far the styles and lists of office documents are followed: only a file that means harm goes further."""

MAX_ANCESTORS = 50
"""Of a style; without an end, styles that are based on one another would be followed for ever."""

MAX_MARK_CHARACTERS = 100
"""Of what stands before an item or a number; a long one would be repeated with each."""
