"""The generic report as one HTML file: no script, nothing remote, light, dark and on paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import PackageLoader
from markupsafe import Markup

from podium.report.facts import Facts, StepFacts
from podium.report.frame import templates_of
from podium.report.presentation import Section
from podium.report.prose import prose
from podium.report.words import one_line, pretty, safe, shorten, without_title

BARS = 80
"""How many steps the timeline draws; the table holds all."""

MOST_STEPS = 300
MOST_ARTIFACTS = 40
"""How many rows the tables hold; a run may have thousands, and a page has to open."""

LONGEST_REQUEST = 10_000
"""Characters of the request that the footer repeats; some are whole books."""

SIGNS = {
    "completed": "✓", "partial": "◐", "failed": "✗", "waiting": "?", "paused": "■", "cancelled": "■",
    "running": "●", "queued": "○", "interrupted": "■", "stale": "↻",
}  # fmt: skip


def to_html(facts: Facts, sections: Sequence[Section] = (), answer: Section | None = None) -> str:
    """A self-contained page. `answer` shows the deliverable where plain Markdown cannot."""
    page = templates_of("podium.report").get_template("report.html")
    document = without_title(facts.deliverable, facts.request) if facts.deliverable else ""
    has_data = facts.deliverable is None and facts.output is not None
    return page.render(
        facts=facts,
        rehearsal=facts.rehearsal,
        title=shorten(one_line(facts.request), 120),
        request=shorten(safe(facts.request), LONGEST_REQUEST),
        answer=prose(document) if document and answer is None else None,
        shown=_rendered(answer) if answer is not None else None,
        data=safe(pretty(facts.output)) if has_data else "",
        sections=[(section.title, _rendered(section)) for section in sections],
        styles=[Markup(style) for style in dict.fromkeys(_styles(sections, answer))],
        bars=bars(facts.steps),
        steps=telling_steps(facts.steps),
        artifacts=facts.artifacts[:MOST_ARTIFACTS],
        costs=any(step.usage.usd for step in facts.steps),
        retries=any(step.retries for step in facts.steps),
        signs=SIGNS,
    )


def _rendered(section: Section) -> Markup:
    page = templates_of(section.package).get_template(section.template)
    return Markup(page.render(data=section.data, **section.context))


def _styles(sections: Sequence[Section], answer: Section | None) -> list[str]:
    """Each file of CSS that is needed."""
    needed = [answer, *sections] if answer is not None else sections
    return [_source(section) for section in needed if section.style]


def _source(section: Section) -> str:
    loader = PackageLoader(section.package)
    return loader.get_source(templates_of(section.package), section.style)[0]


def telling_steps(steps: list[StepFacts]) -> list[StepFacts]:
    """As many as a table may hold, in their order: what did not go well before what did."""
    if len(steps) <= MOST_STEPS:
        return steps
    by_interest = sorted(range(len(steps)), key=lambda nth: (steps[nth].status == "completed", nth))
    return [steps[nth] for nth in sorted(by_interest[:MOST_STEPS])]


def bars(steps: list[StepFacts]) -> list[dict[str, Any]]:
    """The timeline: where each step lies between the first beginning and the last end, in percent."""
    timed = [step for step in steps if step.duration_s is not None and not step.inherited]
    if len(timed) < 2:
        return []
    begin = min(step.offset_s for step in timed)
    whole = max(step.offset_s + (step.duration_s or 0) for step in timed) - begin
    if whole <= 0:
        return []
    return [
        {
            "left": round(100 * (step.offset_s - begin) / whole, 2),
            "width": max(round(100 * (step.duration_s or 0) / whole, 2), 0.4),
            "step": step,
        }
        for step in timed[:BARS]
    ]
