"""Department workflow: a master routes a request to departments; heads brief, grade, retry and merge
specialists."""

from __future__ import annotations
