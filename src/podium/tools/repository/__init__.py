"""What a coder sees of a repository: a map, files by line, and a search."""
