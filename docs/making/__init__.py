"""What of the documentation is made by the project itself: pages from the code, pictures from the running programs.

`reference` writes the pages, each from the module here that has its name; `screens` draws the terminal, and `pictures`
takes the web page.
"""
