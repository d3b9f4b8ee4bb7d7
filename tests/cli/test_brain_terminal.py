"""`podium brain review` at a terminal: one fact after the other."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from tests.cli.shell import Shell, Terminal
from tests.cli.test_brain import CANON, NEW, facts, lines

ASK = "Ctrl-D to answer later"


@pytest.fixture
def lighthouse(podium: Shell) -> Shell:
    facts_text = lines(*CANON, source_run="run-one", status="accepted") + lines(*NEW, source_run="run-two")
    podium("brain", "import", "-", "--project", "lighthouse", stdin=facts_text)
    return podium


def answer(screen: Terminal, number: int, keys: str) -> None:
    """Wait for the question about a fact, then type. The line that is waited for stands once in each."""
    screen.until(f"{number} of 3")
    while screen.seen.count(ASK) < number:
        screen.more()
    screen.type(keys + "\n")


def test_facts_are_decided_one_by_one(lighthouse: Shell) -> None:
    screen = lighthouse.terminal("brain", "review", "run-two")
    answer(screen, 1, "replace")
    answer(screen, 2, "discard")
    answer(screen, 3, "edit")
    screen.until("Tomas, age:")
    screen.until("> ")
    screen.type("41\n")
    assert screen.wait() == 0
    assert "! critical: Marcus is dead in canon" in screen.seen
    assert "2 accepted, 1 edited, 1 discarded, 1 replaced; 0 left to review." in screen.seen
    assert set(facts(lighthouse)) == {"Ellie", "dead", "blue", "41"}


def test_leaving_keeps_what_was_decided(lighthouse: Shell) -> None:
    screen = lighthouse.terminal("brain", "review", "run-two")
    answer(screen, 1, "discard")
    screen.until("2 of 3")
    screen.until(ASK)
    screen.type("\x04")
    assert screen.wait() == 0
    assert "1 discarded; 2 left to review." in screen.seen
    assert set(facts(lighthouse, "proposed")) == {"We should leave.", "40"}


def test_the_rest_can_be_accepted_without_what_contradicts(lighthouse: Shell) -> None:
    screen = lighthouse.terminal("brain", "review", "run-two")
    answer(screen, 1, "rest")
    assert screen.wait() == 0
    assert "1 accepted; 2 left to review." in screen.seen
    assert set(facts(lighthouse, "proposed")) == {"blue", "We should leave."}


def test_json_on_a_terminal_asks_nothing(lighthouse: Shell) -> None:
    screen = lighthouse.terminal("brain", "review", "run-two", "--json")
    assert screen.wait() == 0
    assert '"waiting":[' in screen.seen


def test_forgetting_asks_first(lighthouse: Shell) -> None:
    screen = lighthouse.terminal("brain", "forget", "--all")
    screen.until("Forget 6 facts of lighthouse?")
    screen.until("> ")
    screen.type("no\n")
    assert screen.wait() == 0
    assert "Nothing was forgotten." in screen.seen
    assert len(facts(lighthouse, "all")) == 6


@pytest.mark.parametrize("columns", [40, 60])
def test_narrow_terminals_show_a_table_that_fits(lighthouse: Shell, columns: int) -> None:
    screen = lighthouse.terminal("brain", "show", columns=columns)
    assert screen.wait() == 0
    assert max(cell_len(line) for line in screen.screen[1:]) <= columns
