"""A shell per test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture
def podium(tmp_path: Path) -> Shell:
    """`podium(*words)` in an empty folder with an empty store."""
    return Shell(tmp_path)
