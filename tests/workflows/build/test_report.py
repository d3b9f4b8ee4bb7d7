"""What a person sees: lines, the checklist, the diff with everything escaped, and how to get the result."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from podium.engine.events import Event, RunCreated, RunResumed
from podium.engine.state import RunState
from podium.report.data import facts_of
from podium.report.html import to_html
from podium.report.markdown import to_markdown
from podium.workflows.build import events
from podium.workflows.build.fold import BuildState
from podium.workflows.build.report import LONGEST_LINE, MOST_IN_FILE, BuildPresentation, parsed
from podium.workflows.build.state import (
    CodeOutput,
    ExecutionPlan,
    Failure,
    PlanStep,
    TestResult,
    VerificationResult,
)
from podium.workflows.build.view import draw

EVIL = "<script>alert(1)</script>\x1b[31m"
PATCH = f"""diff --git a/a.py b/a.py
new file mode 100644
--- /dev/null
+++ b/a.py
@@ -0,0 +1,2 @@
+x = "{EVIL}"
+--- not a header
diff --git a/old.md b/new.md
similarity index 90%
rename from old.md
rename to new.md
@@ -1 +1 @@
-one
+two
\\ No newline at end of file
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
"""


def log(*told: events.BuildEvent | Any) -> list[Event]:
    rows = [RunCreated(workflow="build", request=f"a goal {EVIL}"), *told]
    now = datetime(2030, 1, 1, tzinfo=UTC)
    return [
        Event(seq=nth, run_id="r1", time=now, path="", type=data.type, data=data)
        for nth, data in enumerate(rows, 1)
    ]


def phase(status: Any, driven_s: float, **fields: Any) -> events.Phase:
    fields = {"iteration": 1, "at_ms": 1000.0, "time_limit": 7200.0} | fields
    return events.Phase(status=status, driven_s=driven_s, **fields)


def a_plan() -> ExecutionPlan:
    steps = [PlanStep(id=f"step-{n}", number=n, description=f"do part {n} {EVIL}") for n in (1, 2)]
    return ExecutionPlan(id="plan-1", goal="a goal", analysis="so", steps=steps)


def changed(step_id: str, status: Any, **fields: Any) -> events.StepChanged:
    fields = {"attempts": 1, "depth": 0, "number": 1} | fields
    return events.StepChanged(step_id=step_id, status=status, **fields)


FAILING = TestResult(ok=False, failed=1, passed=3, total=4, seconds=1.5, failures=[Failure("t::x", EVIL)])
STORY = [
    phase("initializing", 0),
    events.Opened(branch="podium/r1", base="a" * 40, origin="repository", tests="pytest", sandbox="it"),
    phase("planning", 2),
    events.PlanCreated(plan=a_plan(), iteration=1, revision=0, approved=True),
    phase("executing", 10),
    changed("step-1", "in_progress"),
    events.Message(id="m1", kind="CODE_REQUEST", sender="orchestrator", to="coder", correlation_id="m1"),
    events.Coded(step_id="step-1", output=CodeOutput("done", "it", ["a.py"], caught=["a test is gone"])),
    events.TestsRun(step_id="step-1", attempt=1, cycle=0, result=FAILING),
    events.Verified(
        gate="code",
        step_id="step-1",
        by="supervisor",
        passed=False,
        threshold=60,
        problems=[],
        level="REMIND",
        issues=1,
        result=VerificationResult(False, 55, [EVIL]),
    ),
    events.Escalated(level="REMIND", before="NONE", issues=1, score=55, reason=EVIL),
]


def test_a_patch_as_data_tells_what_happened_to_each_file_and_line() -> None:
    added, renamed, binary = parsed(PATCH)
    assert (added["path"], added["status"], added["added"], added["removed"]) == ("a.py", "added", 2, 0)
    assert added["lines"][2] == ["add", "--- not a header"], "a line of a hunk that looks like a header"
    assert (renamed["path"], renamed["old_path"], renamed["status"]) == ("new.md", "old.md", "renamed")
    assert [kind for kind, _ in renamed["lines"]] == ["hunk", "del", "add", "note"]
    assert binary["lines"] == [["note", "binary file"]]


def test_a_patch_splits_lines_where_git_does() -> None:
    [file] = parsed("diff --git a/a b/a\n@@ -1 +1,2 @@\n-x\x0c-y\r\n+one\u2028+still one\n+two\x85-two\n")
    assert (file["added"], file["removed"]) == (2, 1)
    assert [kind for kind, _ in file["lines"]] == ["hunk", "del", "add", "add"]
    assert not any("\n" in text or "\r" in text for _, text in file["lines"])


@pytest.mark.parametrize(
    ("header", "path", "old_path"),
    [
        ("diff --git a/x b/y.txt b/x b/y.txt\nindex 1..2", "x b/y.txt", ""),
        (r'diff --git "a/M\303\274nchen.md" "b/M\303\274nchen.md"', "München.md", ""),
        (r'diff --git "a/a\"\\b\"" "b/a\"\\b\""', 'a"\\b"', ""),
        ("diff --git a/a b/c b/d e\nrename from a b/c\nrename to d e", "d e", "a b/c"),
        ('diff --git a/a "b/\\303\\244"\nrename from a\nrename to "\\303\\244"', "ä", "a"),
    ],
)
def test_a_patch_names_its_files_as_they_are_named(header: str, path: str, old_path: str) -> None:
    [file] = parsed(f"{header}\n@@ -1 +1 @@\n-x\n+y\n")
    assert (file["path"], file["old_path"]) == (path, old_path)


def test_a_huge_patch_is_cut_and_counted() -> None:
    lines = "\n".join(f"+{'x' * 1000}" for _ in range(MOST_IN_FILE + 50))
    [file] = parsed(f"diff --git a/a b/a\n@@ -0,0 +1 @@\n{lines}\n")
    assert (len(file["lines"]), file["left_out"], file["added"]) == (MOST_IN_FILE, 51, MOST_IN_FILE + 50)
    assert len(file["lines"][1][1]) == LONGEST_LINE + 1


def shown(*more: Any) -> BuildPresentation:
    presentation = BuildPresentation()
    for event in log(*STORY, *more):
        presentation.apply(event)
    return presentation


A_FILE = {"path": "a.py", "added": 2, "removed": 0, "status": "added"}
FINISHED = events.Finished(
    branch="podium/r1",
    head="b" * 40,
    patch="p1",
    diff=PATCH,
    where="/somewhere",
    diff_stat={"files": [A_FILE], "added": 2, "removed": 0},
)


def test_nothing_that_a_model_or_a_file_says_becomes_markup() -> None:
    story = [*STORY, phase("failed", 20, reason=EVIL), FINISHED]
    presentation = shown(phase("failed", 20, reason=EVIL), FINISHED)
    facts = facts_of(log(*story), shown=presentation)
    page = to_html(facts, presentation.sections(alive=False))
    assert "<script>" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;alert(1)" in page
    text = to_markdown(facts, presentation.sections(alive=False))
    assert "\x1b" not in text


def test_the_first_screen_says_what_was_changed_and_how_to_get_it() -> None:
    done = events.Committed(step_id="step-1", sha="c" * 40, message="Step 1", files=["a.py"])
    text = shown(changed("step-1", "completed"), done, phase("completed", 20), FINISHED).deliverable(None)
    assert text is not None
    assert "**The goal is met.** 1 file changed, 2 lines added, 0 removed." in text
    assert "`a.py` +2 −0 added" in text
    assert "podium artifacts r1 changes.patch | git apply" in text


def test_work_in_progress_counts_as_a_commit_until_the_finished_step_takes_its_place() -> None:
    one = events.Committed(step_id="step-1", sha="c" * 40, message="Step 1", files=["a.py"])
    started = events.Committed(step_id="step-2", sha="d" * 40, message="WIP", files=[], complete=False)
    two = events.Committed(step_id="step-2", sha="e" * 40, message="Step 2", files=["a.py"])
    stopped = [phase("time_expired", 30), FINISHED]
    assert "2 commits." in (shown(one, started, *stopped).deliverable(None) or "")
    text = shown(one, started, *stopped, RunResumed(after="time"), two, FINISHED).deliverable(None)
    assert text is not None
    assert "2 commits." in text
    assert "podium show r1 --diff" in text


def test_a_build_that_changed_nothing_says_so_and_offers_nothing_to_take() -> None:
    empty = events.Finished(branch="podium/r1", head="a" * 40, patch="p1", diff="", diff_stat={"files": []})
    text = shown(phase("failed", 20), empty).deliverable(None)
    assert text is not None
    assert "**The goal is not met.** No changes." in text
    assert "Nothing was committed." in text
    assert "git apply" not in text


def test_the_picture_is_a_checklist_with_role_tests_level_and_time() -> None:
    lines = draw(BuildState.of(log(*STORY)), 10, alive=True)
    assert lines[0].what == "executing · 0 of 2 steps · tests: 3 passed, 1 failed · escalation REMIND"
    assert lines[0].notes == ("plan 0:10",)
    assert lines[1].what == "planner → [coder] → tester → supervisor"
    assert [(line.mark, line.indent) for line in lines[2:]] == [("●", 1), ("○", 1)]
    assert lines[2].notes == ("3 passed, 1 failed",)


@pytest.mark.parametrize("most", range(7))
def test_the_picture_fits(most: int) -> None:
    assert len(draw(BuildState.of(log(*STORY)), most, alive=True)) <= most


def test_every_event_has_a_line_of_its_own() -> None:
    presentation = BuildPresentation()
    looked = events.LookedUp(step_id="step-1", kind="read", target="a.py", ok=True, number=1)
    committed = events.Committed(step_id="step-1", sha="c" * 40, message="Step 1", files=["a.py"])
    for event in log(*STORY, looked, committed, changed("step-2", "blocked", fail_reason="so"), FINISHED)[1:]:
        presentation.apply(event)
        line = presentation.line(event, RunState())
        assert line is not None, event.type
        assert "\x1b" not in line.what


def test_a_run_that_is_taken_up_again_is_where_it_was() -> None:
    story = [*STORY, phase("time_expired", 30)]
    assert BuildState.of(log(*story)).state.status == "time_expired"
    again = BuildState.of(log(*story, RunResumed(after="time")))
    assert (again.state.status, again.state.end_time) == ("executing", None)
    assert again.time_used == {"planning": 10, "execution": 20, "verification": 0}
