"""The MCP server: agents use kb as tools. It knows the engine only by its HTTP API."""
