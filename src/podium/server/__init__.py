"""HTTP API, live views over server-sent events and the web UI of `podium serve`. Covers everything that the
command line can do. Installed with the extra `podium[server]` and imported only when it is used."""

from __future__ import annotations
