"""`podium serve`: everything that the command line can do over HTTP, live views over server-sent events, and
the web UI. An extra (`podium[server]`), and loaded only when it is used."""

from __future__ import annotations
