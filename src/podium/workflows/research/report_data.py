"""Report data of a research run besides the article, extracted from the run's output.

The output is the JSON form of `FinalOutput`. It is read from a log, so any part may be missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from podium.report.words import one_line, site_of, web_address
from podium.workflows.research.fold import AgentState
from podium.workflows.research.policy import WEIGHTS, WORKERS

Data = dict[str, Any]

NAMES = {"article": "Article", "source": "Sources", "factual": "Facts", "writing": "Writing"}
MEANINGS = {
    "article": "coverage, length and structure",
    "source": "count against the minimum, diversity and citations",
    "factual": "claims that a source confirms",
    "writing": "grammar, readability and tone",
}
SCORED = frozenset({"comparison", "quality", "doubts", "iterations", "workers"})
"""Parts of report and record that show scores or verdicts of models."""
SIGNS = {"verified": "✓", "unverified": "?", "contradicted": "✗", "": "·"}
"""Symbols of the verdicts."""
VERDICTS = {
    "verified": "verified",
    "unverified": "not verified",
    "contradicted": "contradicted",
    "": "not checked",
}
COMPARED = {
    "team": "Judged blind, the article is better than one direct draft",
    "draft": "Judged blind, one direct draft without sources is better than the article",
    "equal": "Judged blind, neither the article nor one direct draft is clearly better",
}
STATUSES = {
    "pending": "○",
    "running": "●",
    "completed": "✓",
    "kept": "=",
    "skipped": "!",
    "failed": "✗",
    "stopped": "■",
}
"""Symbols of the worker states."""
PHASES = {
    "initialized": "start",
    "planning": "plan",
    "strategy": "strategy",
    "executing": "work",
    "evaluating": "evaluation",
    "re_planning": "new plan",
    "merging": "merge",
    "completed": "done",
    "failed": "failed",
}
"""Short names of the phases."""


def rows(data: Any, key: str) -> list[Data]:
    """Return a list of objects from an output; empty if there is none."""
    value: Any = cast("Data", data).get(key) if isinstance(data, dict) else None
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("Data", item) for item in items if isinstance(item, dict)]


def part(data: Any, key: str) -> Data:
    """Return an object from an output; empty if there is none."""
    value: Any = cast("Data", data).get(key) if isinstance(data, dict) else None
    return cast("Data", value) if isinstance(value, dict) else {}


def against(value: float, threshold: float, unit: float = 1.0) -> tuple[str, str]:
    """Format two figures with just enough digits to see which is higher: `0.88`, `0.80`, or in percent."""
    for digits in (2, 3, 4) if unit == 1 else (0, 1, 2):
        texts = f"{value * unit:.{digits}f}", f"{threshold * unit:.{digits}f}"
        if texts[0] != texts[1] or value >= threshold:
            return texts
    return f"{value * unit:g}", f"{threshold * unit:g}"


def label_of(worker: str) -> str:
    known = WORKERS.get(worker)
    return known.label if known else one_line(worker, 60)


def quality_of(
    overall: float | None, threshold: float, components: Mapping[str, float | None], parts: Mapping[str, Any]
) -> Data:
    """Return the score against its threshold, and each component with its parts."""
    if overall is None:
        return {}
    reached, target = against(overall, threshold, 100)
    return {
        "overall": overall,
        "threshold": threshold,
        "percent": reached,
        "asked": target,
        "met": overall >= threshold,
        "components": [
            {
                "key": key,
                "name": NAMES[key],
                "weight": weight,
                "score": components.get(key),
                "meaning": MEANINGS[key],
                "parts": dict(parts.get(key) or {}),
            }
            for key, weight in WEIGHTS.items()
        ],
    }


def output_quality(output: Any) -> Data:
    """Return the same from the final output."""
    quality = part(output, "quality")
    scores = {key: quality.get(f"{key}_quality") for key in WEIGHTS}
    return quality_of(
        quality.get("overall"), quality.get("threshold") or 0.0, scores, quality.get("parts") or {}
    )


def iterations_of(entries: Sequence[Data], threshold: float) -> list[Data]:
    """Return every plan with its quality and the changes from the one before. An entry has plan, quality and
    feedback."""
    iterations: list[Data] = []
    before: list[str] = []
    for number, entry in enumerate(entries, 1):
        plan, quality = part(entry, "plan"), entry.get("quality")
        workers = [str(worker) for step in rows(plan, "steps") for worker in step.get("workers") or ()]
        iterations.append(
            {
                "number": number,
                "quality": quality,
                "threshold": threshold,
                "workers": workers,
                "percent": against(quality, threshold, 100)[0] if quality is not None else "",
                "added": [label_of(worker) for worker in workers if worker not in before] if before else [],
                "dropped": [label_of(worker) for worker in before if worker not in workers],
                "feedback": [str(line) for line in entry.get("feedback") or ()],
                "estimated_cost": plan.get("estimated_cost"),
                "estimated_time": plan.get("estimated_time"),
                "steps": [
                    {
                        "name": step.get("name"),
                        "mode": step.get("mode"),
                        "workers": [label_of(str(worker)) for worker in step.get("workers") or ()],
                    }
                    for step in rows(plan, "steps")
                ],
            }
        )
        before = workers
    return iterations


def sources_of(output: Any) -> list[Data]:
    """Return all sources, cited ones first in order of citation. A failed run has them too."""
    cited = [str(source_id) for source_id in part(output, "article").get("cited") or ()]
    used = Counter(
        str(source_id) for claim in rows(output, "claims") for source_id in claim.get("source_ids") or ()
    )
    listed = rows(output, "sources") or rows(part(output, "partial_results"), "sources")
    sources = [_source(data, cited, used) for data in listed]
    return sorted(sources, key=lambda source: source["number"] or len(cited) + 1)


def _source(data: Data, cited: list[str], used: Counter[str]) -> Data:
    texts = ("id", "title", "url", "kind", "published", "provider", "retrieved_at", "sha256")
    fields: Data = {key: str(data.get(key) or "") for key in texts}
    relevance = data.get("relevance")
    return fields | {
        "authors": [str(author) for author in data.get("authors") or ()],
        "relevance": min(max(relevance, 0.0), 1.0) if isinstance(relevance, float | int) else 0.0,
        "full_text": bool(data.get("full_text", True)),
        "number": cited.index(fields["id"]) + 1 if fields["id"] in cited else None,
        "link": web_address(fields["url"]),
        "site": site_of(fields["url"]),
        "place": fields["url"].removeprefix("corpus:"),
        "claims": used[fields["id"]],
    }


def contradictions_of(output: Any, passages: Sequence[Sequence[Data]] = ()) -> list[Data]:
    """Return the contradictions between sources. `passages` holds their surroundings, if available."""
    titles = {source["id"]: source for source in sources_of(output)}
    return [
        {
            "about": str(contradiction.get("about", "")),
            "sides": [
                {
                    "source": titles.get(str(side.get("source_id")), {}),
                    "before": "",
                    "after": "",
                    "quote": str(side.get("quote", "")),
                }
                | (passages[nth][at] if nth < len(passages) else {})
                for at, side in enumerate(rows(contradiction, "passages"))
            ],
        }
        for nth, contradiction in enumerate(rows(output, "contradictions"))
    ]


def checks_of(output: Any) -> Data:
    """Return the verdicts of the claims, and the claims that are not verified."""
    claims = [
        {key: str(claim.get(key) or "") for key in ("verdict", "text", "reason")}
        | {"cites": bool(claim.get("source_ids"))}
        for claim in rows(output, "claims")
    ]
    return {
        "claims": len(claims),
        "verdicts": dict(Counter(claim["verdict"] for claim in claims)),
        "doubtful": [claim for claim in claims if claim["verdict"] != "verified"],
    }


def missing_of(output: Any) -> Data:
    """Return the aspects that the article leaves out, points without a source, and unsourced statements;
    empty if there are none."""
    result: Data = {"coverage": None, "missing": [], "unsupported": [], "unsourced": []}
    if not isinstance(output, dict):
        return {}
    data = cast("Data", output)
    coverage = data.get("coverage")
    result["coverage"] = coverage if isinstance(coverage, float | int) else None
    lists = {**data, "unsourced": part(output, "article").get("unsourced")}
    for key in ("missing", "unsupported", "unsourced"):
        listed: Any = lists.get(key)
        result[key] = [str(point) for point in cast("list[Any]", listed)] if isinstance(listed, list) else []
    return result if result["missing"] or result["unsupported"] or result["unsourced"] else {}


def comparison_of(output: Any) -> Data:
    """Return the result of the blind comparison with the direct draft; empty if there was none."""
    comparison = part(output, "comparison")
    if not comparison:
        return {}
    preferred = str(comparison.get("preferred"))
    return {
        "preferred": preferred,
        "verdict": COMPARED.get(preferred, preferred),
        "why": [str(reason) for reason in comparison.get("why") or ()],
    }


def kinds_of(sources: Sequence[Data]) -> dict[str, int]:
    """Return the number of sources of each kind, the most frequent first."""
    return dict(Counter(str(source.get("kind")) for source in sources).most_common())


def workers_of(state: AgentState, *, alive: bool) -> list[Data]:
    """Return all workers in the order in which they started."""
    workers: list[Data] = []
    for task in state.all_tasks:
        status = "kept" if task.kept else task.status
        status = "stopped" if status == "running" and not alive else status
        workers.append(
            {
                "iteration": task.iteration,
                "worker": task.worker,
                "name": label_of(task.worker),
                "category": task.category,
                "status": status,
                "sign": STATUSES.get(status, "·"),
                "attempts": task.attempts,
                "error": task.error,
                "cost": task.charge.usd,
                "fallback": label_of(task.fallback) if task.fallback else "",
            }
        )
    return workers
