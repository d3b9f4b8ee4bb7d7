"""Measurements of an article by program: pure functions of texts, without I/O or models."""

from __future__ import annotations
