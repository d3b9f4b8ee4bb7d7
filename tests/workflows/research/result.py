"""A result as a run leaves it: an article about grid storage out of eight sources, checked claim by claim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from podium.workflows.research.article import content_of, html_of
from podium.workflows.research.contracts import (
    Article,
    Claim,
    Contradiction,
    FinalOutput,
    Metrics,
    Passage,
    PhaseEntry,
    Plan,
    PlanEntry,
    PlanStep,
    QualityScore,
    Source,
)
from podium.workflows.research.measures.citations import split_claims
from podium.workflows.research.measures.quotes import locate
from podium.workflows.research.measures.text import count_words, reading_minutes

EXAMPLE = Path(__file__).parent / "example"
ARTICLE = (EXAMPLE / "article.md").read_text(encoding="utf-8")
TEXTS = {file.stem: file.read_text(encoding="utf-8") for file in sorted(EXAMPLE.glob("s*.txt"))}


def _source(number: int, title: str, url: str, kind: Any, **more: Any) -> Source:
    text = TEXTS[f"s{number}"]
    return Source(
        id=f"s{number}",
        title=title,
        url=url,
        kind=kind,
        retrieved_at="2026-11-15T10:12:00Z",
        sha256=f"{number}f3a9c27e1b5" * 5,
        snippet=text[:120],
        relevance=1 - number / 12,
        **more,
    )


SOURCES = [
    _source(
        1,
        "Global storage outlook 2024",
        "https://www.energy-agency.example/reports/storage-2024",
        "web",
        authors=["International Energy Agency"],
        published="2024-04-25",
        provider="tavily",
    ),
    _source(
        2,
        "Calendar and cycle ageing of 96 cells over three years",
        "https://arxiv.example/abs/2401.01234",
        "academic",
        authors=["Mira van der Berg", "Tomás Ruiz", "Li Wei"],
        published="2024-01-18",
        provider="arxiv",
    ),
    _source(
        3,
        "Planning notes: storage at the harbour",
        "corpus:planning/harbour-storage.md",
        "corpus",
        provider="corpus",
    ),
    _source(
        4,
        "How a battery held the frequency",
        "https://grid-news.example/2023/frequency",
        "news",
        authors=["Ana Park"],
        published="2023-09-02",
        provider="rss",
    ),
    _source(
        5,
        "Battery price survey 2023",
        "https://prices.example/survey/2023",
        "web",
        published="2023-11-27",
        provider="tavily",
    ),
    _source(
        6,
        "Two containers instead of a line",
        "https://grid-news.example/2024/feeder",
        "news",
        authors=["Jo Brandt"],
        published="2024-06-11",
        provider="rss",
    ),
    _source(
        7,
        "Product sheet: iron-air and phosphate cells",
        "https://cells.example/sheet.pdf",
        "web",
        provider="tavily",
        full_text=False,
    ),
    _source(
        8,
        "Fleet report: four summers",
        "corpus:operators/fleet-report.pdf",
        "corpus",
        published="2024",
        provider="corpus",
    ),
]

QUOTES = {
    "90 gigawatts": ("s1", "storage built into the grid passed 90 gigawatts worldwide in 2023"),
    "almost all": ("s2", "Solar output in the region covered 94 percent of demand at noon"),
    "150 milliseconds": ("s4", "The battery answered within 150 milliseconds of the trip"),
    "Putting off": ("s6", "which put off the line by eight years"),
    "fell by 14": ("s5", "Prices of cells fell by 14 percent in 2023 to 139 dollars per kilowatt-hour"),
    "four-hour": ("s3", "between 250 and 400 dollars per kilowatt-hour"),
    "6,000": ("s7", "good for 6,000 cycles"),
    "One operator": ("s2", "the capacity lost less than one percent a year"),
    "quickest": ("s1", "the quickest thing that a grid operator can build"),
    "Holding": ("s4", "The frequency never left its band."),
}
REASONS = {
    "One operator": ("contradicted", "The laboratory study and the fleet report differ by a factor of two."),
    "6,000": ("unverified", "The sheet names the cycles, not the years."),
}


def claims() -> list[Claim]:
    """Every claim of the article, tied to its words as the fact checker does it."""
    found: list[Claim] = []
    for number, one in enumerate(split_claims(ARTICLE), 1):
        key = next((key for key in QUOTES if key in one.text), "")
        source, quote = QUOTES.get(key, ("", ""))
        place = locate(quote, TEXTS.get(source, "")) or (-1, -1)
        verdict, reason = REASONS.get(
            key, ("verified" if quote else "unverified", "" if quote else "No words.")
        )
        found.append(
            Claim.model_validate(
                {
                    "id": f"c{number}",
                    "text": one.text,
                    "source_ids": list(one.source_ids),
                    "verdict": verdict,
                    "quote": TEXTS[source][slice(*place)] if source else "",
                    "quote_source": source,
                    "start": place[0],
                    "end": place[1],
                    "reason": reason,
                }
            )
        )
    return found


def _plan(number: int, research: list[str], quality: list[str]) -> Plan:
    steps = [
        ("Research", research, "parallel"),
        ("Analysis", ["content_synthesizer"], "sequential"),
        ("Writing", ["article_writer"], "sequential"),
        ("Quality", quality, "parallel"),
    ]
    return Plan(
        plan_id=f"plan_00{number}",
        complexity=0.55,
        level="medium",
        estimated_time=1020,
        estimated_cost=2.4,
        steps=[
            PlanStep.model_validate(
                {
                    "name": name,
                    "category": name.lower(),
                    "workers": workers,
                    "mode": mode,
                    "estimated_time": 240,
                    "estimated_cost": 0.6,
                }
            )
            for name, workers, mode in steps
        ],
    )


def result(markdown: str = ARTICLE, style: str = "numeric", **changed: Any) -> FinalOutput:
    """The whole output; what is given replaces its part."""
    given: dict[str, Any] = {"sources": SOURCES, "claims": claims(), "texts": TEXTS} | changed
    words = count_words(markdown)
    article = Article(
        title="How batteries are changing the electricity grid",
        content=content_of(markdown, given["sources"], style),
        html=html_of(markdown, given["sources"], given["claims"], given.pop("texts"), style),
        word_count=words,
        reading_time=reading_minutes(words),
        cited=["s1", "s2", "s3", "s4", "s6", "s5", "s7", "s8"],
    )
    phases = "initialized planning strategy executing evaluating re_planning planning strategy executing"
    names = [*phases.split(), "evaluating", "merging", "completed"]
    known: dict[str, Any] = {
        "request_id": "req_1",
        "execution_id": "run_1",
        "article": article,
        "status": "completed",
        "quality": QualityScore(
            overall=0.8825,
            article_quality=0.94,
            source_quality=0.89,
            factual_quality=0.81,
            writing_quality=0.88,
            threshold=0.8,
            parts={
                "article": {"coverage": 0.95, "length": 0.9, "structure": 0.97},
                "source": {"count": 0.8, "diversity": 1.0, "citations": 0.87},
                "factual": {"verified": 0.81},
                "writing": {"grammar": 0.95, "readability": 0.79, "tone": 0.9},
            },
        ),
        "contradictions": [
            Contradiction(
                about="How fast capacity fades",
                passages=[
                    _passage("s8", "Capacity fades by about two percent a year in our fleet"),
                    _passage("s2", "the capacity lost less than one percent a year"),
                ],
            )
        ],
        "metrics": Metrics(
            duration=49.2,
            cost=3.2,
            tokens=48210,
            iteration_count=2,
            improvement="+23 points (0.65 → 0.88)",
            tasks={"completed": 13, "kept": 4, "skipped": 1, "failed": 0},
            retries=2,
        ),
        "system_notes": ["Generated after 2 iterations to meet the quality threshold."],
        "warnings": ["News search unavailable: the feed did not answer.", "SEO optimization unavailable."],
        "phase_history": [
            PhaseEntry(from_=before, to=after, timestamp="2026-11-15T10:00:00Z")
            for before, after in zip(["", *names], names, strict=False)
        ],
        "plan_history": [
            PlanEntry(
                plan=_plan(1, ["web_search", "news_search"], ["fact_checker", "editor"]),
                quality=0.65,
                feedback=["Only 7 of 10 sources.", "No academic source."],
            ),
            PlanEntry(
                plan=_plan(
                    2,
                    ["web_search", "academic_search", "news_search", "web_scraper"],
                    ["fact_checker", "editor", "citation_formatter"],
                ),
                quality=0.8825,
            ),
        ],
    }
    return FinalOutput(**(known | given))


def _passage(source: str, quote: str) -> Passage:
    start, end = locate(quote, TEXTS[source]) or (-1, -1)
    return Passage(source_id=source, quote=quote, start=start, end=end)
