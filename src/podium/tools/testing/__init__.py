"""Running a project's tests and reading what they say; looking at what a change does to them."""

from __future__ import annotations
