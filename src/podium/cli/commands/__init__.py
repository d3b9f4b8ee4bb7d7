"""Commands, one module per command or group. Each is imported only when it is used."""

from __future__ import annotations
