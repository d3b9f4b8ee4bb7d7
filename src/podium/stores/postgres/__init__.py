"""PostgreSQL store: one log for many machines. Needs the extra `postgres`."""

from __future__ import annotations
