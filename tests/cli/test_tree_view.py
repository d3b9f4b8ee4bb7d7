"""How a tree is seen on the command line: while it grows, at its end, by others, on narrow screens."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.shell import Shell

MODELS = Path(__file__).parent / "programs" / "tree_models.py"
BARE = ("--no-floor", "--no-editor")
ANSWER = ("--model", f"python:{MODELS}:answer", *BARE)
NO_PLANNER = ("--model", f"python:{MODELS}:no_planner", *BARE)
PATIENT = ("--model", f"python:{MODELS}:patient", *BARE)
RAW = re.compile(r"[{}]|nodeId|leafDecision|scratchpad_")


def reported(text: str) -> list[str]:
    """The lines of the run without time and place."""
    return [line[10:] for line in text.splitlines() if re.match(r"\d\d:\d\d:\d\d  ", line)]


def test_the_scrollback_reads_as_a_tree(podium: Shell) -> None:
    lines = reported(podium("run", "tree", "mixed bag", *ANSWER).out)
    what = [line[34:] for line in lines]
    assert what[:5] == [
        "○ mixed bag",
        "▸ splits into 4 steps in 2 bands",
        "─ band 1 of 2: goal 0",
        "  ○ part one",
        "  ○ fails early",
    ]
    assert "    ○ part two" in what, "deeper nodes stand further in"
    assert any(line.startswith("  ✗ fails early failed: RuntimeError: no source for this") for line in what)
    assert "  ↻ plans again: part two is thin" in what
    assert "  ─ band 1 of 1: goal 0 (kept: part one)" in what
    assert what[-2].startswith("~ mixed bag: partial, 1 of 4 steps without a result  18 calls")
    assert what[-1].startswith("! Missing: ")
    assert not [line for line in lines if RAW.search(line)], "data of models is not told"
    assert len(lines) < 40


def test_the_card_shows_the_document_the_figures_and_no_flood(podium: Shell) -> None:
    output = podium("run", "tree", "mixed bag", *ANSWER).out
    card = output[output.index("✓ completed") :]
    assert "# mixed bag\n\nWhat there is to say about *mixed bag*." in card
    assert "8 nodes · 2 levels · 1 failed" in card
    assert card.count("fails early failed") == 1
    assert "artifact  synthesis.md" in card
    assert re.search(r"\n +14 more artifacts: podium artifacts \w+\n", card)
    assert '"nodes"' not in card


def test_another_process_sees_the_same(podium: Shell) -> None:
    podium("run", "tree", "mixed bag", *ANSWER, "--quiet")
    shown = podium("show", "last").out
    assert "  ✗ fails early" in shown
    assert "All steps: podium show" in shown
    assert "timed" in podium("show", "last", "--all").out
    assert podium("show", "last", "--output").out.startswith("# mixed bag\n")
    events = podium("events", "last").out
    assert "splits into 4 steps in 2 bands" in events
    assert "scratchpad_linked" in events, "the whole log leaves nothing out"


def test_json_is_the_whole_output_and_quiet_is_the_document(podium: Shell) -> None:
    output = podium("run", "tree", "mixed bag", *ANSWER, "--json").json["output"]
    assert set(output) == {"result", "document", "nodes", "gaps", "comparison"}
    assert podium("show", "last", "--json").json["output"] == output
    assert podium("run", "tree", "mixed bag", *ANSWER, "--quiet").out.startswith("# mixed bag\n")


def test_every_format_of_the_report_begins_with_the_document(podium: Shell) -> None:
    podium("run", "tree", "mixed bag", *ANSWER, "--quiet")
    podium("report", "last", "-o", "tree.html")
    page = (podium.folder / "tree.html").read_text()
    assert page.index("What there is to say about <em>mixed bag</em>") < page.index("<h2>The tree</h2>")
    assert "<script>" not in page
    text = podium("report", "last", "--format", "md").out
    assert text.index("*mixed bag*") < text.index("## The tree") < text.index("## Steps")
    data = json.loads(podium("report", "last", "--format", "json").out)
    assert data["deliverable"].startswith("# mixed bag")
    assert data["sections"]["tree"]["root"]["plans"][0]["bands"][1]["goal"] == "goal 1"
    assert data["output"]["nodes"]


def test_a_tree_that_fails_at_its_root_says_so_once(podium: Shell) -> None:
    output = podium("run", "tree", "mixed bag", *NO_PLANNER, code=1).out
    assert [
        line for line in reported(output) if "✗ mixed bag failed: RuntimeError: the planner is out" in line
    ]
    assert output.count("out for lunch") == 2, "as it happens, and at the end"
    assert "1 node · 1 failed" in output
    assert "There is no result." in podium("report", "last", "--format", "html").out


def test_a_tree_out_of_budget_shows_it_once_and_goes_on_when_resumed(podium: Shell) -> None:
    output = podium("run", "tree", "mixed bag", *ANSWER, "--max-calls", "5", code=4).out
    assert output.count("calls budget used up") == 1
    assert "stopped: no calls left" in output
    assert "unfinished" in output
    assert "What there is to say about" in podium("show", "last", "--output").out
    again = podium("resume", "last", "--max-calls", "60").out
    assert "resumed after partial" in again
    assert any(line[34:].startswith("~ mixed bag: partial") for line in reported(again)[-2:])
    assert "unfinished" not in again
    assert "8 nodes · 2 levels · 1 failed" in again


def test_a_fork_and_a_replay_are_shown_as_trees_too(podium: Shell) -> None:
    podium("run", "tree", "mixed bag", *ANSWER, "--quiet")
    podium("replay", "last")
    forked = podium("fork", "last", "--at", "aggregate").out
    assert "○ part one" not in forked, "what is inherited is not told again"
    assert "8 nodes · 2 levels · 1 failed" in forked
    shown = podium("show", "last").out
    assert "  ✓ part one" in shown
    assert "inherited" in podium("report", "last", "--format", "html").out


@pytest.mark.parametrize(("columns", "rows"), [(100, 40), (60, 24), (40, 12)])
def test_the_footer_draws_the_tree_and_leaves_with_the_end(podium: Shell, columns: int, rows: int) -> None:
    screen = podium.terminal(
        "run",
        "tree",
        "wide 4x2",
        *PATIENT,
        columns=columns,
        rows=rows,
        PATIENT=str(podium.folder),
        NO_COLOR="1",
    )
    screen.until("band 1 of 2")
    screen.until("executing" if columns > 40 else "4 in flight")
    (podium.folder / "go").touch()
    assert screen.wait() == 0
    final = screen.screen
    assert not [line for line in final if "in flight" in line or "executing" in line]
    assert not [line for line in final if line.startswith("  ▸")], "the drawing is gone"
    assert max(cell_len(line) for line in final if "podium " not in line) <= columns, final
    assert "21 nodes · 2 levels" in final


def test_an_ascii_terminal_can_show_the_tree(podium: Shell) -> None:
    output = podium("run", "tree", "mixed bag", *ANSWER, PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert output.out.isascii()
    assert "x fails early failed" in output.out
    assert podium("show", "last", PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C").out.isascii()


def test_the_rehearsal_says_what_it_is_in_every_form(podium: Shell) -> None:
    output = podium("run", "tree", "Compare tea and coffee", "--model", "rehearsal").out
    assert "Rehearsal: the answers are made up offline" in output
    assert 'role="note"><strong>Rehearsal.' in podium("report", "last", "--format", "html").out
    assert "**Rehearsal:" in podium("report", "last", "--format", "md").out
    assert json.loads(podium("report", "last", "--format", "json").out)["rehearsal"] is True
