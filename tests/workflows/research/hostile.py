"""A result in which every place that a model or a source can fill holds a text that tries to break out."""

from __future__ import annotations

from typing import Any

from podium.workflows.research.contracts import (
    Claim,
    Contradiction,
    FinalOutput,
    Metrics,
    Passage,
    Plan,
    PlanEntry,
    PlanStep,
    Source,
)
from podium.workflows.research.measures.citations import split_claims
from tests.payloads import RAN, payloads
from tests.workflows.research.result import result


def hostile_sources(beacon: str) -> tuple[list[Source], dict[str, str]]:
    """A source for each of the texts, made of nothing else."""
    bad = payloads(beacon)
    sources = [
        Source(
            id=f"s{number}",
            title=text,
            url=_address(number, beacon),
            kind="web",
            authors=[text, text],
            published=text,
            retrieved_at=text,
            sha256=text,
            snippet=text,
            provider=text,
            relevance=0.5,
        )
        for number, text in enumerate(bad, 1)
    ]
    return sources, {f"s{number}": f"{text} {text} {text}" for number, text in enumerate(bad, 1)}


def _address(number: int, beacon: str) -> str:
    spellings = [
        f"javascript:{RAN}",
        f"JaVaScRiPt:{RAN}",
        f"data:text/html,<script>{RAN}</script>",
        "file:///etc/passwd",
        f'{beacon}/a"><script>{RAN}</script>',
        f"vbscript:{RAN}",
        f"//{beacon}",
        f'corpus:"><script>{RAN}</script>',
    ]
    return spellings[number % len(spellings)]


def hostile_article(beacon: str) -> str:
    """Every text as a paragraph, a heading, an item, a cell and a quotation, each with a citation."""
    parts = [f"# {payloads(beacon)[0]}"]
    for number, text in enumerate(payloads(beacon), 1):
        flat = " ".join(text.split())
        parts += [f"## {text} [@s{number}]", f"{text} said 5 [@s{number}].", f"- {flat} [@s{number}]"]
        parts += [f"> {flat} [@s{number}; @s99]", f"| a | b |\n|---|---|\n| {flat} | [@s{number}] |"]
        parts += [f"[@s{number}]: {beacon}/definition", f"[x [@s{number}]]({beacon}/link '[@s{number}]')"]
        parts += [f"[@s{number}](javascript:{RAN})", f"![[@s{number}]]({beacon}/image.png)"]
    return "\n\n".join(parts)


def hostile_result(beacon: str) -> FinalOutput:
    bad = payloads(beacon)
    sources, kept = hostile_sources(beacon)
    article = hostile_article(beacon)
    claims = [
        Claim(
            id=f"c{number}",
            text=one.text,
            source_ids=list(one.source_ids),
            verdict="contradicted",
            quote=bad[number % len(bad)],
            quote_source=one.source_ids[0] if one.source_ids else "",
            start=0,
            end=len(bad[number % len(bad)]),
            reason=bad[(number + 1) % len(bad)],
        )
        for number, one in enumerate(split_claims(article))
    ]
    everything: dict[str, Any] = {
        "sources": sources,
        "texts": kept,
        "claims": claims,
        "warnings": bad,
        "system_notes": bad,
        "missing": bad,
        "unsupported": bad,
        "comparison": {"preferred": "draft", "why": bad},
        "contradictions": [
            Contradiction(
                about=text,
                passages=[
                    Passage(source_id="s1", quote=text, start=0, end=40),
                    Passage(source_id="s2", quote=text),
                ],
            )
            for text in bad
        ],
        "plan_history": [PlanEntry(plan=_plan(text), quality=0.5, feedback=[text]) for text in bad],
        "metrics": Metrics(
            duration=1, cost=1, tokens=1, iteration_count=2, improvement=bad[0], tasks={bad[1]: 1}
        ),
    }
    return result(article, **everything)


def _plan(text: str) -> Plan:
    step = PlanStep(
        name=text, category=text, workers=[text], mode="parallel", estimated_time=1, estimated_cost=1
    )
    return Plan(
        plan_id=text, complexity=0.5, level="medium", estimated_time=1, estimated_cost=1, steps=[step]
    )
