"""What a program sees in a change: the difference, its tests, and what speaks against it."""

from __future__ import annotations

from podium.tools.testing.finding import Finding
from podium.tools.testing.inspecting import inspect_change
from podium.tools.testing.languages import is_test_file
from podium.tools.untrusted import untrusted
from podium.tools.workspace.workspace import Workspace
from podium.workflows.build.ground import Inspected
from podium.workflows.build.policy.answers import hard_coded_answers
from podium.workflows.build.policy.catching import closes_the_gate, is_worth_telling, secrets_in

SHOWN_DIFF = 40_000


async def inspect_between(workspace: Workspace, before: str, allowed: list[str]) -> Inspected:
    """Everything since `before`; `allowed` are the files that the step names."""
    stats = await workspace.stat(before)
    files = [stat.path for stat in stats]
    found = await inspect_change(workspace, before, named=allowed)
    contents = await _texts(workspace, workspace.state, files)
    old = await _texts(workspace, before, [stat.old_path or stat.path for stat in stats])
    earlier = {stat.path: old.get(stat.old_path or stat.path, "") for stat in stats}
    tests = {path: text for path, text in contents.items() if is_test_file(path)}
    sources = {path: text for path, text in contents.items() if path not in tests}
    closing = [one for one in found if closes_the_gate(one.kind, one.severity) and one.kind != "no_tests"]
    answers = hard_coded_answers(sources, tests, earlier)
    return Inspected(
        diff=untrusted(await workspace.diff(before), "the change", SHOWN_DIFF),
        files=files,
        tests=[path for path in files if is_test_file(path)],
        has_tests=not any(one.kind == "no_tests" for one in found),
        caught=[*map(_told, closing), *answers],
        suspected=[_told(one) for one in found if is_worth_telling(one.kind, one.severity)],
        security=secrets_in(contents, earlier),
    )


async def _texts(workspace: Workspace, sha: str, files: list[str]) -> dict[str, str]:
    found = await workspace.contents(sha, files)
    return {path: data.decode("utf-8", "replace") for path, data in found.items()}


def _told(finding: Finding) -> str:
    line = f":{finding.line}" if finding.line else ""
    return f"{finding.path}{line}: {finding.message}"
