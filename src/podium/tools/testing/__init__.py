"""Test detection, test runs and their results, and checks of what a change does to tests."""

from __future__ import annotations
