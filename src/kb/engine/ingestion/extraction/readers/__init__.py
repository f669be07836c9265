"""A module for each format (`formats.py` names it), in families. Each family knows only those below it.

mail        mails, with all that is attached to them
web         HTML; books (EPUB) and the words of drawings (SVG), which are much like it
office      documents of word processors, spreadsheets, presentations
pdf
pictures    picture files, and drawings to be looked at
tables      files of records, and rows of cells wherever they stand
text        text as it was typed: prose, Markdown, source code
shared      what several families need
"""
