"""A self-hosted, fully local knowledge base for people and their AI agents."""
