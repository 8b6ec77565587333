"""HTTP API of the v5 contract, its extensions, MCP and the console."""
