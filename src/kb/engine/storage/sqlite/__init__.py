"""A base in one file, on one machine.

store                           all of it together
database, connection            transactions, and what SQLite does in its own way
migrations, takeover, schema/   making a base, and bringing an older one up to date
chunks, index_log, checksums    what is written with each chunk
keywords                        finding by words: `chunk_ranking` as `word_plan` says, by `word_index`, `chunk_places`
                                and `match_expression`
matching, vectors/              finding by meaning
time_limit                      giving up what takes too long
integrity, full_text            checking it, and keeping its words quick to find
copying                         taking all of it elsewhere
"""
