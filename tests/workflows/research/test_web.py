"""Research on the web, with real requests: search interfaces and pages on loopback."""

from __future__ import annotations

import json
from ipaddress import ip_address
from typing import Any

import podium
from podium.engine.log import Store
from podium.settings import NewsOptions, ProviderOptions, Settings
from podium.tools.fetch import Address, Fetcher
from podium.tools.tool import ToolError
from podium.workflows.research.flow import research_with
from podium.workflows.research.library import Sources
from tests.tools.site import Answer, Site, serving
from tests.tools.sources.apis import OPENALEX
from tests.workflows.research.crew import Clock, Crew, research_run_of

PAGE = """<html><head><title>Tides {nth}</title></head><body><article><h1>Tides {nth}</h1>
<p>The survey {nth} counted {cases} high tides in the harbour in one year, more than anybody had thought.</p>
<p>{more}</p></article></body></html>"""
MORE = "The harbour is shallow, and the water comes in slowly and leaves it slowly. " * 6


def said(data: Any) -> Answer:
    return Answer(json.dumps(data).encode(), "application/json")


def pages() -> dict[str, Answer]:
    return {
        f"page-{nth}": Answer(PAGE.format(nth=nth, cases=nth * 100, more=MORE).encode())
        for nth in range(1, 5)
    }


def results(site: Site) -> Answer:
    found = [
        {
            "title": f"Tides {nth}",
            "url": f"{site.url}/page-{nth}",
            "content": f"The survey {nth} counted {nth * 100} high tides in the harbour in one year.",
        }
        for nth in range(1, 5)
    ]
    return said({"results": found})


def settings_for(site: Site) -> Settings:
    providers = {name: ProviderOptions(base_url=site.url) for name in ("tavily", "openalex", "arxiv")}
    return Settings(providers=providers, news=NewsOptions(search=f"{site.url}/news?q={{query}}"))


async def nothing_but_loopback(host: str, port: int) -> list[Address]:
    """No test may reach the real web."""
    if host != "127.0.0.1":
        raise ToolError(f"{host} could not be found.")
    return [ip_address(host)]


ANYWHERE = Fetcher(lambda address, port: "", nothing_but_loopback)
PUBLIC = Fetcher(resolve=nothing_but_loopback)


async def research(store: Store, site: Site, crew: Crew, fetcher: Fetcher) -> podium.RunResult:
    def library(settings: Settings, corpus: str, online: bool) -> Sources:
        return Sources(settings, corpus, online, env={"TAVILY_API_KEY": "a-key"}, fetcher=fetcher)

    options = {"preferred_sources": "web", "min_sources": 4, "min_quality": 0.3}
    return await podium.run(
        research_with(library, Clock()),
        "Tides in a harbour",
        model=crew,
        store=store,
        settings=settings_for(site),
        options=options,
    )


async def test_pages_are_searched_read_cited_and_kept(store: Store) -> None:
    async with serving(works=said(OPENALEX), **pages()) as site:
        site.pages["/search"] = results(site)
        crew = Crew(complexity=0.69)
        result = await research(store, site, crew, ANYWHERE)
        assert result.status == "completed"
        web = [one for one in result.output["sources"] if one["kind"] == "web"]
        assert {one["url"] for one in web} == {f"{site.url}/page-{nth}" for nth in range(1, 5)}
        assert all(one["full_text"] for one in web)
        made = {one.id: one.blob for one in result.artifacts}
        for one in web:
            assert "The harbour is shallow" in (await store.get_blob(made[one["artifact_id"]])).decode()
        asked = len(site.asked)
        again = await podium.replay(result.run_id, workflow=research_with(Sources, Clock()), store=store)
        assert again.output == result.output
        assert len(site.asked) == asked, "a replay asks nobody"


async def test_pages_on_private_addresses_are_not_read_and_the_snippets_do(store: Store) -> None:
    """The search interface is the user's own; where its results lead is a stranger's choice."""
    async with serving(works=said(OPENALEX), **pages()) as site:
        site.pages["/search"] = results(site)
        crew = Crew(complexity=0.69)
        result = await research(store, site, crew, PUBLIC)
        assert result.status == "completed"
        assert not [one.path for one in site.asked if one.path.startswith("/page-")]
        web = [one for one in result.output["sources"] if one["kind"] == "web"]
        assert len(web) == 4
        assert not any(one["full_text"] for one in web)
        logged = await research_run_of(store, result, crew)
        assert logged.all("worker_completed", worker="web_scraper")[0]["fallback"] == "snippets"


async def test_a_provider_in_trouble_is_reported_and_the_others_answer(store: Store) -> None:
    """arXiv has no page here, so it answers 404; OpenAlex stands behind the same worker."""
    async with serving(works=said(OPENALEX), **pages()) as site:
        site.pages["/search"] = results(site)
        result = await research(store, site, Crew(complexity=0.69), ANYWHERE)
        assert "arXiv answered 404." in result.warnings
        assert {one["provider"] for one in result.output["sources"]} >= {"OpenAlex"}
