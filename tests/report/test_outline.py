"""What a person is asked to decide on can be read: no brackets, no quotes, nothing that is empty."""

from __future__ import annotations

from typing import Any

from podium.report.words import document_outline as outline

CASES: list[tuple[Any, str]] = [
    ("# As it is\n\nwritten", "# As it is\n\nwritten"),
    (["1. Write it", "2. Test it"], "- 1. Write it\n- 2. Test it"),
    (
        [{"department": "story", "relevance": 0.85, "reason": "keywords: scene"}],
        "- story · relevance 0.85 · reason keywords: scene",
    ),
    ({"level": "medium", "refines": None, "cons": []}, "level: medium"),
    ({"estimated_cost": 2.40, "ready": True}, "estimated cost: 2.4\nready: yes"),
    (
        {"steps": [{"name": "Research", "workers": ["web", "news"], "cost": {"usd": 1}}]},
        "steps:\n  - Research · workers web, news\n    cost:\n      usd: 1",
    ),
    ([["a", "b"], "c"], "- - a\n  - b\n- c"),
    ([{}], ""),
    (3.0, "3"),
]


def test_a_value_is_reported_in_lines() -> None:
    for value, shown in CASES:
        assert outline(value) == shown
