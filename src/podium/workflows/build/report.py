"""Report of a build: presentation, sections and the parsed patch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.engine.events import Event
from podium.report.markdown import cell
from podium.report.presentation import Line, Section, ViewGrade, WorkflowPresentation
from podium.report.words import count, duration, needs, one_line, safe
from podium.workflows.build import events
from podium.workflows.build.detail import BuildView, detail_of, grade_of
from podium.workflows.build.fold import BuildState, as_data
from podium.workflows.build.view import GATES, LINES, STEPS, draw, is_noise, stat_words

MOST_LINES = 4000
"""Maximum lines of all files together, so that the page stays usable. The patch itself is an artifact."""
MOST_IN_FILE = 1500
LONGEST_LINE = 400

_HEADER = "diff --git "
KINDS = {"+": "add", "-": "del", " ": "same", "@": "hunk", "\\": "note"}


def parsed(patch: str) -> list[dict[str, Any]]:
    """Parse a patch to `[{path, old_path, status, added, removed, lines: [[kind, text]], left_out}]`."""
    files: list[dict[str, Any]] = []
    shown, in_hunk = 0, False
    for line in patch.removesuffix("\n").split("\n"):
        if line.startswith(_HEADER):
            files.append(_file(line.removeprefix(_HEADER)))
            in_hunk = False
        elif not files:
            continue
        elif not in_hunk and not line.startswith("@@"):
            _note(files[-1], line)
        else:
            in_hunk = True
            shown += _add(files[-1], line, shown)
    return files


def _file(names: str) -> dict[str, Any]:
    """Return a file without lines. Both names have the same length, unless `rename` lines name them later."""
    path = safe(_unquoted(names[len(names) // 2 + 1 :]).removeprefix("b/"))
    return {
        "path": path,
        "old_path": "",
        "status": "modified",
        "added": 0,
        "removed": 0,
        "lines": [],
        "left_out": 0,
    }


def _unquoted(name: str) -> str:
    """Return a name that git quotes, such as `"na\\303\\257ve.md"`, as it is."""
    if not name.startswith('"'):
        return name
    escaped = name[1:-1].encode("ascii", "ignore")
    return escaped.decode("unicode_escape", "replace").encode("latin-1", "replace").decode("utf-8", "replace")


def _note(file: dict[str, Any], line: str) -> None:
    if line.startswith("new file"):
        file["status"] = "added"
    elif line.startswith("deleted file"):
        file["status"] = "deleted"
    elif line.startswith("rename from "):
        file["status"], file["old_path"] = "renamed", safe(_unquoted(line.removeprefix("rename from ")))
    elif line.startswith("rename to "):
        file["path"] = safe(_unquoted(line.removeprefix("rename to ")))
    elif line.startswith(("Binary files", "GIT binary patch")):
        file["lines"].append(["note", "binary file"])


def _add(file: dict[str, Any], line: str, shown: int) -> int:
    """Count a line of a hunk, and add it while there is room. Return the number of lines added: 0 or 1."""
    kind = KINDS.get(line[:1], "same")
    file["added"] += kind == "add"
    file["removed"] += kind == "del"
    if shown >= MOST_LINES or len(file["lines"]) >= MOST_IN_FILE:
        file["left_out"] += 1
        return 0
    text = safe((line if kind == "hunk" else line[1:]).rstrip("\r")).replace("\n", " ")
    file["lines"].append([kind, text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"])
    return 1


PACKAGE = "podium.workflows.build"
LEADING = ("report.html", "changes.patch", "test-report.md")
MOST_FILES = 12
"""Maximum files on the first screen. The section on changes lists all."""
SIGNS = {status: sign for status, (sign, _) in STEPS.items()}


class BuildPresentation(WorkflowPresentation[BuildState]):
    """Presentation of a build run."""

    detail_type = BuildView
    lines = LINES
    own_events = events.BuildEvent
    leading_files = LEADING

    def __init__(self) -> None:
        super().__init__(BuildState())

    def is_hidden(self, event: Event) -> bool:
        return is_noise(event.data) if isinstance(event.data, events.BuildEvent) else super().is_hidden(event)

    def detail(self, *, alive: bool) -> BuildView:
        return detail_of(self.fold, alive=alive)

    def grade(self, event: Event) -> ViewGrade | None:
        return grade_of(event)

    def drawing(self, most: int, *, alive: bool) -> list[Line]:
        return draw(self.fold, most, alive=alive)

    def summary(self) -> str:
        return summary_of(self.fold)

    def deliverable(self, output: Any) -> str | None:
        return deliverable_of(as_data(self.fold)) if self.fold.opened is not None else ""

    def sections(self, *, alive: bool) -> list[Section]:
        return sections_of(self.fold) if self.fold.opened is not None else []


def summary_of(build: BuildState) -> str:
    """Return `2 of 2 steps · 3 fix cycles · 9 of 10 gates passed · 1 caught by program`."""
    metrics = build.state.metrics
    if not metrics.total_steps:
        return ""
    gates = len(build.gates)
    told = [f"{metrics.completed_steps} of {count(metrics.total_steps, 'step')}"]
    told += [count(metrics.fix_cycles, "fix cycle")] if metrics.fix_cycles else []
    told += [f"{metrics.verifications_passed} of {count(gates, 'gate')} passed"] if gates else []
    refused = sum(one["refused"] for one in build.caught)
    told += [f"{refused} caught by program"] if refused else []
    return " · ".join(told)


def deliverable_of(data: dict[str, Any]) -> str:
    """Return the result and how to get it as Markdown, for the first screen."""
    state, suite = data["state"], data["suite"] or data["tests"]
    words = {
        "completed": "The goal is met.", "time_expired": "Time was up before the goal was met.",
        "aborted": "The run was ended before the goal was met.", "failed": "The goal is not met.",
    }  # fmt: skip
    plan = state["currentPlan"]
    steps: list[dict[str, Any]] = plan["steps"] if plan else []
    done = sum(step["status"] == "completed" for step in steps)
    going = "It was stopped before the goal was met." if data["diff_stat"] else "The work is under way."
    changed = stat_words(data["diff_stat"])
    lines = [f"**{words.get(state['status'], going)}** {changed[0].upper()}{changed[1:]}.", ""]
    lines += [f"- {SIGNS[step['status']]} {cell(step['description'], 200)}{_why(step)}" for step in steps]
    lines += ["", f"{done} of {count(len(steps), 'step')} done. {_tests(suite)}"]
    lines += _explained(data["done"])
    lines += ["", *_files(data["diff_stat"])]
    lines += ["", *_how_to_get_it(data)]
    return "\n".join(lines)


def _explained(done: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what was changed and why, as the coder explains it, with evidence and risks."""
    for work in done:
        yield from ("", f"**{cell(work['summary'] or work['description'], 200)}**")
        if work["why"]:
            yield from ("", cell(work["why"], 4_000))
        if work["evidence"]:
            yield from (
                "",
                f"How it was tested: {cell(work['evidence'], 2_000)} ({cell(work['tests'], 200)})",
            )
        if work["risks"]:
            yield from ("", "Risks: " + "; ".join(cell(risk, 500) for risk in work["risks"]))


def _why(step: dict[str, Any]) -> str:
    reason = (
        f": {cell(step['failReason'], 300)}" if step["failReason"] and step["status"] != "completed" else ""
    )
    return reason or ("" if step["verified"] else " (unverified: on passing tests alone)")


def _tests(result: dict[str, Any] | None) -> str:
    if result is None:
        return "No tests were run."
    told = "; ".join(
        f"{result[key]} {key}" for key in ("passed", "failed", "errors", "skipped") if result[key]
    )
    told = told or cell(result["note"], 200) or "no figures"
    known: list[str] = result.get("knownFailures") or []
    before = f" {count(len(known), 'test')} failed before any change, too." if known else ""
    fixed: list[str] = result.get("fixed") or []
    green = f" Of these, {len(fixed)} failed before any change." if fixed else ""
    return f"Tests {'pass' if result['ok'] else 'do not pass'}: {told}.{before}{green}"


def _files(stat: dict[str, Any]) -> Iterator[str]:
    for line in files_changed(stat, quote="`"):
        yield f"- {line}"


def files_changed(stat: dict[str, Any], quote: str = "") -> Iterator[str]:
    """Return `calc.py +7 −0 added` for each of the first files."""
    files: list[dict[str, Any]] = stat.get("files", [])
    for file in files[:MOST_FILES]:
        path = one_line(file["path"], 120).replace("`", "'")
        yield f"{quote}{path}{quote} +{file['added']} −{file['removed']} {file['status']}"
    if len(files) > MOST_FILES:
        yield f"… {len(files) - MOST_FILES} more"


def _how_to_get_it(data: dict[str, Any]) -> Iterator[str]:
    where, branch, run_id = data["where"], data["branch"], data["state"]["id"]
    if not data["commits"]:
        yield "Nothing was committed."
        return
    made = count(len(data["commits"]), "commit")
    yield f"Branch `{branch}`, {made}. `podium show {run_id} --diff` shows it."
    if where:
        shown = f"`git diff {data['base'][:12]}..{branch}`"
        yield f"In {cell(where, 200)}, {shown} shows it too, and `git merge {branch}` takes it."
    yield f"As a patch: `podium artifacts {run_id} changes.patch | git apply`."


def sections_of(build: BuildState, patch: str = "") -> list[Section]:
    """Return the report's sections. The diff comes from the patch or, without one, from the log."""
    data = as_data(build)
    diff = parsed(patch or data["diff"])
    parts = [
        _section("changes", "Changes", diff, lambda: "\n".join(_changes(diff))),
        _section("plan", "The plan", _plans(build), lambda: "\n".join(_plan_lines(_plans(build)))),
        _section("tests", "Tests", _tested(build), lambda: "\n".join(_test_lines(_tested(build)))),
        _section("gates", "Gates", data["gates"], lambda: "\n".join(_gate_lines(data)), caught=data["caught"],
                 escalations=data["escalations"], names=GATES, time_used=data["time_used"]),
    ]  # fmt: skip
    return [part for part in parts if part is not None]


def _section(name: str, title: str, data: Any, markdown: Any, **context: Any) -> Section | None:
    if not data:
        return None
    return Section(
        name=name, title=title, data=data, markdown=markdown, package=PACKAGE, template=f"{name}.html",
        context={"signs": SIGNS, **context}, style="build.css" if name == "plan" else "",
        scored=name == "gates",
    )  # fmt: skip


def _plans(build: BuildState) -> list[dict[str, Any]]:
    return [plan.shown() for plan in build.plans]


def _tested(build: BuildState) -> list[dict[str, Any]]:
    rows = [
        {"step": step.label, "description": step.description, **step.test_results.shown()}
        for step in build.all_steps()
        if step.test_results is not None
    ]
    suite = build.suite
    return rows + (
        [{"step": "", "description": "The whole suite", **suite.shown()}] if suite is not None else []
    )


def _changes(diff: list[dict[str, Any]]) -> Iterator[str]:
    yield "| file | status | added | removed |\n|---|---|--:|--:|"
    for file in diff:
        yield f"| {cell(file['path'], 200)} | {file['status']} | {file['added']} | {file['removed']} |"


def _plan_lines(plans: list[dict[str, Any]]) -> Iterator[str]:
    for number, plan in enumerate(plans, 1):
        if len(plans) > 1:
            yield f"\n**Iteration {number}**\n"
        yield from _step_lines(plan["steps"], "")


def _step_lines(steps: list[dict[str, Any]], indent: str) -> Iterator[str]:
    for step in steps:
        yield f"{indent}- {SIGNS[step['status']]} {cell(step['description'], 300)}{_why(step)}"
        yield from _step_lines(step["subSteps"], f"{indent}  ")


def _test_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "| what | result | passed | failed | took |\n|---|---|--:|--:|--:|"
    for row in rows:
        what = f"step {row['step']}: {row['description']}" if row["step"] else row["description"]
        bad = row["failed"] + row["errors"]
        sign, took = "✓" if row["ok"] else "✗", duration(row["seconds"])
        yield f"| {cell(what, 200)} | {sign} | {row['passed']} | {bad} | {took} |"


def _gate_lines(data: dict[str, Any]) -> Iterator[str]:
    for gate in data["gates"]:
        rated = gate["score"] is not None
        score = needs(f"{gate['score']:g}", f"{gate['threshold']:g}") if rated else "by rule"
        said = "; ".join(gate["problems"] or gate["issues"]) or gate["reason"]
        why = "" if gate["passed"] else f": {cell(said, 300)}"
        about = f" of {gate['step_id']}" if gate["step_id"] else ""
        yield f"- {'✓' if gate['passed'] else '✗'} {GATES[gate['gate']]}{about}, {score}{why}"
    for caught in data["caught"]:
        kind = "refused" if caught["refused"] else "noticed"
        yield f"- ! {kind} in {caught['step_id']}, attempt {caught['attempt']}: {cell(caught['what'], 300)}"
    for one in data["escalations"]:
        yield f"- ▲ {one['before']} → {one['level']}: {cell(one['reason'], 300)}"


PRESENTATION = BuildPresentation
