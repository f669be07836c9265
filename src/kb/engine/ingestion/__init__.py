"""How a file or a note becomes chunks.

worker, heartbeat, progress         when jobs are done, and how far they are
pipeline, reindexing                what a job does: read, cut, embed, commit; or all of it again
extraction/                         from a file to sections of text
sections                            the text as it was read
markdown, note_text, titles         what the text of a note tells by itself; `fences` are code in it
chunking, packing, row_passages     from sections to passages that fit the model; `token_spans` says how it counts
indexing                            from passages to vectors
"""
