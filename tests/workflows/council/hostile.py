"""Texts that try to break out of a page, and a discussion that is made of nothing else."""

from __future__ import annotations

from typing import Any

from tests.workflows.council.team import Team, evaluation, known_ids

RAN = "document.documentElement.dataset.ran='1'"
"""What a script does that runs after all: the page's DOM tells."""


def texts(beacon: str) -> list[str]:
    """Twenty of them; `beacon` is an address that must never be called."""
    return [
        f"<script>{RAN}</script>",
        f"<img src=x onerror=\"{RAN}\">",
        f"<img src='{beacon}/img.png'>",
        f"![pixel]({beacon}/md.png)",
        f"[click](javascript:{RAN})",
        f"<a href=\"javascript:{RAN}\" autofocus onfocus=\"{RAN}\">x</a>",
        f"<svg onload=\"{RAN}\"><circle r=9></circle></svg>",
        f"<svg><script>{RAN}</script></svg>",
        f"<svg><image href='{beacon}/svg.png'/></svg>",
        f"<style>@import '{beacon}/style.css'; body{{background:url({beacon}/bg.png)}}</style>",
        f"<div style=\"background-image:url({beacon}/inline.png)\">x</div>",
        f"<iframe src='{beacon}/frame.html'></iframe>",
        f"<iframe srcdoc=\"<script>parent.{RAN}</script>\"></iframe>",
        f"<object data='{beacon}/object.swf'></object><embed src='{beacon}/embed'>",
        f"<link rel=stylesheet href='{beacon}/link.css'><base href='{beacon}/'>",
        f"<meta http-equiv=refresh content=\"0;url={beacon}/refresh\">",
        f"</title></style></svg></textarea></details><script>{RAN}</script>",
        f"\"><script>{RAN}</script><x y=\"",
        f"<form action='{beacon}/form'><input autofocus onfocus=\"{RAN}\"></form>",
        f"<math><mtext><table><mglyph><style><img src=x onerror=\"{RAN}\"></style></table></mtext></math>"
        f"<video poster='{beacon}/poster.png'><source src='{beacon}/v.mp4' onerror=\"{RAN}\"></video>"
        f"{{{{ 7 * 7 }}}} \x1b]0;title\x07 \u202e",
    ]  # fmt: skip


def hostile_team(beacon: str) -> Team:
    """Every text in every place that a model can fill."""
    bad = texts(beacon)

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
                "evidence": [{"claim": one, "source": one, "link": one} for one in bad]
                + [{"claim": "x", "source": "y", "link": f"javascript:{RAN}"}],
            },
            "ideate": {"ideas": [{"title": one, "description": one, "category": one} for one in bad]},
            "critique": {
                "text": everything,
                "risks": [{"risk": one, "idea": "I1", "severity": "high", "mitigation": one} for one in bad],
                "open_questions": bad,
            },
            "implement": {
                "text": everything,
                "next_steps": [{"step": one, "idea": "I1", "effort": one} for one in bad],
            },
            "rebut": everything,
            "synthesize": everything,
            "validate": evaluate,
            "select": {"choice": "I1", "reasoning": everything},
            "visualize": f'<html><head><script>{RAN}</script></head><body onload="{RAN}">'
            f'<h1>Our page</h1><p style="color: teal; position: fixed">Kept.</p>{everything}</body></html>',
        }
    )
