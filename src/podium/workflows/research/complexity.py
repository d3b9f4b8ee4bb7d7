"""How complex a topic is, without asking anybody: for estimates, and where the planner's model has failed."""

from __future__ import annotations

import re

from podium.workflows.research.contracts import Brief

DEPTH = {"light": -0.15, "standard": 0.0, "deep": 0.15}
CONTENT = {"blog_post": -0.1, "article": 0.0, "research_report": 0.1}
BASE = 0.6
DEMANDING = re.compile(
    r"\b(analy\w+|assess\w*|causes?|compar\w+|consequences|controvers\w+|debates?|effects?|ethic\w*|evidence|"
    r"forecasts?|future|impacts?|implications?|mechanisms?|policy|policies|predictions?|quantum|regulat\w+|"
    r"risks?|systematic|trade-?offs?|versus|vs)\b",
    re.IGNORECASE,
)
"""Words of topics that one page does not answer."""
EASY = re.compile(r"^\s*(what (is|are)|who (is|was)|how to|introduction to|basics of)\b", re.IGNORECASE)


def estimate_complexity(brief: Brief) -> float:
    """0 to 1, from the topic's words and from how much is asked for."""
    topic = brief.topic
    demanding = min(len({word.lower() for word, *_ in DEMANDING.findall(topic)}), 3) * 0.05
    easy = 0.1 if EASY.search(topic) else 0.0
    long = (brief.length - 1500) / 1500 * 0.05
    many = 0.05 if brief.min_sources >= 15 else 0.0
    value = BASE + DEPTH[brief.depth] + CONTENT[brief.content_type] + demanding - easy + long + many
    return round(min(max(value, 0.0), 1.0), 2)
