"""Detection of code that holds the answers of its tests instead of computing them.

The tests run once while the calls of changed functions are recorded. Then the functions are called again
outside the tests: on the recorded inputs, on fresh inputs, and with each of their constants changed in turn.
All of this happens in the sandbox. Python only.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from podium.engine.process import offload
from podium.errors import ResultRefusedError
from podium.tools.sandbox.sandbox import Sandbox, read_result
from podium.tools.testing import inside
from podium.tools.testing.cases import is_test_file, parse_python
from podium.tools.testing.execution import find_command, link_folders, project_of, run_command
from podium.tools.testing.findings import ChangedFile, Finding
from podium.tools.testing.fresh_inputs import Arguments, Opaque, fresh_inputs, literal_constants
from podium.tools.testing.inside.calls import functions
from podium.tools.testing.inside.recording import JOB, TARGETS
from podium.tools.testing.pytest_runner import find_interpreter
from podium.tools.testing.report import Project, TestCommand
from podium.tools.testing.verdicts import Example, Observation, Outcome, differing, judge
from podium.tools.workspace.edits import decoded
from podium.tools.workspace.workspace import Workspace, remove_folder

PROGRAMS = Path(__file__).parent / "inside"
PACKAGE = "podium_inside"
"""Name of the programs' package in the sandbox. It differs from ours, which the project may be itself."""
MAX_FUNCTIONS = 200
MAX_EXAMPLES = 40
MAX_CALLS_FILE = 20_000_000
MAX_OBSERVATION = 5_000_000
SECONDS_EACH = 10.0
"""Maximum seconds for one function."""


class Target(msgspec.Struct, frozen=True):
    """A new or changed function."""

    path: str
    name: str
    """Qualified name: `Class.method`."""
    line: int


class _Call(msgspec.Struct):
    """A line of the recorder. `again` is the result of the repeated call."""

    file: str
    name: str
    args: list[list[str]]
    kwargs: dict[str, list[str]]
    module: str = ""
    path: list[str] = []
    argv: list[str] = []
    result: Outcome | None = None
    again: Outcome | None = None


class _Recorded(msgspec.Struct):
    module: str
    path: list[str]
    argv: list[str]
    calls: dict[str, _Call]

    def examples(self) -> list[Example]:
        return [
            Example(_shown(call), call.result or ("time", ""), call.again or ("time", ""))
            for call in self.calls.values()
            if _arguments(call) is not None
        ]


async def find_answers(
    workspace: Workspace, sandbox: Sandbox, since: str, *, command: str = "", seconds: float = 60.0
) -> list[Finding]:
    """Return a finding for each Python function, new or changed since a commit or snapshot, that knows its
    tests. `command` is the test command, if the user gave one; `seconds` limit the tests and the replay
    together."""
    files = await _changed_files(workspace, since)
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
        recorded = await offload(_read_calls, results, {target.path: 0 for target in targets}, project.tree)
        await workspace.reset()
        return await _replay(workspace, sandbox, project, files, targets, recorded, programs, seconds / 2)
    finally:
        await workspace.reset()
        remove_folder(results)
        remove_folder(programs)


async def _changed_files(workspace: Workspace, since: str) -> list[ChangedFile]:
    stats = [
        stat
        for stat in await workspace.stat(since)
        if stat.path.endswith(".py") and not is_test_file(stat.path) and stat.status != "deleted"
    ]
    old = await workspace.contents(since, [stat.old_path or stat.path for stat in stats])
    new = await workspace.contents(workspace.state, [stat.path for stat in stats])
    return [
        ChangedFile(stat.path, _text(old.get(stat.old_path or stat.path)), _text(new[stat.path]))
        for stat in stats
        if stat.path in new
    ]


def _text(data: bytes | None) -> str | None:
    file = decoded(data) if data is not None else None
    return file.text if file else None


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


def _read_calls(results: Path, paths: dict[str, int], tree: Path) -> dict[tuple[str, str], _Recorded]:
    """Return the recorded calls by path and function. Lines that are no calls are left out."""
    recorded = dict[tuple[str, str], _Recorded]()
    for file in sorted(results.glob("calls-*.jsonl"))[:50]:
        try:
            data = read_result(results, file.name, max_bytes=MAX_CALLS_FILE)
        except (OSError, ResultRefusedError):
            continue
        for line in data.splitlines():
            with contextlib.suppress(msgspec.MsgspecError):
                call = msgspec.json.decode(line, type=_Call)
                path = call.file.removeprefix(f"{tree}/")
                if path in paths:
                    _add_call(recorded, path, call)
    return recorded


def _add_call(recorded: dict[tuple[str, str], _Recorded], path: str, call: _Call) -> None:
    known = recorded.setdefault((path, call.name), _Recorded(call.module, call.path, call.argv, {}))
    key = repr((call.args, call.kwargs))
    if call.again is not None:
        if key in known.calls:
            known.calls[key].again = call.again
    elif call.result is not None and _arguments(call) is not None and len(known.calls) < MAX_EXAMPLES:
        known.calls.setdefault(key, call)


def _arguments(call: _Call) -> Arguments | None:
    """Return the arguments as values; None if they are not as the recorder writes them."""
    try:
        return [_value(item) for item in call.args], {key: _value(item) for key, item in call.kwargs.items()}
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, IndexError):
        return None


def _value(item: list[str]) -> Any:
    return ast.literal_eval(item[1]) if item[0] == "value" else Opaque(item)


def _items(arguments: Arguments) -> dict[str, Any]:
    return {
        "args": [_item(value) for value in arguments[0]],
        "kwargs": {key: _item(value) for key, value in arguments[1].items()},
    }


def _item(value: Any) -> list[str]:
    return value.item if isinstance(value, Opaque) else ["value", repr(value)]


async def _replay(
    workspace: Workspace,
    sandbox: Sandbox,
    project: Project,
    files: list[ChangedFile],
    targets: list[Target],
    recorded: dict[tuple[str, str], _Recorded],
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
        for finding in _finding(
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
    observations = [await offload(_observation, project.results, number) for number in range(len(jobs))]
    return {number: seen for number, seen in enumerate(observations) if seen is not None}


def _job(
    file: ChangedFile, target: Target, recorded: dict[tuple[str, str], _Recorded], tree: Path
) -> dict[str, Any]:
    known = recorded[target.path, target.name]
    inputs = [arguments for call in known.calls.values() if (arguments := _arguments(call)) is not None]
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
        "examples": [_items(arguments) for arguments in inputs],
        "encoded": any(isinstance(value, str | bytes) and _is_encoded(value) for value in constants),
        "fresh": [_items(arguments) for arguments in fresh_inputs(inputs, constants)],
    }


def _observation(results: Path, number: int) -> Observation | None:
    """Return what the replay wrote; None if the function hung or ended the process."""
    try:
        data = read_result(results, f"{number}.json", max_bytes=MAX_OBSERVATION)
        return msgspec.json.decode(data, type=Observation)
    except (OSError, ResultRefusedError, msgspec.MsgspecError):
        return None


def _finding(target: Target, recorded: _Recorded, seen: Observation, *, encoded: bool) -> list[Finding]:
    verdict = judge(target.name, recorded.examples(), seen, encoded=encoded)
    if verdict is None:
        return []
    line = verdict.line or target.line
    return [Finding("hard_coded", verdict.severity, target.path, verdict.message, line, verdict.evidence)]


def _is_encoded(value: str | bytes) -> bool:
    """Return True for a long text without spaces: base64, hexadecimal digits or bytes."""
    return len(value) >= 60 and (isinstance(value, bytes) or not re.search(r"\s", value))


def _shown(call: _Call) -> str:
    texts = [item[-1] for item in call.args] + [f"{key}={item[-1]}" for key, item in call.kwargs.items()]
    return re.sub(r"\s+", " ", ", ".join(texts))[:300]
