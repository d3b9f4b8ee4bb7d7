"""Every provider asks in the words of its interface, and gives results in one shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.settings import NewsOptions, ProviderOptions, Settings
from podium.tools.corpus.corpus import open_corpus
from podium.tools.sources.feeds import read_feed
from podium.tools.sources.online import Arxiv, Feeds, HackerNews, NewsSearch, OpenAlex, WebSearch
from podium.tools.sources.providers import WORKERS, Found, Missing, providers_for
from podium.tools.tool import ToolError
from podium.tools.web import Tavily
from tests.tools.corpus.shelves import TIDES, folder_with, settings_in
from tests.tools.site import Answer, serving
from tests.tools.sources.apis import (
    ARXIV,
    ARXIV_EMPTY,
    ARXIV_ERROR,
    ATOM,
    HACKER_NEWS,
    LAUGHS,
    OPENALEX,
    OUTSIDE,
    RDF,
    RSS,
    feed,
    said,
)


async def test_arxiv_is_asked_in_its_words_and_its_papers_have_a_text() -> None:
    async with serving(**{"api/query": feed(ARXIV)}) as site:
        results = await Arxiv(site.url).search("How do tides & winds differ?", 5)
        assert site.asked[0].path == (
            "/api/query?search_query=all%3Atides+OR+all%3Awinds+OR+all%3Adiffer&start=0&max_results=5"
            "&sortBy=relevance"
        )
    assert results[0] == Found(
        "Tides in shallow harbours",
        "https://arxiv.org/abs/2401.00001v2",
        "We measure tides & currents where $d < 10$ m.",
        "academic",
        "2024-01-01",
        ("Harbour Survey Group", "Sea School"),
        "arXiv",
        text_url="https://arxiv.org/pdf/2401.00001v2",
    )
    assert [result.title for result in results] == ["Tides in shallow harbours", "Winds"]


async def test_openalex_is_asked_in_its_words_and_abstracts_are_put_together() -> None:
    async with serving(works=said(OPENALEX)) as site:
        results = await OpenAlex(site.url, "key-1").search("the tides, daily", 3)
        path = site.asked[0].path
    assert path.startswith("/works?search=tides+daily&per-page=3&select=id%2Cdoi%2C")
    assert path.endswith("&api_key=key-1")
    assert results == [
        Found(
            "Tides in shallow harbours",
            "https://doi.org/10.1000/tides",
            "Tides are regular. Spring Tides",
            "academic",
            "2023-04-05",
            ("Harbour Survey Group", "Sea School"),
            "OpenAlex",
            text_url="https://repository.example/1.pdf",
        ),
        Found("Winds", "https://openalex.org/W2", "", "academic", provider="OpenAlex"),
    ]


async def test_hacker_news_gives_the_discussions() -> None:
    async with serving(**{"api/v1/search": said(HACKER_NEWS)}) as site:
        results = await HackerNews(site.url).search("tides", 5)
        assert site.asked[0].path == "/api/v1/search?query=tides&tags=story&hitsPerPage=5"
    assert results == [
        Found(
            "Show HN: Tides & boats",
            "https://news.ycombinator.com/item?id=101",
            "12 points, 3 comments.",
            "social",
            "2024-05-06",
            ("harbour",),
            "Hacker News",
        ),
        Found(
            "Ask HN: How do you read tide tables?",
            "https://news.ycombinator.com/item?id=102",
            "I have two tables. Which one? 5 points, 9 comments.",
            "social",
            "2023-01-02",
            ("sea",),
            "Hacker News",
        ),
    ]


async def test_a_news_search_gives_the_pages_themselves() -> None:
    async with serving(search=feed(RSS)) as site:
        news = NewsSearch(f"{site.url}/search?q={{query}}&format=rss")
        results = await news.search("tides & quay", 5)
        assert site.asked[0].path == "/search?q=tides+quay&format=rss"
    assert results == [
        Found(
            "Harbour closed by high tides",
            "https://paper.example/tides",
            "The tides rose above the quay.",
            "news",
            "2024-05-17",
            ("The Paper",),
            news.name,
        ),
        Found(
            "Boats return",
            "https://paper.example/boats",
            "All are well.",
            "news",
            "2024-05-18",
            ("Harbour Desk",),
            news.name,
        ),
    ]
    assert news.name == "News (127.0.0.1)"


async def test_of_feeds_those_entries_count_that_speak_of_the_question() -> None:
    async with serving(a=feed(RSS), b=feed(ATOM), c=feed(RDF), d=Answer(b"gone", status=404)) as site:
        feeds = Feeds([f"{site.url}/{name}" for name in "abcd"])
        results = await feeds.search("what about the tides", 10)
        assert [result.url for result in results] == [
            "https://harbour.example/today",
            "https://paper.example/tides",
            "https://old.example/1",
        ]
        assert results[0].title == "Tides today"
        assert results[0].authors == ("Harbour Office",)
        assert [result.published for result in results] == ["2024-05-19", "2024-05-17", "2003-04-05"]
        assert await feeds.search("volcanoes", 10) == []
        with pytest.raises(ToolError, match=r"The feed of 127\.0\.0\.1 answered 404"):
            await Feeds([f"{site.url}/d"]).search("tides", 10)


async def test_web_results_come_from_the_engines() -> None:
    results = {"results": [{"title": "", "url": "https://a.example/1", "content": "Quiet."}]}
    async with serving(search=said(results)) as site:
        hits = await WebSearch(Tavily("key", site.url)).search("tides", 5)
    assert hits == [Found("https://a.example/1", "https://a.example/1", "Quiet.", "web", provider="Tavily")]


async def test_a_corpus_stands_behind_any_worker_and_shows_where_a_passage_is(tmp_path: Path) -> None:
    corpus = await open_corpus(folder_with(tmp_path / "docs", a_dot_md=TIDES), settings_in(tmp_path))
    for worker in WORKERS:
        (provider,) = providers_for(worker, Settings(), corpus)
        assert (provider.name, provider.kind) == ("Corpus docs", "corpus")
        (result,) = await provider.search("low water", 5)
        assert result == Found(
            "Tides",
            "corpus:a.md",
            "Low water comes twice a day.",
            "corpus",
            "2024-05-17",
            ("Harbour Office",),
            "Corpus docs",
            start=0,
            end=28,
        )


def test_who_is_asked_follows_from_worker_settings_and_corpus() -> None:
    def names(worker: str, **more: object) -> list[str]:
        news = NewsOptions(**more)  # type: ignore[arg-type]
        return [provider.name for provider in providers_for(worker, Settings(news=news), env={})]

    assert names("web_search") == ["DuckDuckGo and others"]
    assert names("academic_search") == ["arXiv", "OpenAlex"]
    assert names("news_search") == ["Bing News"]
    assert names("news_search", feeds=["https://f.example/"]) == ["Bing News", "News feeds"]
    assert names("news_search", feeds=["https://f.example/"], search="") == ["News feeds"]
    assert names("news_search", search="https://s.example/?q={query}") == ["News (s.example)"]
    assert names("social_media") == ["Hacker News"]
    assert [provider.kind for provider in providers_for("academic_search", Settings(), env={})] == [
        "academic"
    ] * 2
    with pytest.raises(ValueError, match="'editor' is not a search worker"):
        providers_for("editor", Settings())


async def test_with_a_corpus_the_web_is_asked_only_when_that_is_wanted(tmp_path: Path) -> None:
    corpus = await open_corpus(folder_with(tmp_path / "docs", a_dot_md=TIDES), settings_in(tmp_path))
    both = providers_for("academic_search", Settings(), corpus, online=True)
    assert [provider.name for provider in both] == ["Corpus docs", "arXiv", "OpenAlex"]
    assert providers_for("academic_search", Settings(), online=False) == []


async def test_the_settings_may_name_other_addresses() -> None:
    async with serving(
        works=said(OPENALEX), **{"api/query": feed(ARXIV), "api/v1/search": said(HACKER_NEWS)}
    ) as site:
        names = ("arxiv", "openalex", "hackernews")
        settings = Settings(providers={name: ProviderOptions(base_url=site.url) for name in names})
        providers = [*providers_for("academic_search", settings), *providers_for("social_media", settings)]
        assert [len(await provider.search("tides", 5)) for provider in providers] == [2, 2, 2]


async def test_providers_that_are_not_installed_say_how_to_get_them() -> None:
    with pytest.raises(ToolError, match=r"pip install 'podium\[research\]'"):
        await Missing("web").search("tides", 5)


async def test_a_question_without_a_word_asks_nobody() -> None:
    async with serving() as site:
        for provider in (
            Arxiv(site.url),
            OpenAlex(site.url),
            HackerNews(site.url),
            NewsSearch(f"{site.url}/{{query}}"),
        ):
            assert await provider.search("?! …", 5) == []
            assert await provider.search("tides", 0) == []
        assert site.asked == []


async def test_what_arxiv_says_about_a_bad_question_is_reported() -> None:
    async with serving(**{"api/query": feed(ARXIV_ERROR)}) as site:
        with pytest.raises(ToolError, match="arXiv refused the query: max_results must be non-negative"):
            await Arxiv(site.url).search("tides", 5)
        site.pages["/api/query"] = feed(ARXIV_EMPTY)
        assert await Arxiv(site.url).search("tides", 5) == []


STRANGE: list[Any] = [
        {}, {"results": None, "hits": None}, {"results": {}, "hits": {}},
        {"results": [1, None, [], {}, {"display_name": "x", "id": "javascript:x"}], "hits": [1, None, {}]},
        {"hits": [{"objectID": "../../x", "title": "t"}, {"objectID": 1, "title": None}]},
        {"results": [{"id": 5, "doi": [], "authorships": {}, "abstract_inverted_index": {"c": [{}]}}]},
]  # fmt: skip


@pytest.mark.parametrize("data", STRANGE)
async def test_results_of_another_shape_are_left_out(data: object) -> None:
    async with serving(works=said(data), **{"api/v1/search": said(data)}) as site:
        assert await OpenAlex(site.url).search("tides", 5) == []
        assert await HackerNews(site.url).search("tides", 5) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (LAUGHS, "declares entities, which is refused"),
        (LAUGHS.decode().encode("utf-16"), "declares entities, which is refused"),
        (OUTSIDE, "declares entities, which is refused"),
        (b"<rss>" + b"<a>" * 200, "nested too deeply, which is refused"),
        (b"<html><body>Not here</body></html>", "not a feed"),
        (b"<rss><channel><item><title>cut", "not a feed"),
        (b"", "not a feed"),
        (b'{"items": []}', "not a feed"),
    ],
)
def test_a_feed_that_is_broken_or_hostile_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(ToolError, match=f"The feed sent .* {message}"):
        read_feed(body, "The feed")


async def test_the_definition_that_a_feed_refers_to_is_not_fetched() -> None:
    async with serving(**{"x.dtd": Answer(b'<!ENTITY x "inside">', "application/xml-dtd")}) as site:
        body = f"<!DOCTYPE rss SYSTEM '{site.url}/x.dtd'><rss><item><title>a&x;b</title></item></rss>"
        assert [entry.title for entry in read_feed(body.encode(), "f")] == ["ab"]
        assert site.asked == []


def test_a_feed_in_another_encoding_is_read() -> None:
    body = '<?xml version="1.0" encoding="iso-8859-1"?><rss><item><title>Käse</title></item></rss>'
    assert read_feed(body.encode("latin-1"), "f")[0].title == "Käse"
