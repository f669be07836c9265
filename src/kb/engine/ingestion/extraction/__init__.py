"""From a file to its text.

detection, formats, zip_listing           what a file is, and who reads it
sandbox, recognition, page_picture        it is read, its pictures are, and a page is drawn: by children
reader_process, forked_process, messages  a child, as its parent sees it, and what the two tell each other
file_child, page_child, ocr/child         what runs in one, forked off by `fork_server`
confinement, system_calls                 what it may not do
readers/, ocr/                            how formats and pictures are read
extracted, parts, findings                what comes of it; `cleaning` and `line_ends` see to its text
workload                                  how much of it is left
"""
