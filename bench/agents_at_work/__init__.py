"""What the benchmarks with agents are made of. None of it runs by itself.

- `connection`: one connection of one client.
- `doors`: the two ways to a base, by the engine and by the MCP server.
- `mixed_agents`: agents that search, read and write, and find what was lost.
- `churn`: clients that hang up and leave things behind.
- `programs`: what they call, `kb up`, and what it weighs.
- `growth`: whether what it weighs grows for ever.
"""
