"""Reports: the answer first, safe to open, the same facts in every format."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest

from podium.engine.codec import encode
from podium.engine.events import (
    ArtifactCreated,
    Charge,
    EventData,
    RunAnswered,
    RunCompleted,
    RunCreated,
    RunFailed,
    RunPartial,
    RunStarted,
    RunWaiting,
    RunWarned,
    StepCompleted,
    StepFailed,
    StepStarted,
)
from podium.models.events import ModelAttempted
from podium.report.data import ReportData, facts_of
from podium.report.html import prose, to_html
from podium.report.markdown import to_markdown
from tests.report.logs import log

HOSTILE = '<script>alert(1)</script><img src="http://evil/x.png" onerror=x> \x1b[31m'


def facts(
    *more: tuple[str, EventData],
    rehearsal: bool = False,
    output: Any = None,
    request: str = f"Tell a tale {HOSTILE}",
) -> ReportData:
    config = {"model": "m", "rehearsal": rehearsal}
    charge = Charge(usd=0.5, input_tokens=1000, output_tokens=200, calls=1)
    artifact = ArtifactCreated(id="a1", name="a.md", media_type="text/markdown", bytes=1200, blob="x")
    events = log(
        ("", RunCreated(workflow="/a/b/flow.py:tale", request=request, config=config, budget={"usd": 2.0})),
        ("", RunStarted()),
        ("draft", StepStarted(kind="ask", about={"agent": "writer"})),
        ("draft", ModelAttempted(attempt=1, model="m", ok=True, charge=charge, rehearsal=rehearsal)),
        ("draft", StepCompleted(result=msgspec.Raw(b'"x"'))),
        ("check", StepStarted()),
        ("check", StepFailed(error_type="ValueError", error=HOSTILE)),
        ("", RunWarned(message=f"thin ice {HOSTILE}")),
        ("q", RunWaiting(question="Publish?")),
        ("q", RunAnswered(answer="yes", by="ann")),
        ("artifact[a]", artifact),
        *more,
    )
    return facts_of(events, output=output)


class Page(HTMLParser):
    """What a browser would load or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "srcset", "data", "action"):
                self.links.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)


def test_the_page_runs_nothing_and_loads_nothing() -> None:
    output = (
        f"# Tale\n\n{HOSTILE}\n\n![b](http://evil/y.png) [x](javascript:alert(1)) [ok](https://example.org)"
    )
    page = Page(to_html(facts(("", RunCompleted(output=output)))))
    assert not {"script", "img", "iframe", "link", "object", "embed", "form"} & set(page.tags)
    assert page.handlers == []
    assert sorted(page.links) == ["http://evil/y.png", "https://example.org"]
    text = to_html(facts(("", RunCompleted(output=output))))
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text
    assert "\x1b" not in text


def test_the_answer_comes_first_then_how_it_came_about() -> None:
    text = to_html(facts(("", RunCompleted(output="# The tale\n\nOnce.", quality=0.87))))
    order = [
        text.index(part)
        for part in ("✓</span> completed", "<h1>The tale</h1>", "thin ice", "Steps</h2>", "How it came")
    ]
    assert order == sorted(order)
    for shown in (
        "flow.py:tale",
        "$0.50",
        "1 call",
        "quality 0.87",
        "writer",
        "a.md",
        "Publish?",
        "yes",
        "run0run0run0",
    ):
        assert shown in text, shown


def test_output_that_is_no_text_is_shown_as_json() -> None:
    text = to_html(facts(("", RunCompleted(output={"title": "<b>x</b>"}))))
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert "<b>x</b>" not in text


def test_a_large_output_is_handed_in() -> None:
    assert "from the blob" in to_html(facts(("", RunCompleted(blob="abc")), output="from the blob"))


@pytest.mark.parametrize("render", [to_html, to_markdown])
def test_a_rehearsal_says_so_at_the_top(render: Any) -> None:
    ended = ("", RunCompleted(output="the answer"))
    rehearsed = render(facts(ended, rehearsal=True))
    assert rehearsed.index("Rehearsal") < rehearsed.index("the answer")
    assert "Rehearsal" not in render(facts(ended))


def test_a_stopped_run_says_why() -> None:
    failed = to_html(facts(("", RunFailed(error="it <broke>", hint="mend it"))))
    assert "What went wrong" in failed
    assert "it &lt;broke&gt;" in failed
    assert "mend it" in failed
    partial = to_html(facts(("", RunPartial(stop_reason="budget", output="half", missing=["the end"]))))
    assert "partial (budget)" in partial
    assert "Missing: the end" in partial
    assert "There is no result yet." in to_html(facts())
    assert "There is no result." in failed


def test_the_footer_shows_ceilings_in_words_and_what_is_missing() -> None:
    text = to_html(
        facts(("", RunPartial(stop_reason="budget", output="half", missing=["the end", "an index"])))
    )
    assert "<dt>Ceilings</dt><dd>$2.00</dd>" in text
    assert "<dt>Missing</dt><dd>2 parts</dd>" in text
    assert "Missing</dt>" not in to_html(facts(("", RunCompleted(output="x"))))


@pytest.mark.parametrize("render", [to_html, to_markdown])
def test_a_document_does_not_repeat_the_title_above_it(render: Any) -> None:
    shown = facts(("", RunCompleted(output="# Write a tale\n\nOnce")), request="Write a tale")
    assert "Once" in render(shown)
    assert render(shown).count("Write a tale") == render(facts(request="Write a tale")).count("Write a tale")
    other = facts(("", RunCompleted(output="# The lighthouse\n\nOnce")), request="Write a tale")
    assert "The lighthouse" in render(other)


def test_columns_without_a_figure_are_left_out_and_paths_fold_at_slashes() -> None:
    text = to_html(facts(("a/<b>/c", StepStarted()), ("", RunCompleted(output="x"))))
    assert '<th class="n">Cost</th></tr>' in text
    assert "Retries" not in text
    assert "a/<wbr>&lt;b&gt;/<wbr>c" in text


def test_a_report_shows_nothing_of_the_folders_of_its_machine() -> None:
    mine = ModelAttempted(attempt=1, model="python:/srv/ann/mine.py:answer", ok=True, charge=Charge(calls=1))
    shown = facts(("draft", mine), ("", RunCompleted(output="x")))
    assert shown.models == ["m", "python:mine.py:answer"]
    for text in (to_html(shown), to_markdown(shown), encode(shown).decode()):
        assert "/srv/ann" not in text


def test_a_book_as_a_request_is_not_printed_again() -> None:
    shown = facts(("", RunCompleted(output="x")))
    shown.request = "word " * 100_000
    assert len(to_html(shown)) < 60_000


def test_a_step_of_a_run_that_stopped_is_not_running() -> None:
    assert [step.status for step in facts(("late", StepStarted())).steps][-1] == "running"
    stopped = facts(("late", StepStarted()), ("", RunFailed(error="x")))
    assert [step.status for step in stopped.steps][-1] == "interrupted"


def test_markdown_holds_the_same_and_cannot_be_broken_by_text() -> None:
    text = to_markdown(facts(("", RunCompleted(output="# The tale"))))
    assert text.index("# The tale") < text.index("## Warnings") < text.index("## Steps")
    warnings = next(line for line in text.splitlines() if "thin ice" in line)
    assert "\\<script\\>" in warnings
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}
    assert "\x1b" not in text


def test_facts_are_json() -> None:
    data = msgspec.json.decode(encode(facts(("", RunCompleted(output={"a": 1}, quality=0.5)))))
    assert data["output"] == {"a": 1}
    assert data["by_agent"]["writer"]["usd"] == 0.5
    assert [step["path"] for step in data["steps"]] == ["draft", "check"]
    assert data["answers"] == [{"path": "q", "question": "Publish?", "answer": "yes", "by": "ann"}]


def test_the_timeline_has_a_text_alternative() -> None:
    text = to_html(facts(("", RunCompleted(output="x"))))
    assert re.search(r'<svg[^>]*role="img"[^>]*aria-label="[^"]+"', text)
    assert "<title>draft: 2.0s</title>" in text


def test_prose_keeps_what_is_harmless() -> None:
    html = prose("# T\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\n1. x\n\n~~old~~ `code` <b>raw</b>")
    for kept in ("<h1>T</h1>", "<table>", "<ol>", "<s>old</s>", "<code>code</code>", "&lt;b&gt;raw"):
        assert kept in html, kept


def test_texts_that_were_cut_off_are_named_before_the_answer() -> None:
    paths = [f"part-{number}" for number in range(7)]
    steps = [
        (path, data)
        for path in paths
        for data in (StepStarted(kind="ask"), StepCompleted(result=msgspec.Raw(b'"x"'), cut=True))
    ]
    shown = facts(*steps, ("", RunCompleted(output=msgspec.Raw(encode("The answer.")))))
    note = "7 texts were cut off and are not complete: part-0, part-1, part-2, part-3, part-4 and 2 more."
    assert shown.incomplete == note
    page = to_html(shown).partition("<body")[2]
    assert 0 < page.index(note) < page.index("The answer.")
    text = to_markdown(shown)
    assert 0 < text.index(f"> **Not complete.** {note}") < text.index("The answer.")


def test_a_run_whose_texts_are_complete_has_no_such_note() -> None:
    shown = facts(("", RunCompleted(output=msgspec.Raw(encode("The answer.")))))
    assert shown.incomplete == ""
    assert "Not complete" not in to_html(shown)
    assert "Not complete" not in to_markdown(shown)
