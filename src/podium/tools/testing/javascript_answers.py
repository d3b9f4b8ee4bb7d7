"""The probe for JavaScript: functions that hold the answers of their tests.

A recorder is put into the changed functions, and the tests run once with whatever framework the project has.
Then copies of the files are imported outside the tests, and the functions called on the recorded inputs, on
fresh inputs, and with each of their constants changed in turn. Node's own parser finds functions and
constants; files that it cannot parse, such as TypeScript and JSX, are left out. All of this happens in the
sandbox.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec

from podium.engine.process import offload
from podium.errors import ResultRefusedError
from podium.tools.sandbox.sandbox import Sandbox, read_result
from podium.tools.testing.execution import find_command, link_folders, project_of, run_command
from podium.tools.testing.findings import ChangedFile, Finding
from podium.tools.testing.fresh_inputs import fresh_inputs
from podium.tools.testing.probe import (
    MAX_FUNCTIONS,
    MAX_OBSERVATION,
    SECONDS_EACH,
    Functions,
    Literals,
    Recorded,
    Target,
    changed_files,
    findings_of,
    is_encoded,
    read_calls,
    read_observations,
)
from podium.tools.testing.report import Project, TestCommand
from podium.tools.workspace.workspace import Workspace, remove_folder

PROGRAMS = Path(__file__).parent / "inside" / "javascript"
ENDINGS = (".js", ".cjs", ".mjs")
MAX_FRESH = 120
LITERALS = Literals(json.loads, json.dumps)


class _Function(msgspec.Struct):
    name: str
    line: int


class _File(msgspec.Struct):
    """The changed functions of a file, and the constants on its changed lines."""

    path: str
    functions: list[_Function]
    constants: list[Any]


async def find_javascript_answers(
    workspace: Workspace, sandbox: Sandbox, since: str, *, command: str = "", seconds: float = 60.0
) -> list[Finding]:
    """Return findings for JavaScript functions."""
    files = await changed_files(workspace, since, ENDINGS)
    if not files or shutil.which("node") is None:
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
        shutil.copytree(PROGRAMS, programs)
        probe = _Probe(workspace, sandbox, project, chosen, programs, seconds / 2)
        return await probe.findings(files)
    finally:
        await workspace.reset()
        remove_folder(results)
        remove_folder(programs)


class _Probe:
    """One probe of a change."""

    def __init__(
        self,
        workspace: Workspace,
        sandbox: Sandbox,
        project: Project,
        command: TestCommand,
        programs: Path,
        seconds: float,
    ) -> None:
        self._workspace, self._sandbox, self._project = workspace, sandbox, project
        self._command, self._programs, self._seconds = command, programs, seconds

    async def findings(self, files: list[ChangedFile]) -> list[Finding]:
        found = await self._put_recorders(files)
        if not found:
            return []
        link_folders(self._command, self._project)
        await run_command(self._command, self._project, self._sandbox, self._seconds)
        tree, results = self._project.tree, self._project.results
        recorded = await offload(read_calls, results, {file.path for file in found}, LITERALS, tree)
        await self._workspace.reset()
        link_folders(self._command, self._project)
        return await self._replay({file.path: file for file in files}, found, recorded)

    async def _put_recorders(self, files: list[ChangedFile]) -> list[_File]:
        tree = self._project.tree
        job = [
            {
                "path": file.path,
                "file": str(tree / file.path),
                "before": file.before,
                "lines": [line for line, _ in file.added()],
            }
            for file in files
        ]
        await self._run("recording", {"files": job})
        try:
            data = read_result(self._project.results, "functions.json", max_bytes=MAX_OBSERVATION)
            return msgspec.json.decode(data, type=list[_File])
        except (OSError, ResultRefusedError, msgspec.MsgspecError):  # Node without its parser
            return []

    async def _replay(
        self, files: dict[str, ChangedFile], found: list[_File], recorded: Functions
    ) -> list[Finding]:
        targets = list[tuple[Target, Recorded, dict[str, Any]]]()
        for file in found:
            for function in file.functions:
                known = recorded.get((file.path, function.name))
                if known is not None and file.path in files and len(targets) < MAX_FUNCTIONS:
                    job = _job(files[file.path], file, function.name, known, self._project.tree)
                    targets.append((Target(file.path, function.name, function.line), known, job))
        targets = [entry for entry in targets if entry[2]["fresh"]]
        if not targets:
            return []
        each = min(SECONDS_EACH, max(2.0, self._seconds / len(targets)))
        jobs = [job for _, _, job in targets]
        remove_folder(self._project.results)
        self._project.results.mkdir(mode=0o700)
        await self._run("replaying", {"functions": jobs, "seconds": self._seconds, "seconds_each": each})
        seen = await offload(read_observations, self._project.results, len(jobs))
        return [
            finding
            for number, (target, known, job) in enumerate(targets)
            if number in seen
            for finding in findings_of(target, known, seen[number], encoded=job["encoded"])
        ]

    async def _run(self, program: str, job: dict[str, Any]) -> None:
        path, project = self._programs / "job.json", self._project
        path.write_bytes(msgspec.json.encode(job))
        await self._sandbox.run(
            [
                "node",
                "--expose-internals",
                str(self._programs / f"{program}.cjs"),
                str(path),
                str(project.results),
            ],
            folder=project.tree,
            cwd=project.below or ".",
            readable=[*map(Path, self._command.readable), self._programs],
            also_writable=[project.results],
            env={"NODE_NO_WARNINGS": "1"},
            limits=msgspec.structs.replace(self._sandbox.limits, seconds=self._seconds + 10),
        )


def _job(file: ChangedFile, found: _File, name: str, known: Recorded, tree: Path) -> dict[str, Any]:
    inputs = known.inputs()
    return {
        "file": str(tree / file.path),
        "name": name,
        "old": file.before,
        "lines": sorted({line for line, _ in file.added()}),
        "examples": [known.items(arguments) for arguments in inputs],
        "encoded": any(map(is_encoded, found.constants)),
        "fresh": [known.items(arguments) for arguments in fresh_inputs(inputs, found.constants, MAX_FRESH)],
    }
