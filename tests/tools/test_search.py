"""Web search: the formats of the engines, their faults, and one shape of results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podium.settings import ProviderOptions, Settings
from podium.tools.tool import ToolError
from podium.tools.toolbox import Toolbox
from podium.tools.web import Brave, Ddgs, Hit, SearchEngine, SearchWeb, Tavily, find, open_engine
from tests.tools.site import Answer, serving

TAVILY: dict[str, Any] = {
    "query": "quiet harbours",
    "answer": None,
    "images": [],
    "results": [
        {"title": "Harbours", "url": "https://a.example/1", "content": "Quiet\n ones.", "score": 0.9},
        {"title": "Bays", "url": "https://a.example/2", "content": "Wide ones.", "score": 0.8},
    ],
    "response_time": 1.2,
}
BRAVE: dict[str, Any] = {
    "type": "search",
    "query": {"original": "quiet harbours"},
    "web": {
        "type": "search",
        "results": [
            {"title": "Harbours", "url": "https://a.example/1", "description": "Quiet ones.", "age": "2026"},
            {"title": "Bays", "url": "https://a.example/2", "description": "Wide ones."},
        ],
    },
}
HITS = [
    Hit("Harbours", "https://a.example/1", "Quiet ones."),
    Hit("Bays", "https://a.example/2", "Wide ones."),
]


def said(data: Any, status: int = 200) -> Answer:
    return Answer(json.dumps(data).encode(), "application/json", status)


async def test_tavily_is_asked_in_its_format() -> None:
    async with serving(search=said(TAVILY)) as site:
        assert await find(Tavily("tvly-key", site.url), "quiet harbours", 5) == HITS
        request = site.asked[0]
        assert request.line == "POST /search HTTP/1.1"
        assert request.headers["authorization"] == "Bearer tvly-key"
        assert request.headers["content-type"] == "application/json"
        body = json.loads(request.body)
        assert (body["query"], body["max_results"]) == ("quiet harbours", 5)


async def test_brave_is_asked_in_its_format() -> None:
    async with serving(**{"res/v1/web/search": said(BRAVE)}) as site:
        assert await find(Brave("brave-key", site.url), "quiet harbours & bays", 5) == HITS
        request = site.asked[0]
        assert request.line == "GET /res/v1/web/search?q=quiet+harbours+%26+bays&count=5 HTTP/1.1"
        assert request.headers["x-subscription-token"] == "brave-key"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (said({"detail": "no"}, 401), "Tavily refused the key"),
        (said({"detail": "no"}, 429), "Tavily refused too many requests"),
        (said({}, 500), "Tavily answered 500"),
        (Answer(b"<html>", "text/html"), "Tavily sent a response that is not JSON"),
        (said([1]), "Tavily sent a response that is not JSON"),
    ],
)
async def test_a_fault_of_an_engine_is_reported_without_its_key(answer: Answer, message: str) -> None:
    async with serving(search=answer) as site:
        with pytest.raises(ToolError, match=message) as caught:
            await find(Tavily("tvly-secret", site.url), "x")
        assert "tvly-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "data", [{}, {"results": None}, {"results": [1, {}, {"url": "javascript:x"}]}, {"results": {}}]
)
async def test_results_of_another_shape_are_left_out(data: Any) -> None:
    async with serving(search=said(data)) as site:
        assert await find(Tavily("k", site.url), "x") == []


async def test_an_engine_that_is_slow_or_gone_is_reported() -> None:
    async with serving(search=Answer(endless=b" ", pause=0.01)) as site:
        with pytest.raises(ToolError, match=r"Web search \(Tavily\) took longer than 0\.2 s"):
            await find(Tavily("k", site.url), "x", seconds=0.2)
    with pytest.raises(ToolError, match=r"Web search \(Tavily\) failed: 127\.0\.0\.1 could not be reached"):
        await find(Tavily("k", site.url), "x")


async def test_a_model_sees_numbered_results_in_a_fence() -> None:
    async with serving(search=said(TAVILY)) as site:
        result = await SearchWeb(Tavily("k", site.url)).call({"query": "quiet harbours"})
        assert result.ok
        assert result.text.startswith("BEGIN UNTRUSTED")
        assert "1. Harbours\n   https://a.example/1\n   Quiet ones.\n2. Bays" in result.text
        site.pages["/search"] = said({"results": []})
        assert (await SearchWeb(Tavily("k", site.url)).call({"query": "nobody"})).text == (
            "Tavily found nothing for 'nobody'."
        )


@pytest.mark.parametrize(
    ("env", "engine"),
    [
        ({}, Ddgs),
        ({"BRAVE_API_KEY": "b"}, Brave),
        ({"TAVILY_API_KEY": "t"}, Tavily),
        ({"TAVILY_API_KEY": "t", "BRAVE_API_KEY": "b"}, Tavily),
    ],
)
def test_the_engine_follows_from_the_keys(env: dict[str, str], engine: type[SearchEngine]) -> None:
    assert isinstance(open_engine(Settings(), env), engine)


async def test_the_settings_may_name_another_address() -> None:
    async with serving(search=said(TAVILY)) as site:
        settings = Settings(providers={"tavily": ProviderOptions(base_url=site.url)})
        assert await find(open_engine(settings, {"TAVILY_API_KEY": "t"}), "x") == HITS


async def test_search_without_a_key_answers_or_says_in_one_sentence_why_not() -> None:
    async with Toolbox(web=True) as tools:
        result = await tools.call("search_web", {"query": "weather", "limit": 3})
    assert result.ok or result.error.startswith("Web search (DuckDuckGo and others)")
