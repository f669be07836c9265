"""How a text becomes hits. `hybrid` puts all of it together."""
