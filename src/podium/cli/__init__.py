"""Command line: commands, live terminal view and error messages."""

from __future__ import annotations
