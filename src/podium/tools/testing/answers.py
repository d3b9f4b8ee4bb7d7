"""Detection of code that holds the answers of its tests instead of computing them.

The tests run once while the calls of changed functions are recorded. Then the functions are called again
outside the tests: on the recorded inputs, on fresh inputs, and with each of their constants changed in turn.
All of this happens in the sandbox. This is the
probe for Python; that for JavaScript is in `javascript_answers`.
"""

from __future__ import annotations

import ast
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from podium.engine.process import offload
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.testing import inside
from podium.tools.testing.cases import is_test_file, parse_python
from podium.tools.testing.execution import find_command, link_folders, project_of, run_command
from podium.tools.testing.findings import ChangedFile, Finding
from podium.tools.testing.fresh_inputs import fresh_inputs, literal_constants
from podium.tools.testing.inside.calls import functions
from podium.tools.testing.inside.recording import JOB, TARGETS
from podium.tools.testing.javascript_answers import find_javascript_answers
from podium.tools.testing.probe import (
    MAX_FUNCTIONS,
    SECONDS_EACH,
    Functions,
    Literals,
    Target,
    changed_files,
    findings_of,
    is_encoded,
    read_calls,
    read_observations,
)
from podium.tools.testing.pytest_runner import find_interpreter
from podium.tools.testing.report import Project, TestCommand
from podium.tools.testing.verdicts import Observation, differing
from podium.tools.workspace.workspace import Workspace, remove_folder

PROGRAMS = Path(__file__).parent / "inside"
PACKAGE = "podium_inside"
"""Name of the programs' package in the sandbox. It differs from ours, which the project may be itself."""
LITERALS = Literals(ast.literal_eval, repr)


async def find_answers(
    workspace: Workspace, sandbox: Sandbox, since: str, *, command: str = "", seconds: float = 60.0
) -> list[Finding]:
    """Return a finding for each function, new or changed since a commit or snapshot, that knows its tests.
    `command` is the test command, if the user gave one; `seconds` limit the tests and the replay together."""
    began = time.monotonic()
    python = await find_python_answers(workspace, sandbox, since, command=command, seconds=seconds)
    left = max(1.0, seconds - (time.monotonic() - began))
    return python + await find_javascript_answers(workspace, sandbox, since, command=command, seconds=left)


async def find_python_answers(
    workspace: Workspace, sandbox: Sandbox, since: str, *, command: str = "", seconds: float = 60.0
) -> list[Finding]:
    """Return findings for Python functions."""
    files = await changed_files(workspace, since, (".py",))
    targets = [target for file in files for target in changed_functions(file)][:MAX_FUNCTIONS]
    if not targets:
        return []
    await workspace.reset()
    results, programs = workspace.home / "answers", workspace.home / "programs"
    remove_folder(results)
    remove_folder(programs)
    try:
        project = project_of(workspace, results)
        chosen = await find_command(project, sandbox, command)
        if chosen is None:
            return []
        _write_programs(programs, targets, project.tree)
        link_folders(chosen, project)
        await run_command(_recording(chosen, programs, project), project, sandbox, seconds / 2)
        paths = {target.path for target in targets}
        recorded = await offload(read_calls, results, paths, LITERALS, project.tree)
        await workspace.reset()
        return await _replay(workspace, sandbox, project, files, targets, recorded, programs, seconds / 2)
    finally:
        await workspace.reset()
        remove_folder(results)
        remove_folder(programs)


def changed_functions(file: ChangedFile) -> list[Target]:
    """Return functions and methods that are new, changed, or use a changed name of the module."""
    tree, before = parse_python(file.after or ""), parse_python(file.before or "")
    if tree is None:
        return []
    known = {name: ast.dump(node) for name, node in functions(before)} if before else {}
    old_values = {ast.dump(node) for node in before.body} if before else set[str]()
    new_names = {
        part.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and ast.dump(node) not in old_values
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    targets = list[Target]()
    for name, node in functions(tree):
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        if known.get(name) != ast.dump(node) or used & new_names:
            targets.append(Target(file.path, name, node.lineno))
    return targets


def _write_programs(folder: Path, targets: list[Target], tree: Path) -> None:
    """Copy the programs for the sandbox, and a `sitecustomize` that starts the recorder."""
    package = folder / PACKAGE
    package.mkdir(parents=True, mode=0o755)
    for program in PROGRAMS.glob("*.py"):
        text = program.read_text(encoding="utf-8").replace(f"from {inside.__name__}.", f"from {PACKAGE}.")
        (package / program.name).write_text(text, encoding="utf-8")
    (folder / "record").mkdir(mode=0o755)
    start = (
        f"import sys\nsys.path.append({str(folder)!r})\nfrom {PACKAGE} import recording\nrecording.start()\n"
    )
    (folder / "record" / "sitecustomize.py").write_text(start, encoding="utf-8")
    names = defaultdict[str, list[str]](list)
    for target in targets:
        names[str(tree / target.path)].append(target.name)
    (folder / TARGETS).write_bytes(msgspec.json.encode(names))


def _recording(command: TestCommand, programs: Path, project: Project) -> TestCommand:
    """Return the test command with the recorder in every Python process that it starts."""
    path = [str(programs / "record"), *filter(None, [command.env.get("PYTHONPATH")])]
    env = {**command.env, "PYTHONPATH": ":".join(path), JOB: str(project.results)}
    return msgspec.structs.replace(command, env=env, readable=[*command.readable, str(programs)])


async def _replay(
    workspace: Workspace,
    sandbox: Sandbox,
    project: Project,
    files: list[ChangedFile],
    targets: list[Target],
    recorded: Functions,
    programs: Path,
    seconds: float,
) -> list[Finding]:
    by_path = {file.path: file for file in files}
    used = [target for target in targets if (target.path, target.name) in recorded]
    jobs = [_job(by_path[target.path], target, recorded, project.tree) for target in used]
    jobs = [job for job in jobs if job["fresh"]]
    if not jobs:
        return []
    seen = await _observe(workspace, sandbox, project, jobs, programs, seconds)
    keys = {number: recorded[job["key"][0], job["key"][1]] for number, job in enumerate(jobs)}
    suspects = [number for number in seen if differing(keys[number].examples(), seen[number])]
    if suspects:
        await workspace.reset()
        as_test = await _observe(
            workspace,
            sandbox,
            project,
            [jobs[number] for number in suspects],
            programs,
            seconds,
            argv=keys[suspects[0]].argv,
        )
        for position, number in enumerate(suspects):
            if position in as_test:
                same = as_test[position]
                seen[number] = msgspec.structs.replace(
                    seen[number], as_test=same.as_test, as_test_again=same.as_test_again
                )
    lines = {(target.path, target.name): target for target in used}
    return [
        finding
        for number, job in enumerate(jobs)
        if number in seen
        for finding in findings_of(
            lines[job["key"][0], job["key"][1]], keys[number], seen[number], encoded=job["encoded"]
        )
    ]


async def _observe(
    workspace: Workspace,
    sandbox: Sandbox,
    project: Project,
    jobs: list[dict[str, Any]],
    programs: Path,
    seconds: float,
    argv: list[str] | None = None,
) -> dict[int, Observation]:
    """Run the functions outside the tests; with the arguments of a test process, in one that looks like it.
    Return what was observed, by the number of the job."""
    hidden = [path for path in workspace.files if is_test_file(path) and path.endswith(".py")]
    each = min(SECONDS_EACH, max(2.0, seconds / len(jobs)))
    job = {
        "functions": jobs,
        "hidden": [str(project.tree / path) for path in hidden],
        "as_test": argv is not None,
        "argv": argv or [],
        "seconds": seconds,
        "seconds_each": each,
    }
    remove_folder(project.results)
    project.results.mkdir(mode=0o700)
    (programs / "job.json").write_bytes(msgspec.json.encode(job))
    interpreter = find_interpreter(project)
    await sandbox.run(
        [interpreter.program, "-m", f"{PACKAGE}.replaying", str(programs / "job.json"), str(project.results)],
        folder=project.tree,
        cwd=project.below or ".",
        readable=[*map(Path, interpreter.readable), programs],
        also_writable=[project.results],
        env={
            "PYTHONPATH": str(programs),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUTF8": "1",
            "PYTHONHASHSEED": "0",
        },
        limits=msgspec.structs.replace(sandbox.limits, seconds=seconds + 10),
    )
    return await offload(read_observations, project.results, len(jobs))


def _job(file: ChangedFile, target: Target, recorded: Functions, tree: Path) -> dict[str, Any]:
    known = recorded[target.path, target.name]
    inputs = known.inputs()
    lines = sorted({line for line, _ in file.added()})
    parsed = parse_python(file.after or "")
    constants = literal_constants(parsed, set(lines)) if parsed else []
    return {
        "key": [target.path, target.name],
        "file": str(tree / target.path),
        "name": target.name,
        "module": known.module,
        "path": [path for path in known.path if PACKAGE not in path],
        "old": file.before,
        "lines": lines,
        "examples": [known.items(arguments) for arguments in inputs],
        "encoded": any(map(is_encoded, constants)),
        "fresh": [known.items(arguments) for arguments in fresh_inputs(inputs, constants)],
    }
