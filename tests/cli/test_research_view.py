"""How research is seen on the command line: while it works, at its end, by others, on narrow screens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.shell import Shell

CORPUS = str(Path(__file__).parents[2] / "examples" / "corpus")
MODELS = Path(__file__).parent / "programs" / "research_models.py"
ASKED = (
    "run",
    "research",
    "How much caffeine is safe in a day",
    "--corpus",
    CORPUS,
    "--min-quality",
    "0.1",
    "--no-floor",
    "--no-editor",
)
QUICK = ("--model", f"python:{MODELS}:quick")
PATIENT = ("--model", f"python:{MODELS}:patient")


def reported(text: str) -> list[str]:
    """The lines of the run without time and place."""
    lines = [line[10:] for line in text.splitlines() if re.match(r"\d\d:\d\d:\d\d  ", line)]
    return [re.sub(r"^\S+ +", "", line) for line in lines]


def test_the_scrollback_shows_what_matters_and_no_data(podium: Shell) -> None:
    lines = reported(podium(*ASKED, *QUICK).out)
    assert any(re.match(r"▸ \d workers in 4 steps, medium topic", line) for line in lines)
    assert any(re.match(r"✓ Web search: \d+ found", line) for line in lines)
    assert any(line.startswith("✓ Quality: article ") for line in lines)
    assert any(line.startswith("✓ Merged: ") for line in lines)
    assert not [line for line in lines if re.search(r"[{}]|task_id|research\.", line)]


def test_the_card_leads_to_the_page(podium: Shell) -> None:
    output = podium(*ASKED, *QUICK).out
    card = output[output.index("✓ completed") :]
    assert "# Caffeine" in card
    assert "artifact  article.html" in card
    assert re.search(r"\d+ sources · 1 iteration", card)
    podium("artifacts", "last", "article.html", "-o", "article.html")
    page = (podium.folder / "article.html").read_text()
    assert 'href="#e1"' in page
    assert "<script" not in page


def test_another_process_sees_phases_sources_and_workers(podium: Shell) -> None:
    podium(*ASKED, *QUICK, "--quiet")
    shown = podium("show", "last").out
    assert "plan ✓ → strategy ✓ → work ✓ → evaluation ✓ → merge ✓" in shown
    assert re.search(r"\d+ of 10 sources ▓+", shown)
    assert "✓ Article writing" in shown


def test_every_format_of_the_report_begins_with_the_article(podium: Shell) -> None:
    podium(*ASKED, *QUICK, "--quiet")
    podium("report", "last", "-o", "report.html")
    page = (podium.folder / "report.html").read_text()
    assert page.index("It is counted.") < page.index("<h2>Evidence</h2>") < page.index("<h2>Quality</h2>")
    assert "<script" not in page
    text = podium("report", "last", "--format", "md").out
    assert text.index("It is counted.") < text.index("## References") < text.index("## Quality")
    data = podium("report", "last", "--format", "json").json
    assert data["deliverable"].startswith("# Caffeine")
    assert set(data["sections"]) >= {"quality", "sources", "iterations", "workers"}


@pytest.mark.parametrize(("columns", "rows"), [(110, 40), (60, 24), (40, 12)])
def test_the_footer_draws_the_work_and_leaves_with_the_end(podium: Shell, columns: int, rows: int) -> None:
    screen = podium.terminal(
        *ASKED, *PATIENT, columns=columns, rows=rows, PATIENT=str(podium.folder), NO_COLOR="1"
    )
    screen.until("work ●")
    if columns > 100:
        screen.until("● Article writing")
        screen.until("of 10 sources ▓")
    (podium.folder / "go").touch()
    assert screen.wait() == 0
    final = screen.screen
    assert not [line for line in final if "in flight" in line or "●" in line]
    assert max(cell_len(line) for line in final if "podium " not in line) <= columns, final
