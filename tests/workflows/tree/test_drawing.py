"""The tree in a few lines: whole when it fits, folded when it does not, and never more lines than asked."""

from __future__ import annotations

from podium.engine.events import EventData
from podium.report.presentation import Line
from podium.workflows.tree import events
from podium.workflows.tree.fold import TreeState
from podium.workflows.tree.view import draw
from tests.report.logs import log
from tests.workflows.tree.test_folding import Entry, begun, completed, created, status, two_children


def shown(lines: list[Line]) -> list[str]:
    return [f"{'  ' * line.indent}{line.mark} {line.what} [{', '.join(line.notes)}]" for line in lines]


def bush(width: int, depth: int, done: int = 0) -> TreeState:
    """Every node has `width` children; the first `done` leaves are finished."""
    entries: list[Entry] = [created("root", 0), begun("", "root"), status("", "root", "waiting", "band:0")]
    level = ["root"]
    for nth in range(1, depth + 1):
        level = [f"{parent}/{n}" for parent in level for n in range(width)]
        entries += [created(node, nth, node.rpartition("/")[0], 0) for node in level]
    entries += [status("", node, "executing") for node in level[done:]]
    entries += [entry for node in level[:done] for entry in completed("", node)]
    return TreeState.of(log(*entries))


def test_a_small_tree_is_drawn_whole_with_sign_word_and_spend() -> None:
    assert shown(draw(TreeState.of(log(*two_children())), 12)) == [
        "▸ Title of root [band 1 of 2, $0.75]",
        "  ✓ Title of root/a [done, $0.25]",
        "  ● Title of root/b [executing]",
        "  ○ 1 step to come []",
    ]


def test_finished_nodes_of_a_large_tree_share_a_line() -> None:
    lines = shown(draw(bush(20, 1, done=14), 12))
    assert lines[1] == "  ✓ … 14 done []"
    assert sum("executing" in line for line in lines) == 6


def test_it_never_has_more_lines_than_asked() -> None:
    for most in [1, 2, 3, 5, 12]:
        for alive in [True, False]:
            for width, depth, done in [(6, 3, 100), (40, 1, 3), (2, 6, 0), (1, 8, 0)]:
                assert 1 <= len(draw(bush(width, depth, done), most, alive=alive)) <= most


def test_a_closed_node_shows_what_is_below_it() -> None:
    (line,) = draw(bush(6, 2, done=5), 1)
    assert line.what == "Title of root · 5 of 42 nodes done"


def test_what_failed_is_not_folded_away() -> None:
    tree = bush(20, 1, done=19)
    broken: EventData = events.NodeFailed(node_id="root/19", error="x", retryable=False)
    for event in log(("", broken)):
        tree.apply(event)
    assert "  ✗ Title of root/19 [failed]" in shown(draw(tree, 12))


def test_nothing_is_at_work_in_a_run_that_nobody_drives() -> None:
    lines = draw(TreeState.of(log(*two_children())), 12, alive=False)
    assert [line.notes[0] for line in lines] == ["interrupted", "done", "interrupted"]


def test_no_tree_is_no_drawing() -> None:
    assert draw(TreeState(), 12) == []
