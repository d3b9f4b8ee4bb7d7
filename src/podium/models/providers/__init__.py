"""Hosted models, on Pydantic AI's model layer. Slow to import: only `models.registry` imports it, when a name
such as `openai:…` is really used."""

from __future__ import annotations
