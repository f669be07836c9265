"""How a text becomes hits. `hybrid` is the whole of it on one page."""
