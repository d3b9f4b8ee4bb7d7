"""Models: calls, replies, prices, and the providers that answer."""

from __future__ import annotations
