"""One file per command or small family; each is imported only when it is used."""

from __future__ import annotations
