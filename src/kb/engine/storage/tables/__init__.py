"""What a store keeps, in SQL that SQLite and PostgreSQL both understand.

A module a subject: each is a part of a store and brings the functions that other parts need. What the two databases do
each in its own way, they do behind `connection.Connection`.
"""
