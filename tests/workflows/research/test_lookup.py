"""The fact checker's tools: it looks claims up in the whole texts where a prompt shows only passages."""

from __future__ import annotations

import hashlib
from typing import Any

import podium
from podium.engine.log import Store
from podium.models.messages import ToolCall
from podium.tools.sources.providers import Found, Retrieved
from tests.workflows.research.crew import Crew, Shelves, checks_of, study, workflow_of

FEW = {"web_search": 2, "news_search": 0, "academic_search": 0}
HIDDEN = "In the last winter 77 boats were lost."


def words(seed: str) -> str:
    """Words that occur nowhere else."""
    return " ".join(hashlib.sha256(f"{seed} {nth}".encode()).hexdigest()[:9] for nth in range(160))


class LongShelves(Shelves):
    """Long sources; some of them hide a sentence that no query is about."""

    async def read(self, hit: Found, at: str) -> Retrieved:
        parts = [f"AI trends, causes and cases: {words(f'{hit.title} {nth}')}." for nth in range(50)]
        text = "\n\n".join([f"{hit.snippet} The whole text goes on.", *parts])
        text += f"\n\n{HIDDEN} {words(hit.title)}." if hit.title.endswith(" 1") else ""
        digest = hashlib.sha256(text.encode()).hexdigest()
        return Retrieved(
            hit.url, hit.title, text, hit.kind, hit.published, hit.authors, at, digest, "text/html"
        )


def found_by(call: podium.Call) -> str:
    return "\n".join(message.text for message in call.messages if message.role == "tool")


def looking(call: podium.Call) -> Any:
    """Look up what hides, then check as usual."""
    if call.tools and not found_by(call):
        return [ToolCall("search_sources", {"text": "boats lost in the last winter"})]
    return {"checks": checks_of(call.prompt, [])}


async def test_the_fact_checker_looks_claims_up_in_the_whole_sources(store: Store) -> None:
    crew = Crew({"fact_check": looking}, complexity=0.9)
    logged = await study(store, crew, shelves=LongShelves(FEW), min_quality=0.1)
    assert logged.result.status in ("completed", "partial"), logged.result.error
    first, second = crew.tasks("fact_check")[:2]
    assert [tool.name for tool in first.tools] == ["search_sources", "read_source"]
    assert "at most 6 times" in first.prompt
    assert HIDDEN not in first.prompt
    assert HIDDEN in found_by(second)
    assert found_by(second).startswith("BEGIN UNTRUSTED")
    steps = [path for path, kind, _ in logged.rows if kind == "step.completed" and "/tool[1.0]" in path]
    assert len(steps) == 1
    before = len(crew.calls)
    replayed = await podium.replay(logged.result.run_id, workflow=workflow_of(LongShelves(FEW)), store=store)
    assert replayed.output == logged.output
    assert len(crew.calls) == before


async def test_a_check_has_no_tools_where_the_prompt_shows_everything(store: Store) -> None:
    crew = Crew()
    await study(store, crew)
    [check] = crew.tasks("fact_check")
    assert check.tools == ()
    assert "search_sources" not in check.prompt


async def test_an_unknown_source_is_reported_and_a_source_is_read_in_parts(store: Store) -> None:
    def reading(call: podium.Call) -> Any:
        if call.tools and not found_by(call):
            return [
                ToolCall("read_source", {"source_id": "s999"}),
                ToolCall("read_source", {"source_id": "s1", "offset": 12_000}),
            ]
        return {"checks": checks_of(call.prompt, [])}

    crew = Crew({"fact_check": reading}, complexity=0.9)
    await study(store, crew, shelves=LongShelves(FEW), min_quality=0.1)
    results = found_by(crew.tasks("fact_check")[1])
    assert "there is no source s999; there are: s1" in results
    assert "[characters 12,000 to" in results
