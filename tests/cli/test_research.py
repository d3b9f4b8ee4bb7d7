"""`podium run research` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.shell import Shell

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
