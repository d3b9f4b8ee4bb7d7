"""The report of a tree: the document first, then every node with its decision, criteria, outcome and cost."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from podium.engine.events import EventData, RunCompleted
from podium.report.data import ReportData, facts_of
from podium.report.html import to_html
from podium.report.markdown import to_markdown
from podium.report.presentation import Section
from podium.workflows import presentation_of
from podium.workflows.tree import events
from podium.workflows.tree.report import TreePresentation, open_levels, overview
from tests.report.logs import log
from tests.workflows.tree.test_drawing import bush
from tests.workflows.tree.test_folding import Entry, asked, begun, completed, created, status, two_children

HOSTILE = "<script>alert(1)</script><img src=//evil/x onerror=x>"
OUTPUT: dict[str, Any] = {
    "result": {"primaryArtifactId": "p1"},
    "document": f"# The answer\n\n*Well.* {HOSTILE}",
    "nodes": [],
}


def logged(*more: Entry, output: Any = OUTPUT, alive: bool = False) -> tuple[ReportData, list[Section]]:
    shown = TreePresentation()
    entries = log(*two_children(), *more, ("", RunCompleted(output=output)))
    for event in entries:
        shown.apply(event)
    return facts_of(entries, shown=shown), shown.sections(alive=alive)


def page(*more: Entry) -> str:
    return to_html(*logged(*more))


class Tags(HTMLParser):
    """What a browser would make of it: tags with their attributes, and the text in front of them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "wbr", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


FAILED: Entry = ("b", events.NodeFailed(node_id="root/b", error=f"broken {HOSTILE}", retryable=False))


def test_the_document_comes_before_the_tree_and_nothing_is_json() -> None:
    text = page(FAILED, *completed("", "root", "partial"))
    assert text.index("<em>Well.</em>") < text.index("The tree") < text.index("How it came about")
    assert "primaryArtifactId" not in text


def test_nothing_of_a_model_becomes_markup() -> None:
    evil: EventData = events.NodeCreated(
        node_id="root/x",
        parent_node_id="root",
        title=HOSTILE,
        reason=HOSTILE,
        success_criteria=[HOSTILE],
        depth=1,
        band_index=0,
    )
    delegated = events.NodeDelegated(node_id="root", step_id="c", child_node_id="root/x")
    tags = Tags(page(FAILED, ("", evil), ("", delegated))).tags
    names = {name for name, _ in tags}
    assert not names & {"script", "img", "iframe", "object", "link"}
    assert not [key for _, attributes in tags for key in attributes if key.startswith("on")]


def test_the_page_is_well_formed() -> None:
    assert Tags(page(FAILED)).open == []


@pytest.mark.parametrize(
    "words",
    [
        "Planned in 2 bands with 3 steps",
        "Band 1 of 2 · goal 0",
        "Band 2 of 2 · goal 1",
        "Executed",
        "✓ Criteria met",
        "Failed: broken",
        "1 failed",
        "not started",
        "$0.25",
        "3 nodes",
    ],
)
def test_the_tree_shows_decisions_bands_criteria_failures_and_cost(words: str) -> None:
    assert words in re.sub(r"<[^>]+>", "", page(FAILED, *completed("", "root", "partial")))


def test_markdown_holds_the_same_tree_as_a_list() -> None:
    text = to_markdown(*logged(FAILED, *completed("", "root", "partial")))
    assert text.index("# The answer") < text.index("## The tree")
    assert "- ~ **Title of root**: partial · planned in 2 bands with 3 steps · 2 calls · $0.75" in text
    assert "  - band 1 of 2: goal 0\n    - ✓ **Title of root/a**: done · executed · 1 call · $0.25" in text
    assert "- failed: broken \\<script\\>" in text
    assert "- missing: Title of root/c: not started" in text


def test_json_holds_the_nodes_nested() -> None:
    facts, (section,) = logged(FAILED)
    assert section.name == "tree"
    assert (section.data["nodes"], section.data["levels"], section.data["failed"]) == (3, 1, 1)
    first = section.data["root"]["plans"][0]["bands"][0]["steps"][0]["node"]
    assert (first["title"], first["met"], first["usage"]["cost_usd"]) == ("Title of root/a", True, 0.25)
    assert facts.output == OUTPUT


def test_the_tree_is_open_as_far_as_it_can_be_read_and_closed_below() -> None:
    assert open_levels(bush(3, 2)) == 3
    assert open_levels(bush(6, 4)) == 2
    assert open_levels(bush(100, 1)) == 1
    details = [attributes for name, attributes in Tags(page()).tags if name == "details"]
    assert all("open" in detail for detail in details if detail.get("class") == "node")


def test_the_picture_has_words_for_those_who_do_not_see_it() -> None:
    svg = next(attributes for name, attributes in Tags(page(FAILED)).tags if name == "svg")
    assert svg["role"] == "img"
    assert svg["aria-label"] == (
        "3 nodes on 1 level below the root, 1 failed, 1 unfinished; the list below tells the same."
    )


def test_the_cells_of_a_level_lie_side_by_side_and_fill_their_parent() -> None:
    picture = overview(bush(4, 2))
    assert picture is not None
    rows = {depth: [cell for cell in picture["cells"] if cell["depth"] == depth] for depth in range(3)}
    assert [len(row) for row in rows.values()] == [1, 4, 16]
    assert [round(cell["x"]) for cell in rows[1]] == [0, 250, 500, 750]
    assert overview(bush(4, 0)) is None


def test_a_level_of_too_many_cells_is_left_to_the_list() -> None:
    picture = overview(bush(21, 2))
    assert picture is not None
    assert (len(picture["cells"]), picture["left_out"]) == (22, 441)


def test_fifteen_hundred_nodes_make_a_page_that_opens() -> None:
    entries: list[Entry] = [created("root", 0), begun("", "root")]
    level = [("root", "")]
    for depth in range(1, 5):
        below = [(f"{node}/{n}", f"{path}/{n}".lstrip("/")) for node, path in level for n in range(6)]
        for node, path in below:
            parent = node.rpartition("/")[0]
            entries += [created(node, depth, parent, 0), begun(path, node), *asked(f"{path}/execute", 0.01)]
            entries += completed(path, node)
        level = below
    shown = TreePresentation()
    events_ = log(*entries, ("", RunCompleted(output=OUTPUT)))
    for event in events_:
        shown.apply(event)
    assert shown.summary() == "1555 nodes · 4 levels · 1 unfinished"
    text = to_html(facts_of(events_, shown=shown), shown.sections(alive=False))
    assert len(text.encode()) < 3_000_000
    assert "podium show run0run0run0 --all" in text


def test_the_deliverable_is_the_document_and_a_tree_without_one_has_nothing_to_read() -> None:
    shown = TreePresentation()
    assert shown.deliverable(OUTPUT) == OUTPUT["document"]
    assert shown.deliverable({"document": "", "nodes": []}) == ""
    assert shown.deliverable(None) is None


def test_an_empty_document_is_no_result_and_no_data() -> None:
    facts, sections = logged(output={"result": None, "document": "", "nodes": []})
    assert "There is no result" in to_html(facts, sections)
    assert "document" not in to_markdown(facts, sections)


def test_the_primary_artifact_leads() -> None:
    assert TreePresentation().leading(OUTPUT) == ["p1"]


def test_it_is_found_by_the_workflows_name_and_remembers_one_run() -> None:
    first, second = presentation_of("tree"), presentation_of("tree")
    assert isinstance(first, TreePresentation)
    assert first is not second
    assert not isinstance(presentation_of("some/file.py:tree"), TreePresentation)


def test_a_run_that_ended_before_it_had_a_root_has_no_section() -> None:
    assert TreePresentation().sections(alive=False) == []
    assert TreePresentation().summary() == ""


def test_a_growing_tree_says_what_is_to_come() -> None:
    facts, sections = logged(status("b", "root/b", "executing"), output=None, alive=True)
    assert "to come" in to_html(facts, sections)
