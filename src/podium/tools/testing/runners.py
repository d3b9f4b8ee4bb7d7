"""Go, cargo and npm commands, and parsers of their results and of JUnit XML."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

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

_PLACE = re.compile(r"^\s*([\w./-]+\.go):(\d+)", re.MULTILINE)
_NOISE = re.compile(r"^(=== |--- |FAIL|PASS|ok\s|exit status)", re.MULTILINE)


class _Event(msgspec.Struct, rename="pascal"):
    action: str
    package: str = ""
    test: str = ""
    output: str = ""
    import_path: str = ""


def find_go(project: Project) -> TestCommand | None:
    """Return the test command of a Go module. Its dependencies must be vendored or in the module cache."""
    if not project.has("go.mod"):
        return None
    modules = Path.home() / "go" / "pkg" / "mod"
    readable = [str(modules)] if modules.is_dir() else []
    program = shutil.which("go")
    if program and not program.startswith("/usr/"):
        readable.append(str(Path(program).resolve().parent.parent))
    env = {
        "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOCACHE": "/tmp/go-build", "GOFLAGS": "-mod=mod",
        "GOMODCACHE": str(modules), "GOTELEMETRY": "off",
    }  # fmt: skip
    if project.has("go.sum") or any(file.startswith("vendor/") for file in project.own_files()):
        del env["GOFLAGS"]
    return TestCommand(
        argv=[str(Path(program).resolve()) if program else "go", "test", "-json", "./..."],
        framework="go",
        told_as="go test ./...",
        why="go.mod is there",
        env=env,
        readable=readable,
    )


def read_go(output: str, tree: Path) -> Counts | None:
    """Count every test without subtests, and packages that do not build; None if this is not Go's JSON
    output."""
    printed, ended = defaultdict[tuple[str, str], list[str]](list), dict[tuple[str, str], str]()
    built = defaultdict[str, list[str]](list)
    seen = False
    for line in output.splitlines():
        try:
            event = msgspec.json.decode(line, type=_Event)
        except msgspec.MsgspecError:  # other output, such as the compiler's
            continue
        seen, key = True, (event.package, event.test)
        if event.action == "output":
            printed[key].append(event.output)
        elif event.action == "build-output":
            built[event.import_path.partition(" ")[0]].append(event.output)
        elif event.action in ("pass", "fail", "skip"):
            ended[key] = event.action
    return _counted(ended, printed, built, tree) if seen else None


def _counted(
    ended: dict[tuple[str, str], str],
    printed: dict[tuple[str, str], list[str]],
    built: dict[str, list[str]],
    tree: Path,
) -> Counts:
    numbers, failures, tests = {"pass": 0, "fail": 0, "skip": 0}, list[Failure](), list[str]()
    errors = 0
    parents = {(package, test.rpartition("/")[0]) for package, test in ended if "/" in test}
    for (package, test), outcome in ended.items():
        if not test or (package, test) in parents:
            continue
        numbers[outcome] += 1
        name = f"{package}.{test}"
        if outcome != "skip":
            tests.append(name)
        if outcome == "fail":
            failures.append(_failure(name, "".join(printed[package, test]), tree, is_error=False))
    failing = {package for (package, test), outcome in ended.items() if test and outcome == "fail"}
    for (package, test), outcome in ended.items():
        if not test and outcome == "fail" and package not in failing:
            errors += 1
            told = "".join(built.get(package, [])) + "".join(printed[package, ""])
            failures.append(_failure(package, told, tree, is_error=True))
    return Counts(numbers["pass"], numbers["fail"], errors, numbers["skip"], failures, tests)


def _failure(name: str, output: str, tree: Path, *, is_error: bool) -> Failure:
    text = plain(output, tree)
    telling = "\n".join(line for line in text.splitlines() if not _NOISE.match(line.strip()))
    place = _PLACE.search(text)
    file, line = (place[1], int(place[2])) if place else ("", 0)
    message = first_line(telling) or first_line(text) or "It failed and printed nothing."
    return Failure(name, message, file, line, ends_of(telling or text, MAX_FAILURE), is_error)


_TEST = re.compile(r"^test (.+?) \.\.\. (ok|FAILED|ignored)\b", re.MULTILINE)
_RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)
_SECTION = re.compile(
    r"^---- (.+?) (?:stdout )?----\n(.*?)(?=^---- |^failures:|\Z)", re.MULTILINE | re.DOTALL
)
_PANIC = re.compile(r"panicked at (?:'[^']*', )?([\w./-]+\.rs):(\d+)")
_ERROR = re.compile(r"^error(?:\[E\d+\])?: (.+)$(?:\n\s*--> ([\w./-]+):(\d+))?", re.MULTILINE)
_COUNT = re.compile(r"could not compile|aborting due to")


def find_cargo(project: Project) -> TestCommand | None:
    """Return the test command of a crate. Its dependencies must have been fetched or vendored."""
    if not project.has("Cargo.toml"):
        return None
    home, program = Path.home(), shutil.which("cargo")
    # Never expose all of ~/.cargo: it holds registry tokens.
    wanted = [home / ".cargo" / part for part in ("bin", "registry", "git")] + [home / ".rustup"]
    return TestCommand(
        argv=[program or "cargo", "test", "--offline", "--no-fail-fast", "--color=never"],
        framework="cargo",
        told_as="cargo test",
        why="Cargo.toml is there",
        env={
            "CARGO_HOME": str(home / ".cargo"), "RUSTUP_HOME": str(home / ".rustup"),
            "CARGO_TARGET_DIR": "/tmp/target", "CARGO_TERM_PROGRESS_WHEN": "never", "CARGO_INCREMENTAL": "0",
        },
        readable=[str(folder) for folder in wanted if folder.is_dir()],
    )  # fmt: skip


def read_cargo(stdout: str, stderr: str, tree: Path) -> Counts | None:
    """Count the tests of all binaries; None if nothing was built or run."""
    out, err = plain(stdout, tree), plain(stderr, tree)
    results = [tuple(map(int, found)) for found in _RESULT.findall(out)]
    tests = [(name, outcome) for name, outcome in _TEST.findall(out)]
    if not results:
        failures = _broken(err)
        return Counts(errors=len(failures), failures=failures) if failures else None
    sections = dict[str, str](_SECTION.findall(out))
    failures = [_rust_failure(name, sections.get(name, "")) for name, outcome in tests if outcome == "FAILED"]
    passed, failed, ignored = (sum(column) for column in zip(*results, strict=True))
    broken = _broken(err) if "could not compile" in err else []
    ran = [name for name, outcome in tests if outcome != "ignored"]
    return Counts(passed, failed, len(broken), ignored, [*failures, *broken], ran)


def _rust_failure(name: str, text: str) -> Failure:
    place = _PANIC.search(text)
    after = text[place.end() :].partition("\n")[2] if place else text
    message = first_line(after) or first_line(text) or "The test failed."
    file, line = (place[1], int(place[2])) if place else ("", 0)
    return Failure(name, message, file, line, ends_of(text, MAX_FAILURE))


def _broken(stderr: str) -> list[Failure]:
    """Return the compiler errors."""
    found = list[Failure]()
    for match in _ERROR.finditer(stderr):
        if not _COUNT.search(match[1]):
            text = stderr[match.start() :].partition("\n\n")[0]
            file, line = match[2] or "", int(match[3] or 0)
            found.append(
                Failure(file or "build", match[1], file, line, ends_of(text, MAX_FAILURE), is_error=True)
            )
    return found


_JUNIT_PLACE = re.compile(r"^(?:E?\s*File \"|>?\s*)?([\w./-]+\.\w+)(?:\", line |:)(\d+)", re.MULTILINE)


class ResultsError(Exception):
    """A results file cannot be read; the message is one sentence."""


def read_junit(data: bytes, tree: Path) -> Counts:
    """Count the outcomes of all test cases in a JUnit XML file."""
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise ResultsError("The results declare entities, which no framework does.")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError) as error:
        raise ResultsError(f"The results are not XML: {error}.") from error
    passed = failed = errors = skipped = 0
    failures, tests = list[Failure](), list[str]()
    for case in root.iter("testcase"):
        name = _name(case)
        broken, wrong = case.find("error"), case.find("failure")
        if case.find("skipped") is not None and broken is None and wrong is None:
            skipped += 1
            continue
        tests.append(name)
        if broken is not None:
            errors += 1
            failures.append(_junit_failure(case, broken, name, tree, is_error=True))
        elif wrong is not None:
            failed += 1
            failures.append(_junit_failure(case, wrong, name, tree, is_error=False))
        else:
            passed += 1
    return Counts(passed, failed, errors, skipped, failures, tests)


def _junit_failure(
    case: ElementTree.Element, told: ElementTree.Element, name: str, tree: Path, *, is_error: bool
) -> Failure:
    text = plain(told.text or "", tree)
    message = plain(told.get("message") or "", tree) or first_line(text)
    if message == "collection failure":  # the cause is in the last lines
        message = next(
            (line[1:].strip() for line in reversed(text.splitlines()) if line[:2] == "E "), message
        )
    file, line = case.get("file") or "", _number(case.get("line"))
    places = [
        (found[1], int(found[2])) for found in _JUNIT_PLACE.finditer(text) if not found[1].startswith("/")
    ]
    if places:
        file, line = places[-1]
    return Failure(name, ends_of(message, 500), file, line, ends_of(text, MAX_FAILURE), is_error)


def _name(case: ElementTree.Element) -> str:
    """Return the test's name as pytest accepts it on its command line: `tests/test_a.py::TestB::test_c`."""
    name, group, file = case.get("name") or "", case.get("classname") or "", case.get("file") or ""
    if not file:
        return plain(f"{group}::{name}" if group else name)
    module = file.removesuffix(".py").replace("/", ".")
    if name == module:  # the file could not be collected
        return plain(file)
    inner = group.removeprefix(module).strip(".").replace(".", "::") if group.startswith(module) else ""
    return plain("::".join(part for part in (file, inner, name) if part))


def _number(text: str | None) -> int:
    return int(text) + 1 if text and text.isdecimal() else 0


RESULTS = "node.json"
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
    """Return the framework of the script's last command; only that one gets our options."""
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
    """Read the JSON results of Jest or Vitest."""
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
            failures.append(_node_failure(file, suite.message, file, tree, is_error=True))
        for test in suite.assertionResults:
            kind = test.status if test.status in ("passed", "failed") else "skipped"
            counts[kind] += 1
            name = plain(f"{file} > {test.fullName}")
            if kind != "skipped":
                tests.append(name)
            if kind == "failed":
                failures.append(
                    _node_failure(name, "\n".join(test.failureMessages), file, tree, is_error=False)
                )
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


def _node_failure(name: str, message: str, file: str, tree: Path, *, is_error: bool) -> Failure:
    text = _DEEP.sub("", plain(message, tree))
    line = next((int(found[2]) for found in _STACK.finditer(text) if found[1].endswith(file)), 0)
    return Failure(name, first_line(text), file, line, ends_of(text, MAX_FAILURE), is_error)


_SUMMARY = re.compile(r"^(?:#|ℹ) (pass|fail|skipped|todo|cancelled) (\d+)$", re.MULTILINE)
_TAP = re.compile(r"^\s*not ok \d+ - (.+?)(?: # .*)?$", re.MULTILINE)
_SPEC = re.compile(r"^✖ (.+?) \([\d.]+ms\)$", re.MULTILINE)


def read_node_test(output: str) -> Counts | None:
    """Read the summary of Node's own test runner; None if this is not its output."""
    numbers = {name: int(count) for name, count in _SUMMARY.findall(output)}
    if "pass" not in numbers or "fail" not in numbers:
        return None
    names = dict.fromkeys(_TAP.findall(output) or _SPEC.findall(output))
    failures = [Failure(name, "The test failed; see the output.") for name in names]
    skipped = numbers.get("skipped", 0) + numbers.get("todo", 0)
    return Counts(numbers["pass"], numbers["fail"] + numbers.get("cancelled", 0), 0, skipped, failures)
