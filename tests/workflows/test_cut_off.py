"""Texts that stay cut off: the agents that read them next know it, and so does every reader of the result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import podium
from podium.agents.ask import CUT_MARK
from podium.engine.codec import encode
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.models.model import FREE, Call, OnDelta, Reply, Usage, worst_case
from podium.report.data import facts_of
from podium.report.html import to_html
from podium.report.markdown import to_markdown
from podium.workflows import presentation_of
from tests.workflows.council.team import Team
from tests.workflows.research.crew import Crew as Writers
from tests.workflows.research.crew import workflow_of
from tests.workflows.scripted import BARE
from tests.workflows.studio.crew import WORKED
from tests.workflows.studio.crew import Crew as Studio


class CutTexts:
    """A model that answers by a script. Its texts are cut off, its data is complete; the data of the tasks in
    `cut_data` is cut off, too."""

    name = "cut-texts"
    rehearsal = False
    price = FREE

    def __init__(self, script: Callable[[Call], Awaitable[Any]], *cut_data: str) -> None:
        self.script = script
        self.cut_data = cut_data
        self.calls: list[Call] = []

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        self.calls.append(call)
        if call.task in self.cut_data:
            return Reply('{"', Usage(10, 110), finish="length")
        answer = await self.script(call)
        if call.schema is None:
            return Reply(str(answer), Usage(10, 110), finish="length")
        return Reply(encode(answer).decode(), Usage(10, 50))

    def worst_case(self, call: Call) -> podium.Charge:
        return worst_case(call, self.price)

    def asked_to(self, task: str) -> list[Call]:
        return [call for call in self.calls if call.task == task]


async def reports(store: Store, result: RunResult, workflow: str) -> tuple[str, str]:
    """Return the report of a run in HTML and in Markdown."""
    shown = presentation_of(workflow)
    events = [row.to_event(result.run_id) for row in await store.read(result.run_id)]
    for event in events:
        shown.apply(event)
    facts = facts_of(events, output=result.output, shown=shown)
    sections, answer = shown.sections(alive=False), shown.answer(result.output)
    return to_html(facts, sections, answer), to_markdown(facts, sections)


async def artifact(store: Store, result: RunResult, name: str) -> str:
    made = next(artifact for artifact in result.artifacts if artifact.name == name)
    return (await store.get_blob(made.blob)).decode()


def check_tops(html: str, markdown: str, answer: str) -> None:
    """Check that both reports say before the answer, and once, that it is not complete."""
    page = html.partition("<body")[2]
    assert 0 < page.index("Not complete") < page.index(answer)
    assert 0 < markdown.index("**Not complete.**") < markdown.index(answer)
    assert markdown.count("**Not complete.**") == 1


async def test_a_studio_marks_its_texts_for_graders_and_readers(store: Store) -> None:
    model = CutTexts(Studio())
    options = {"departments": "story,audio", "specialists": "always"}
    result = await podium.run("studio", WORKED, model=model, store=store, options=options)
    assert result.status == "completed"
    [first, *_] = model.asked_to("grade")
    assert CUT_MARK in first.prompt
    [synthesis, *_] = model.asked_to("synthesize")
    assert CUT_MARK in synthesis.prompt
    text = await artifact(store, result, "deliverable.md")
    assert CUT_MARK in text
    assert "texts were cut off and are not complete: aggregate, audio/" in text
    page = await artifact(store, result, "deliverable.html")
    assert "Not complete" in page.partition("<body")[2]
    assert any("was cut off after 110 tokens" in warning for warning in result.warnings)
    check_tops(*await reports(store, result, "studio"), "All in all.")


async def test_a_council_marks_its_texts_and_its_report(store: Store) -> None:
    model = CutTexts(Team())
    result = await podium.run("council", "the topic", model=model, store=store, options=BARE)
    assert result.status == "completed"
    assert CUT_MARK in model.asked_to("ideate")[0].prompt
    assert any("kickoff" in warning for warning in result.output["warnings"])
    page = (await artifact(store, result, "report.html")).partition("<body")[2]
    assert 0 < page.index("Not complete") < page.index("Idea 1")
    check_tops(*await reports(store, result, "council"), "Idea 1")


async def test_a_council_without_ideas_says_that_they_were_cut_off(store: Store) -> None:
    model = CutTexts(Team(), "ideate")
    result = await podium.run("council", "the topic", model=model, store=store, options=BARE)
    assert result.status == "failed"
    assert "the reply was cut off after 110 tokens, before its limit of 4,096 tokens" in result.error
    assert "raise that, or use another model" in result.hint
    assert len(result.warnings) == len(set(result.warnings)), "nothing is said twice"


async def test_research_marks_its_article_and_its_page(store: Store) -> None:
    model = CutTexts(Writers())
    result = await podium.run(
        workflow_of(),
        "AI trends",
        model=model,
        store=store,
        budget=podium.Budget(usd=5, seconds=7200),
        options=BARE,
    )
    assert result.output["article"], result.error
    assert CUT_MARK in model.asked_to("edit")[0].prompt
    assert any("write_article" in warning for warning in result.output["warnings"])
    page = (await artifact(store, result, "article.html")).partition("<body")[2]
    assert 0 < page.index("Not complete") < page.index('<article class="answer">')
    check_tops(*await reports(store, result, "research"), "First look")


async def test_a_worker_whose_data_is_cut_off_is_not_tried_again(store: Store) -> None:
    model = CutTexts(Writers(), "synthesize")
    result = await podium.run(
        workflow_of(),
        "AI trends",
        model=model,
        store=store,
        budget=podium.Budget(usd=5, seconds=7200),
        options=BARE,
    )
    assert [call.attempt for call in model.asked_to("synthesize")][:3] == [1, 2, 3]
    assert not [call for call in model.asked_to("synthesize") if "attempt[2]" in call.path]
    assert any("cut off after 110 tokens" in warning for warning in result.warnings)
