"""What a program can tell about an article by itself: pure functions of texts, no I/O and no model."""

from __future__ import annotations
