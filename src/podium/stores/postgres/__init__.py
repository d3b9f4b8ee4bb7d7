"""The store on PostgreSQL: one log for many machines. Needs the extra `postgres`."""

from __future__ import annotations
