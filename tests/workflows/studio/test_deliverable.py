"""The deliverable: one section for each department, whatever its text holds; and the page in a browser."""

from __future__ import annotations

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.workflows.studio.record import demoted, integrated_text, title_and_body, with_line_breaks
from tests.chromium import CHROMIUM
from tests.workflows.studio.crew import WORKED, Crew, artifact, brief, conflict, graded, make

TROUBLED: dict[str, Any] = {
    "character/brief": brief("appearance", "arc"),
    "character/arc/attempt/grade": graded(10, "it leads nowhere"),
    "character/arc/attempt#2/grade": graded(20),
    "character/arc/attempt#3/grade": graded(30, "still nowhere"),
    "character/arc/attempt#4/grade": graded(5),
    "audio/brief": RuntimeError("down"),
    "audio/brief#2": RuntimeError("down"),
    "audio/brief#3": RuntimeError("down"),
    "audio/brief#4": RuntimeError("down"),
    "story/synthesize": "# Big title\n\n## Part\n\nText.",
    "validate": {"conflicts": [conflict("story", "character", what="dawn or midnight")]},
}
"""A run in which much goes wrong."""


async def page_of(store: Store, result: RunResult) -> str:
    return await artifact(store, result, "record.html")


def test_headings_of_a_department_stand_below_its_own() -> None:
    assert demoted("# A\n\n## B\n\n#hash\n\n###### F") == "### A\n\n#### B\n\n#hash\n\n###### F"
    assert demoted("### A\n#### B") == "### A\n#### B"
    assert demoted("```\n# no heading\n```\n# A") == "```\n# no heading\n```\n### A"
    assert demoted("no headings") == "no headings"


def test_a_deliverable_without_a_title_is_called_after_the_request() -> None:
    assert (
        integrated_text("a scene", "Dawn.\n\n# Sound\n\nA cart.")
        == "# a scene\n\nDawn.\n\n## Sound\n\nA cart.\n"
    )
    assert integrated_text("a scene", "# Dawn\n\nText.") == "# Dawn\n\nText.\n"
    assert title_and_body("# Dawn\n\nText.\n") == ("Dawn", "Text.")


async def test_the_record_has_one_section_for_each_department_and_shows_what_was_rejected(
    store: Store,
) -> None:
    result = await make(store, Crew(TROUBLED))
    text = await artifact(store, result, "record.md")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [
        "What is missing",
        "Routing",
        "Story Department",
        "Character Department",
        "Visual Department",
        "Audio Department",
        "Settled conflicts",
    ]
    assert "#### Big title" in text
    assert "*Failed: the head failed 4 times; last: RuntimeError: down*" in text


async def test_a_rejected_line_quotes_the_feedback_on_the_attempt_that_counts(store: Store) -> None:
    text = await artifact(store, await make(store, Crew(TROUBLED)), "record.md")
    (line,) = [line for line in text.splitlines() if "Arc Specialist" in line]
    assert line == (
        "- ✗ Arc Specialist 30 in 4 attempts, rejected: Score 30 is below the threshold 80 after 3 retries "
        "(attempt 3: still nowhere)"
    )


async def test_work_without_a_grade_is_said_to_have_none(store: Store) -> None:
    crew = Crew({"story/brief": brief("plot"), "*/grade": RuntimeError("down")})
    result = await make(store, crew, "x", departments="story", specialists="always")
    text = await artifact(store, result, "record.md")
    assert "Plot Specialist 75 (not graded), rejected: It could not be graded, counts 75" in text
    assert "Score 75" not in text
    assert "It could not be graded" in crew.asked("story/head_execute")[0].prompt


def test_only_lines_of_a_paragraph_are_kept_apart() -> None:
    assert with_line_breaks("MARA\nStay.\n\nTOM: No.") == "MARA  \nStay.\n\nTOM: No."
    assert with_line_breaks("> A\n> B") == "> A  \n> B"
    for text in ("- a\n- b", "| a |\n|---|\n| b |", "# A\ntext", "```\na\nb\n```", "A\n===", "1. a\n2. b"):
        assert with_line_breaks(text) == text


async def test_lines_of_dialogue_stand_below_each_other_on_the_page(store: Store) -> None:
    crew = Crew({"story/head_execute": "MARA: Stay.\nTOM: No.\n\nHe leaves."})
    result = await make(store, crew, "x", departments="story")
    page = await artifact(store, result, "deliverable.html")
    assert re.search(r"MARA: Stay\.<br ?/?>\s*TOM: No\.", page)


class Page(HTMLParser):
    """Tags that are opened and closed properly, and the text."""

    VOID = ("meta", "br", "hr", "wbr")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


async def test_the_page_is_well_formed_self_contained_and_without_script(store: Store) -> None:
    text = await page_of(store, await make(store, Crew(TROUBLED)))
    page = Page(text)
    assert page.open == []
    tags = {tag for tag, _ in page.seen}
    assert not tags & {"script", "img", "link", "iframe"}
    ids = [attributes["id"] for _, attributes in page.seen if attributes.get("id")]
    assert ids == ["dept-story", "dept-character", "dept-visual", "dept-audio"]
    targets = [attributes["href"] for tag, attributes in page.seen if tag == "a"]
    assert targets == [f"#{name}" for name in ids]
    for logged in (
        "Arc Specialist",
        "rejected",
        "it leads nowhere",
        "dawn or midnight",
        "yielded",
        "RuntimeError: down",
    ):
        assert logged in text


async def test_a_conflict_is_shown_with_the_names_of_those_concerned_and_what_they_said(store: Store) -> None:
    open_one = {
        "aggregate": "The scene.",
        "*/validate": {"conflicts": [conflict("story", "audio", what="dawn or midnight")]},
        "*/resolve": {"yields": False, "reason": "it is <dawn>"},
    }
    result = await make(store, Crew(open_one), "x", departments="story,audio")
    text = await page_of(store, result)
    assert "<b>Story Department and Audio Department</b>" in text
    assert "Unresolved after 2 rounds." in text
    assert text.index("dawn or midnight") < text.index("Overall quality"), "open conflicts stand at the top"
    assert result.output["overall_quality"] == 85.0, "95, and 10 less for an open conflict"
    assert "dawn or midnight" not in await artifact(store, result, "deliverable.html")
    assert text.count("Audio Department does not yield: it is &lt;dawn&gt;.") == 1, "once, not once a round"
    resolved = await page_of(store, await make(store, Crew(TROUBLED)))
    assert re.search(r"Resolved: \w+ Department yielded\. <span class=\"why\">it costs less</span>", resolved)


async def test_the_page_shows_how_it_came_about(store: Store) -> None:
    result = await make(store, Crew())
    footer = (await page_of(store, result)).partition("<footer>")[2]
    assert "a studio of 4 departments, team film, with " in footer
    assert f"podium report {result.run_id}" in footer


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
async def test_a_browser_shows_the_page_of_the_worked_example(store: Store, tmp_path: Path) -> None:
    """What is on the page when Chromium has laid it out: every department, with a place on the page."""
    file = tmp_path / "deliverable.html"
    file.write_text(await page_of(store, await make(store, Crew(TROUBLED))))
    assert CHROMIUM is not None
    completed = subprocess.run(  # noqa: ASYNC221 - nothing else runs here
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path}/profile",
            "--dump-dom",
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    assert WORKED in completed.stdout
    assert "Specialist" in completed.stdout
    for name in ("Story", "Character", "Visual", "Audio"):
        assert f"{name} Department" in completed.stdout
