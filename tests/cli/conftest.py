"""A shell per test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture
def podium(tmp_path: Path) -> Iterator[Shell]:
    """`podium(*words)` in an empty folder with an empty store."""
    shell = Shell(tmp_path)
    yield shell
    shell.close()
