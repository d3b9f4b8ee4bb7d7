"""A model for research that can be told to wait while it writes."""

from __future__ import annotations

import asyncio
import os
import re
import time
from pathlib import Path
from typing import Any

from podium import Call


async def patient(call: Call) -> Any:
    """Writes only when there is a file `go` in the folder that `PATIENT` names."""
    if call.task == "write_article":
        await asyncio.to_thread(_wait_for, Path(os.environ["PATIENT"]) / "go")
    return await quick(call)


def _wait_for(file: Path) -> None:
    while not file.exists():
        time.sleep(0.02)


async def quick(call: Call) -> Any:
    ids = list(dict.fromkeys(re.findall(r"source (s\d+)", call.prompt))) or ["s1"]
    answers: dict[str, Any] = {
        "assess": {"complexity": 0.5, "aspects": ["caffeine"], "queries": ["caffeine"]},
        "synthesize": {
            "points": [{"text": "it is counted", "source_ids": ids[:1]}],
            "outline": [{"heading": "Counted", "points": ["it is"], "source_ids": ids[:1]}],
        },
        "write_article": "# Caffeine\n\nIt is counted.\n\n"
        + "\n\n".join(
            f"## Part {nth}\n\nSource {nth} counted 5 of them [@{source_id}]."
            for nth, source_id in enumerate(ids)
        ),
        "fact_check": {"checks": []},
        "edit": {"article": "x", "grammar": 0.9},
        "judge": {"coverage": 0.9, "tone": 0.9},
    }
    return answers[call.task]
