"""A discussion that is made of nothing but texts that try to break out of a page."""

from __future__ import annotations

from typing import Any

from tests.payloads import RAN, payloads
from tests.workflows.council.team import Team, evaluation, known_ids


def hostile_team(beacon: str) -> Team:
    """Every text in every place that a model can fill."""
    bad = payloads(beacon)

    def spread(nth: int) -> str:
        return bad[nth % len(bad)]

    def evaluate(call: Any) -> dict[str, Any]:
        return {
            "evaluations": [
                evaluation(name, 7, pros=[spread(nth)], cons=[spread(nth + 1)], feedback=spread(nth + 2))
                for nth, name in enumerate(known_ids(call))
            ]
        }

    everything = "\n\n".join(bad)
    return Team(
        {
            "kickoff": everything,
            "research": {
                "text": everything,
                "evidence": [{"claim": text, "source": text, "link": text} for text in bad]
                + [{"claim": "x", "source": "y", "link": f"javascript:{RAN}"}],
            },
            "ideate": {"ideas": [{"title": text, "description": text, "category": text} for text in bad]},
            "critique": {
                "text": everything,
                "risks": [
                    {"risk": text, "idea": "I1", "severity": "high", "mitigation": text} for text in bad
                ],
                "open_questions": bad,
            },
            "implement": {
                "text": everything,
                "next_steps": [{"step": text, "idea": "I1", "effort": text} for text in bad],
            },
            "rebut": everything,
            "synthesize": everything,
            "validate": evaluate,
            "select": {"choice": "I1", "reasoning": everything},
            "visualize": f'<html><head><script>{RAN}</script></head><body onload="{RAN}">'
            f'<h1>Our page</h1><p style="color: teal; position: fixed">Kept.</p>{everything}</body></html>',
        }
    )
