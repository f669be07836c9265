"""What a store keeps, in SQL that SQLite and PostgreSQL both understand.

A module a subject: most are a part of a store and bring the functions that other parts need. What the two databases do
each in its own way, they do behind `connection.Connection`.

parts                        all that both stores are composed of
identity, meta               what the base is known by, and whether it can be written
documents, chunks            documents with all that is searched; those chunks that a search found
sameness                     which document is the same as one that comes
revisions, tags              what notes said before, and what documents are filed under
jobs, job_rows               the queue
claims, reindexing           what workers do with it, and the work that goes through all documents
journal                      what happened, for the audit log and for those who watch
portable                     whole documents on their way from base to base
mapping                      where documents lie on the map
shortfalls                   what workers lack
integrity                    checking that all of it is still what was written
scope, allowed, id_sets      which documents a search may find
statistics                   how much there is
rows                         how values look as rows, and back
"""
