"""AI clients: what each wants to be told of the MCP server, and the file in which it keeps that."""
