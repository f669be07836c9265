"""Finding by words, as far as it does not matter where they are kept.

phrases      what is looked for
terms        how text becomes terms
vocabulary   what has to be known of the terms of a base
completion   a word that is still being typed
spelling     a word that is nowhere in the base
scores       how much a word is worth
counting     in how many chunks each phrase is
"""
