"""How long an article is, against what was asked for."""

from __future__ import annotations

from math import ceil

NEAR = 0.10
"""So far from the target, up or down, nothing is lost."""
WORDS_A_MINUTE = 220


def length_score(words: int, target: int) -> float:
    """1 within a tenth of the target, then falling evenly: 0 for nothing at all and for twice as much."""
    if target <= 0:
        return 1.0
    away = abs(words - target) / target
    return max(0.0, min(1.0, 1 - (away - NEAR) / (1 - NEAR)))


def reading_minutes(words: int) -> int:
    """How long reading takes, in whole minutes; anything takes at least one."""
    return ceil(words / WORDS_A_MINUTE)
