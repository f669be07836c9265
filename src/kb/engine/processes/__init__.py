"""The processes that run: the engine, and the worker beside it or by itself."""
