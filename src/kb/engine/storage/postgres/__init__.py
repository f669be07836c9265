"""A base in a database that many engines and workers share.

store                           all of it together
database, connection, dialect   transactions, and what PostgreSQL does in its own way
migrations, schema/             making a base, and bringing an older one up to date
chunks, terms, values           what is written with each chunk, and as what
keywords, vocabulary, scoring   finding by words, with `phrase_conditions` and `allowed`
matching, near_index            finding by meaning
word_counts, integrity          keeping its words counted, and checking it
notices                         hearing of jobs at once
"""
