"""Procrastinate as the engine: PostgreSQL is all it needs. Needs the extra `cluster`."""
