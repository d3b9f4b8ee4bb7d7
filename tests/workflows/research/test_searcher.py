"""The searcher: an agent with tools, asked where the queries of a search worker find too little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.models.messages import ToolCall
from podium.tools.sources.providers import Found, Retrieved
from podium.workflows.research.library import SearchAnswer
from podium.workflows.research.policy import LEAST_FOUND, finds_too_little
from tests.workflows.research.crew import Crew, Shelves, hit, study, workflow_of

FEW = {"web_search": 4, "news_search": 0, "academic_search": 7}
OTHER_WORDS = "other words"


class HiddenShelves(Shelves):
    """Sources that a worker with few results finds only with other words than the planner's."""

    def __init__(self, counts: dict[str, int] | None = None, failing: dict[str, int] | None = None) -> None:
        super().__init__(counts or FEW, failing)

    async def search(self, worker: str, query: str, limit: int) -> SearchAnswer:
        answer = await super().search(worker, query, limit)
        if query != OTHER_WORDS:
            return answer
        return SearchAnswer([hit(worker, nth) for nth in (41, 42)])


def tool_texts(call: podium.Call) -> list[str]:
    return [message.text for message in call.messages if message.role == "tool"]


def picking(*urls: str, calls: list[ToolCall] | None = None) -> Callable[[podium.Call], Any]:
    """A searcher that searches with other words and then picks these addresses."""

    def search(call: podium.Call) -> Any:
        if call.must_answer or tool_texts(call):
            return {"urls": list(urls)}
        return calls or [ToolCall("search", {"query": OTHER_WORDS})]

    return search


NEWS = "https://news.example.org/41"


def test_the_rule_counts_all_results_of_a_worker() -> None:
    assert [finds_too_little(found) for found in range(4)] == [True, True, False, False]
    assert LEAST_FOUND == 2


async def test_a_worker_that_finds_enough_asks_no_searcher(store: Store) -> None:
    crew = Crew()
    await study(store, crew, shelves=HiddenShelves({"news_search": 2}))
    assert crew.tasks("find_sources") == []


async def test_what_the_searcher_picks_becomes_a_source(store: Store) -> None:
    crew = Crew({"find_sources": picking(NEWS)})
    logged = await study(store, crew, shelves=HiddenShelves())
    assert logged.result.status == "completed", logged.result.error
    first, second = crew.tasks("find_sources")
    assert first.role == "searcher"
    assert [tool.name for tool in first.tools] == ["search", "read_page"]
    assert "cases" in first.prompt, "the queries that were tried"
    [results] = tool_texts(second)
    assert results.startswith("BEGIN UNTRUSTED")
    assert NEWS in results
    [done] = logged.all("worker_completed", worker="news_search")
    assert (done["result"]["found"], done["result"]["picked"], done["attempts"]) == (1, 1, 1)
    [source] = [source for source in logged.output["sources"] if source["url"] == NEWS]
    assert source["kind"] == "news"
    assert logged.output["warnings"] == []
    before = len(crew.calls)
    replayed = await podium.replay(logged.result.run_id, workflow=workflow_of(HiddenShelves()), store=store)
    assert replayed.output == logged.output
    assert len(crew.calls) == before


async def test_an_address_that_no_search_returned_is_dropped_and_named(store: Store) -> None:
    crew = Crew({"find_sources": picking("https://made-up.example.org/", NEWS, NEWS)})
    logged = await study(store, crew, shelves=HiddenShelves())
    urls = [source["url"] for source in logged.output["sources"]]
    assert NEWS in urls
    assert not any("made-up" in url for url in urls)
    [warning] = [warning for warning in logged.output["warnings"] if "made-up" in warning]
    assert "no search returned" in warning
    [done] = logged.all("worker_completed", worker="news_search")
    assert done["result"]["picked"] == 1


async def test_a_page_is_read_and_an_unknown_one_is_refused(store: Store) -> None:
    class Reading(HiddenShelves):
        async def read(self, hit: Found, at: str) -> Retrieved:
            assert at, "the time is recorded"
            return await super().read(hit, at)

    def search(call: podium.Call) -> Any:
        seen = tool_texts(call)
        if not seen:
            return [ToolCall("search", {"query": OTHER_WORDS})]
        if len(seen) == 1:
            addresses = [NEWS, "https://made-up.example.org/"]
            return [ToolCall("read_page", {"url": url}) for url in addresses]
        return {"urls": [NEWS]}

    crew = Crew({"find_sources": search})
    logged = await study(store, crew, shelves=Reading())
    _, page, unknown = tool_texts(crew.tasks("find_sources")[-1])
    assert "The whole text of News report 41" in page
    assert "no search returned" in unknown
    assert logged.result.status == "completed", logged.result.error


@pytest.mark.parametrize("answer", [RuntimeError("no answer"), picking(), "no data"])
async def test_a_searcher_that_fails_or_picks_nothing_does_not_fail_the_worker(
    store: Store, answer: Any
) -> None:
    crew = Crew({"find_sources": answer})
    logged = await study(store, crew, shelves=HiddenShelves())
    assert logged.result.status == "completed", logged.result.error
    [done] = logged.all("worker_completed", worker="news_search")
    assert (done["result"]["found"], done["attempts"]) == (0, 1)
    failed = not callable(answer)
    assert any("The searcher" in warning for warning in logged.output["warnings"]) == failed


async def test_the_turns_of_a_searcher_are_few(store: Store) -> None:
    def endless(call: podium.Call) -> Any:
        return {"urls": []} if call.must_answer else [ToolCall("search", {"query": "again"})]

    crew = Crew({"find_sources": endless})
    shelves = HiddenShelves()
    await study(store, crew, shelves=shelves)
    assert len(crew.tasks("find_sources")) == 4
    assert shelves.asked.count(("news_search", "again")) == 3


async def test_a_searcher_that_the_budget_does_not_allow_is_not_asked(store: Store) -> None:
    crew = Crew({"find_sources": picking(NEWS)})
    logged = await study(store, crew, shelves=HiddenShelves(), budget=podium.Budget(tokens=20_000))
    assert crew.tasks("find_sources") == []
    assert any("budget" in warning for warning in logged.output["warnings"])


async def test_the_fallback_of_a_worker_searches_on_with_its_own_sources(store: Store) -> None:
    crew = Crew({"find_sources": picking("https://web.example.org/41")})
    shelves = HiddenShelves({**FEW, "web_search": 1, "news_search": 3}, {"academic_search": 9})
    logged = await study(store, crew, shelves=shelves)
    [done] = logged.all("worker_completed", worker="academic_search")
    assert (done["fallback"], done["result"]["picked"]) == ("web_search", 1)


async def test_a_rehearsal_picks_among_what_its_searches_return(store: Store) -> None:
    class Bare(Shelves):
        async def search(self, worker: str, query: str, limit: int) -> SearchAnswer:
            self.asked.append((worker, query))
            return SearchAnswer([hit(worker, 1)])

    done = await podium.run(
        workflow_of(Bare()),
        "How boats are counted",
        model="rehearsal",
        store=store,
        options={"floor": False, "editor": False},
    )
    assert done.status in ("completed", "partial"), done.error
    events = await store.read(done.run_id)
    asked = [row.path for row in events if row.type == "model.asked" and "find_sources" in row.path]
    assert asked
