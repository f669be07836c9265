"""How well search finds, measured on judged queries: `make evaluate DATA=folder`. Knows the engine, not the reverse."""
