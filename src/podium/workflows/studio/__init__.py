"""Department workflow: a master routes a request; heads brief, grade, retry and merge specialists."""

from __future__ import annotations
