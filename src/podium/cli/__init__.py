"""The command line: commands, the live terminal view, and how errors are told."""

from __future__ import annotations
