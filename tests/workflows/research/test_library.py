"""Where sources come from: several providers side by side, and a folder that is opened when it is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.settings import Settings
from podium.tools.sources.providers import Found, Kind
from podium.tools.tool import ToolError
from podium.workflows.research.library import Sources, ask_all
from podium.workflows.research.measures.text import relevance_of, terms_of
from podium.workflows.research.search import same

CORPUS = Path(__file__).parents[3] / "examples" / "corpus"


class Provider:
    def __init__(self, name: str, *urls: str, error: Exception | None = None) -> None:
        self.name = name
        self.kind: Kind = "web"
        self._urls, self._error = urls, error

    async def search(self, query: str, limit: int) -> list[Found]:
        if self._error is not None:
            raise self._error
        return [Found(self.name, url, "a snippet", "web") for url in self._urls]


async def test_results_come_in_the_order_of_the_providers() -> None:
    answer = await ask_all([Provider("a", "https://a/1"), Provider("b", "https://b/1")], "web_search", "x", 5)
    assert [one.url for one in answer.found] == ["https://a/1", "https://b/1"]
    assert answer.troubles == []


async def test_one_who_cannot_answer_is_a_trouble_and_all_of_them_a_failure() -> None:
    down = Provider("b", error=ToolError("b is down."))
    answer = await ask_all([Provider("a", "https://a/1"), down], "web_search", "x", 5)
    assert (len(answer.found), answer.troubles) == (1, ["b is down."])
    with pytest.raises(ToolError, match=r"b is down\. b is down\."):
        await ask_all([down, down], "web_search", "x", 5)
    with pytest.raises(ToolError, match="no source behind social_media"):
        await ask_all([], "social_media", "x", 5)


async def test_a_fault_of_the_program_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        await ask_all([Provider("a", error=KeyError("x"))], "web_search", "x", 5)


async def test_a_folder_is_opened_when_it_is_asked_and_read_whole(tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path / "podium.sqlite"))
    library = Sources(settings, str(CORPUS), online=False)
    answer = await library.search("web_search", "caffeine limits for adults", 3)
    assert answer.found[0].url.startswith("corpus:")
    text = await library.read(answer.found[0], "2026-01-01T00:00:00Z")
    assert len(text.text) > len(answer.found[0].snippet)
    assert (text.retrieved_at, text.kind) == ("2026-01-01T00:00:00Z", "corpus")
    assert (await library.look("")).documents >= 30


async def test_without_a_corpus_there_is_nothing_to_look_at() -> None:
    assert (await Sources(Settings(), "", online=True).look("")).documents == 0


# ── the same source, and the parts of it that matter ──


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://www.example.org/a/", "http://example.org/a"),
        ("https://example.org/A", "https://example.org/a"),
        ("https://example.org/a#part", "https://example.org/a"),
    ],
)
def test_spellings_of_one_address(one: str, other: str) -> None:
    assert same(one) == same(other)


def test_other_queries_are_other_pages() -> None:
    assert same("https://example.org/a?id=1") != same("https://example.org/a?id=2")
    assert same("corpus:A.md") != same("corpus:a.md")


def test_relevance_goes_by_the_words_of_the_topic() -> None:
    near = relevance_of("caffeine limits", ["adults"], "Caffeine limits", "for adults", 0)
    far = relevance_of("caffeine limits", ["adults"], "Gardens", "roses and lilies", 9)
    assert 0 <= far < near <= 1
    assert terms_of("What is the safe limit?") == {"safe", "limit"}
