"""npm scripts, and parsers of the results of Jest, Vitest and Mocha."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from podium.tools.testing.report import (
    MAX_FAILURE,
    Counts,
    Failure,
    Project,
    TestCommand,
    ends_of,
    first_line,
    plain,
)
from podium.tools.testing.runners import ResultsError

RESULTS, MOCHA_RESULTS = "node.json", "mocha.json"
_NONE = "no test specified"
_STACK = re.compile(r"\(?([\w./@-]+\.[cm]?[jt]sx?):(\d+):\d+\)?")


_DEEP = re.compile(r"\n\s+at .*(node_modules|node:internal|new Promise).*")
"""Stack lines inside the framework."""


class _Package(msgspec.Struct):
    scripts: dict[str, Any] = {}


def find_npm(project: Project) -> TestCommand | None:
    """Return the command for the script `test` of package.json; None if there is none."""
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
        shown_as="npm test",
        why=f"package.json has a script `test`: {first_line(script, 100)}",
        env=ENVIRONMENT,
        readable=[str(modules)] if modules else [],
        links={"node_modules": str(modules)} if modules else {},
        script=script,
    )


ENVIRONMENT = {
    "CI": "1",
    "npm_config_update_notifier": "false",
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "npm_config_offline": "true",
    "npm_config_cache": "/tmp/npm",
}


_WRAPPERS = ("npx", "cross-env", "c8", "nyc")
"""Programs that run the rest of their arguments as a command."""


def framework_of(script: str) -> str:
    """Return the framework of the script's last command; only that one gets our options."""
    last = re.split(r"&&|\|\||;|\|", script)[-1]
    words = [word for word in last.split() if "=" not in word and word not in _WRAPPERS]
    name = words[0].rpartition("/")[2] if words else ""
    if name == "node" and any(word.rpartition("/")[2] in ("jest", "jest.js") for word in words):
        return "jest"
    if name == "node" and any(word == "--test" or word.startswith("--test=") for word in words):
        return "node"
    return name if name in ("jest", "vitest", "mocha") else "npm"


def _options(framework: str, results: Path) -> list[str]:
    if framework == "jest":
        return ["--ci", "--json", f"--outputFile={results}", "--testLocationInResults"]
    if framework == "mocha":
        return ["--reporter", "json", "--reporter-option", f"output={results.with_name(MOCHA_RESULTS)}"]
    if framework == "vitest":
        return ["--run", "--reporter=default", "--reporter=json", f"--outputFile.json={results}"]
    return []


def read_node(data: bytes, tree: Path) -> Counts:
    """Read the JSON results of Jest or Vitest."""
    try:
        results = msgspec.json.decode(data, type=_Results)
    except msgspec.MsgspecError as error:
        raise ResultsError(f"The results are not those of Jest or Vitest: {error}.") from error
    names = dict[str, list[str]]({"passed": [], "failed": [], "skipped": []})
    failures, tests, errors = list[Failure](), list[str](), 0
    for suite in results.testResults:
        file = plain(suite.name, tree)
        if not suite.assertionResults and suite.status == "failed":
            errors += 1
            failures.append(_node_failure(file, suite.message, file, tree, is_error=True))
        for test in suite.assertionResults:
            kind = test.status if test.status in ("passed", "failed") else "skipped"
            name = plain(f"{file} > {test.fullName}")
            names[kind].append(name)
            if kind != "skipped":
                tests.append(name)
            if kind == "failed":
                text = "\n".join(test.failureMessages)
                failures.append(_node_failure(name, text, file, tree, is_error=False))
    return _counts(names["passed"], names["failed"], names["skipped"], failures, errors, tests)


def _counts(
    passed: list[str],
    failed: list[str],
    skipped: list[str],
    failures: list[Failure],
    errors: int = 0,
    tests: list[str] | None = None,
) -> Counts:
    return Counts(
        passed=len(passed),
        failed=len(failed),
        errors=errors,
        skipped=len(skipped),
        failures=failures,
        tests=[*passed, *failed] if tests is None else tests,
        skipped_tests=skipped,
    )


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


def _node_failure(name: str, message: str, file: str, tree: Path, *, is_error: bool) -> Failure:
    text = _DEEP.sub("", plain(message, tree))
    line = next((int(match[2]) for match in _STACK.finditer(text) if match[1].endswith(file)), 0)
    return Failure(name, first_line(text), file, line, ends_of(text, MAX_FAILURE), is_error)


class _MochaError(msgspec.Struct, frozen=True):
    message: str = ""
    stack: str = ""


class _MochaTest(msgspec.Struct):
    fullTitle: str = ""
    file: str | None = None
    err: _MochaError = _MochaError()


class _Mocha(msgspec.Struct):
    passes: list[_MochaTest]
    failures: list[_MochaTest]
    pending: list[_MochaTest] = []


def read_mocha(data: bytes, tree: Path) -> Counts:
    """Read the JSON results of Mocha."""
    try:
        results = msgspec.json.decode(data, type=_Mocha)
    except msgspec.MsgspecError as error:
        raise ResultsError(f"The results are not those of Mocha: {error}.") from error

    def name_of(test: _MochaTest) -> str:
        return plain(f"{test.file} > {test.fullTitle}" if test.file else test.fullTitle, tree)

    failures = list[Failure]()
    for test in results.failures:
        text = (
            test.err.stack if test.err.message in test.err.stack else f"{test.err.message}\n{test.err.stack}"
        )
        file = plain(test.file or "", tree)
        failures.append(_node_failure(name_of(test), text, file, tree, is_error=False))
    groups = (results.passes, results.failures, results.pending)
    passed, failed, skipped = ([name_of(test) for test in tests] for tests in groups)
    return _counts(passed, failed, skipped, failures)
