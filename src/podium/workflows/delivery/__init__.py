"""What the orchestrations share at both ends: a direct draft first, an editor and a blind comparison last."""

from __future__ import annotations
