"""A master routes a request to departments; heads brief, grade, retry and merge their specialists."""

from __future__ import annotations
