"""`npm test`, with the results of Jest and Vitest read from their JSON."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from podium.tools.testing.command import Project, TestCommand
from podium.tools.testing.junit import ResultsError
from podium.tools.testing.report import Counts, Failure
from podium.tools.testing.trimming import MAX_FAILURE, ends_of, first_line, plain

RESULTS = "node.json"
_NONE = "no test specified"
_STACK = re.compile(r"\(?([\w./@-]+\.[cm]?[jt]sx?):(\d+):\d+\)?")


_DEEP = re.compile(r"\n\s+at .*(node_modules|node:internal|new Promise).*")
"""Lines of a stack that lie in the framework."""


class _Package(msgspec.Struct):
    scripts: dict[str, Any] = {}


def find_npm(project: Project) -> TestCommand | None:
    """How the script `test` of package.json is run, or `None` if there is none."""
    try:
        package = msgspec.json.decode(project.text("package.json") or "{}", type=_Package)
    except msgspec.MsgspecError:  # not JSON: npm could not use it either
        return None
    script = package.scripts.get("test")
    if not isinstance(script, str) or not script.strip() or _NONE in script:
        return None
    framework = framework_of(script)
    argv = ["npm", "test", "--silent"]
    more = _options(framework, project.results / RESULTS)
    modules = project.installed("node_modules")
    return TestCommand(
        argv=[*argv, "--", *more] if more else argv,
        framework=framework,
        told_as="npm test",
        why=f"package.json has a script `test`: {first_line(script, 100)}",
        env=ENVIRONMENT,
        readable=[str(modules)] if modules else [],
        links={"node_modules": str(modules)} if modules else {},
    )


ENVIRONMENT = {
    "CI": "1", "npm_config_update_notifier": "false", "npm_config_audit": "false", "npm_config_fund": "false",
    "npm_config_offline": "true", "npm_config_cache": "/tmp/npm",
}  # fmt: skip


def framework_of(script: str) -> str:
    """What the last command of the script is; only that one gets our options."""
    last = re.split(r"&&|\|\||;|\|", script)[-1]
    words = [word for word in last.split() if "=" not in word and word not in ("npx", "cross-env")]
    name = words[0].rpartition("/")[2] if words else ""
    if name == "node" and any(word.rpartition("/")[2] in ("jest", "jest.js") for word in words):
        return "jest"
    return name if name in ("jest", "vitest") else "npm"


def _options(framework: str, results: Path) -> list[str]:
    if framework == "jest":
        return ["--ci", "--json", f"--outputFile={results}", "--testLocationInResults"]
    if framework == "vitest":
        return ["--run", "--reporter=default", "--reporter=json", f"--outputFile.json={results}"]
    return []


def read_node(data: bytes, tree: Path) -> Counts:
    """The JSON that both Jest and Vitest write."""
    try:
        told = msgspec.json.decode(data, type=_Results)
    except msgspec.MsgspecError as error:
        raise ResultsError(f"The results are not those of Jest or Vitest: {error}.") from error
    counts, tests, failures = {"passed": 0, "failed": 0, "skipped": 0}, list[str](), list[Failure]()
    errors = 0
    for suite in told.testResults:
        file = plain(suite.name, tree)
        if not suite.assertionResults and suite.status == "failed":
            errors += 1
            failures.append(_failure(file, suite.message, file, tree, is_error=True))
        for test in suite.assertionResults:
            kind = test.status if test.status in ("passed", "failed") else "skipped"
            counts[kind] += 1
            name = plain(f"{file} > {test.fullName}")
            if kind != "skipped":
                tests.append(name)
            if kind == "failed":
                failures.append(_failure(name, "\n".join(test.failureMessages), file, tree, is_error=False))
    return Counts(counts["passed"], counts["failed"], errors, counts["skipped"], failures, tests)


class _Test(msgspec.Struct):
    status: str
    fullName: str = ""
    failureMessages: list[str] = []


class _Suite(msgspec.Struct):
    name: str
    status: str = ""
    message: str = ""
    assertionResults: list[_Test] = []


class _Results(msgspec.Struct):
    testResults: list[_Suite]


def _failure(name: str, message: str, file: str, tree: Path, *, is_error: bool) -> Failure:
    text = _DEEP.sub("", plain(message, tree))
    line = next((int(found[2]) for found in _STACK.finditer(text) if found[1].endswith(file)), 0)
    return Failure(name, first_line(text), file, line, ends_of(text, MAX_FAILURE), is_error)


_SUMMARY = re.compile(r"^(?:#|ℹ) (pass|fail|skipped|todo|cancelled) (\d+)$", re.MULTILINE)
_TAP = re.compile(r"^\s*not ok \d+ - (.+?)(?: # .*)?$", re.MULTILINE)
_SPEC = re.compile(r"^✖ (.+?) \([\d.]+ms\)$", re.MULTILINE)


def read_node_test(output: str) -> Counts | None:
    """What Node's own runner prints at the end; `None` if this is not its output."""
    numbers = {name: int(count) for name, count in _SUMMARY.findall(output)}
    if "pass" not in numbers or "fail" not in numbers:
        return None
    names = dict.fromkeys(_TAP.findall(output) or _SPEC.findall(output))
    failures = [Failure(name, "The test failed; see the output.") for name in names]
    skipped = numbers.get("skipped", 0) + numbers.get("todo", 0)
    return Counts(numbers["pass"], numbers["fail"] + numbers.get("cancelled", 0), 0, skipped, failures)
