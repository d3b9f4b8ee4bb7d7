"""Whatever a provider does wrong is one clear sentence, in time, and leads nowhere else."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable

import pytest

from podium.tools.sources.online import (
    Arxiv,
    Feeds,
    HackerNews,
    NewsSearch,
    OpenAlex,
    ProviderClient,
    WebSearch,
)
from podium.tools.sources.providers import Provider
from podium.tools.tool import ToolError
from podium.tools.web import Brave, Tavily
from tests.tools.site import Answer, serving
from tests.tools.sources.apis import OPENALEX, said

Opened = Callable[[str, float], Provider]
PROVIDERS: dict[str, Opened] = {
    "arXiv": Arxiv,
    "OpenAlex": lambda url, seconds: OpenAlex(url, "", seconds),
    "Hacker News": HackerNews,
    "News": lambda url, seconds: NewsSearch(f"{url}/news?q={{query}}", seconds),
    "The feed of": lambda url, seconds: Feeds([f"{url}/feed"], seconds),
    "Tavily": lambda url, seconds: WebSearch(Tavily("key", url), seconds),
    "Brave": lambda url, seconds: WebSearch(Brave("key", url), seconds),
}
PATHS = ("/api/query", "/works", "/api/v1/search", "/news", "/feed", "/search", "/res/v1/web/search")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(b"slow down", "text/plain", 429), "too many requests"),
        (Answer(b"oops", "text/plain", 500), "answered 500"),
        (Answer(b"gone", "text/plain", 404), "answered 404"),
        (Answer(b"<!doctype html><html><p>Please log in</p>", "text/html"), "not JSON|not a feed"),
        (Answer(b'<rss><channel><item><title>x"', "application/xml"), "not JSON|not a feed"),
        (Answer(b'{"results": [{"ti', "application/json"), "not JSON|not a feed"),
        (Answer(b""), "not JSON|not a feed"),
        (Answer(b"not gzip", headers={"Content-Encoding": "gzip"}), "not validly compressed"),
    ],
    ids=["429", "500", "404", "html", "broken xml", "broken json", "empty", "not gzip"],
)
@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_fault_is_one_sentence_that_names_the_provider(
    name: str, answer: Answer, message: str
) -> None:
    async with serving() as site:
        site.pages |= dict.fromkeys(PATHS, answer)
        with pytest.raises(ToolError, match=message) as caught:
            await PROVIDERS[name](site.url, 10).search("tides", 5)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(site.asked) == 1


@pytest.mark.parametrize("name", PROVIDERS)
async def test_an_endless_answer_and_one_that_unfolds_are_cut(name: str) -> None:
    bomb = Answer(gzip.compress(b" " * 50_000_000), headers={"Content-Encoding": "gzip"})
    for answer in (Answer(endless=b" " * 65_536), bomb):
        async with serving() as site:
            site.pages |= dict.fromkeys(PATHS, answer)
            with pytest.raises(ToolError, match=r"more than 5 MB|not JSON|not a feed"):
                await PROVIDERS[name](site.url, 30).search("tides", 5)


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_slow_drip_ends_with_the_time_for_the_whole(name: str) -> None:
    async with serving() as site:
        site.pages |= dict.fromkeys(PATHS, Answer(endless=b" ", pause=0.01))
        with pytest.raises(ToolError, match=r"took longer than 0\.3 s"):
            await PROVIDERS[name](site.url, 0.3).search("tides", 5)


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_provider_that_is_not_there_is_reported(name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(ToolError, match=r"127\.0\.0\.1 could not be reached"):
        await PROVIDERS[name](f"http://127.0.0.1:{port}", 5).search("tides", 5)


@pytest.mark.parametrize("name", [name for name in PROVIDERS if name not in ("Tavily", "Brave")])
@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{port}/secret",
        "http://localhost:{port}/secret",
        "//0x7f.1:{port}/secret",
        "http://[::ffff:127.0.0.1]:{port}/secret",
        "http://169.254.169.254/latest/meta-data/",
        "file:///etc/passwd",
    ],
)
async def test_a_redirect_to_a_private_address_makes_no_connection(name: str, location: str) -> None:
    async with serving(secret=Answer(b"inside")) as inside, serving() as site:
        away = Answer(status=302, headers={"Location": location.format(port=inside.port)})
        site.pages |= dict.fromkeys(PATHS, away)
        with pytest.raises(ToolError, match=r"is not a public address|Only http"):
            await PROVIDERS[name](site.url, 10).search("tides", 5)
        assert inside.asked == []


@pytest.mark.parametrize("name", ["Tavily", "Brave"])
async def test_an_engine_with_a_key_is_not_followed_elsewhere(name: str) -> None:
    async with serving(secret=Answer(b"inside")) as inside, serving() as site:
        site.pages |= dict.fromkeys(PATHS, Answer(status=302, headers={"Location": f"{inside.url}/secret"}))
        with pytest.raises(ToolError, match="answered 302"):
            await PROVIDERS[name](site.url, 10).search("tides", 5)
        assert inside.asked == []


async def test_a_redirect_within_the_same_address_is_followed_a_few_times() -> None:
    async with serving(works=Answer(status=301, headers={"Location": "/v2"}), v2=said(OPENALEX)) as site:
        assert len(await OpenAlex(site.url).search("tides", 5)) == 2
        site.pages["/v2"] = Answer(status=301, headers={"Location": "/works"})
        with pytest.raises(ToolError, match="OpenAlex redirects more than 3 times"):
            await OpenAlex(site.url).search("tides", 5)


async def test_an_address_that_no_user_named_must_be_public() -> None:
    async with serving(page=Answer(b"inside")) as site:
        with pytest.raises(ToolError, match=r"Somebody: 127\.0\.0\.1 is refused: .* not a public address"):
            await ProviderClient("Somebody").get(f"{site.url}/page")
        assert site.asked == []


async def test_how_long_to_wait_is_reported() -> None:
    async with serving(works=Answer(status=429, headers={"Retry-After": "30"})) as site:
        with pytest.raises(ToolError, match=r"^OpenAlex refused too many requests; wait 30 s\.$"):
            await OpenAlex(site.url).search("tides", 5)


async def test_a_key_is_never_reported() -> None:
    async with serving(works=Answer(status=302, headers={"Location": "/works?api_key=key-secret"})) as site:
        with pytest.raises(ToolError) as caught:
            await OpenAlex(site.url, "key-secret").search("tides", 5)
        assert "key-secret" not in str(caught.value)
