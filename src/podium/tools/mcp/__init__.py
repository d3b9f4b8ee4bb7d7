"""Tools of MCP servers: programs that are started here, and servers that run elsewhere."""
