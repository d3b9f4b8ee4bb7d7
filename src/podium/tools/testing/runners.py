"""Go and cargo commands, and parsers of their results and of JUnit XML."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

import msgspec

from podium.errors import WorkspaceError
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
from podium.tools.workspace.tree import WorkTree

_PLACE = re.compile(r"^\s*([\w./-]+\.go):(\d+)", re.MULTILINE)
_BROKEN = re.compile(r"^FAIL\t(\S+) \[(?:build|setup) failed\]")
_COMPILER = re.compile(r"^# (\S+)(?: \[[^\]]*\])?\n((?:(?!# ).*\n?)*)", re.MULTILINE)
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
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "GOCACHE": "/tmp/go-build",
        "GOFLAGS": "-mod=mod",
        "GOMODCACHE": str(modules),
        "GOTELEMETRY": "off",
    }
    if project.has("go.sum") or any(file.startswith("vendor/") for file in project.own_files()):
        del env["GOFLAGS"]
    return TestCommand(
        argv=[str(Path(program).resolve()) if program else "go", "test", "-json", "./..."],
        framework="go",
        shown_as="go test ./...",
        why="there is a go.mod",
        env=env,
        readable=readable,
    )


def read_go(output: str, tree: Path, below: str = "", stderr: str = "") -> Counts | None:
    """Count every test without subtests, and packages that do not build; None if this is not Go's JSON
    output.

    `below` is the folder of the module in the tree. Before Go 1.24, compiler errors are in `stderr`.
    """
    printed, ended = defaultdict[tuple[str, str], list[str]](list), dict[tuple[str, str], str]()
    built = defaultdict[str, list[str]](list)
    seen = False
    for line in output.splitlines():
        try:
            event = msgspec.json.decode(line, type=_Event)
        except msgspec.MsgspecError:  # other output
            if broken := _BROKEN.match(line):
                seen, ended[broken[1], ""] = True, "fail"
            continue
        seen, key = True, (event.package, event.test)
        if event.action == "output":
            printed[key].append(event.output)
        elif event.action == "build-output":
            built[event.import_path.partition(" ")[0]].append(event.output)
        elif event.action in ("pass", "fail", "skip"):
            ended[key] = event.action
    for match in _COMPILER.finditer(stderr):
        built[match[1]].append(match[2])
    return _counted(ended, printed, built, _GoFiles(tree, below)) if seen else None


def _counted(
    ended: dict[tuple[str, str], str],
    printed: dict[tuple[str, str], list[str]],
    built: dict[str, list[str]],
    files: _GoFiles,
) -> Counts:
    failures, tests, errors = list[Failure](), list[str](), 0
    names = dict[str, list[str]]({"pass": [], "fail": [], "skip": []})
    parents = {(package, test.rpartition("/")[0]) for package, test in ended if "/" in test}
    for (package, test), outcome in ended.items():
        if not test or (package, test) in parents:
            continue
        name = f"{package}.{test}"
        names[outcome].append(name)
        if outcome != "skip":
            tests.append(name)
        if outcome == "fail":
            failures.append(files.failure(name, package, "".join(printed[package, test]), is_error=False))
    failing = {package for (package, test), outcome in ended.items() if test and outcome == "fail"}
    for (package, test), outcome in ended.items():
        if not test and outcome == "fail" and package not in failing:
            errors += 1
            output = "".join(built.get(package, [])) + "".join(printed[package, ""])
            failures.append(files.failure(package, package, output, is_error=True))
    return Counts(
        passed=len(names["pass"]),
        failed=len(names["fail"]),
        errors=errors,
        skipped=len(names["skip"]),
        failures=failures,
        tests=tests,
        skipped_tests=names["skip"],
    )


class _GoFiles:
    """Finds the places of failures: Go names files relative to their package."""

    def __init__(self, tree: Path, below: str) -> None:
        self._tree, self._below = tree, below
        path = f"{below}/go.mod" if below else "go.mod"
        try:
            text = WorkTree(tree).read(path, 1_000_000).decode("utf-8", "replace")
        except (OSError, WorkspaceError):  # a workspace of several modules, or a recorded run
            text = ""
        match = re.search(r"^module\s+(\S+)", text, re.MULTILINE)
        self._module = match[1].strip('"') if match else ""

    def failure(self, name: str, package: str, output: str, *, is_error: bool) -> Failure:
        text = plain(output, self._tree)
        relevant = "\n".join(line for line in text.splitlines() if not _NOISE.match(line.strip()))
        places = [(match[1], int(match[2])) for match in _PLACE.finditer(text) if match[1][0] != "/"]
        file, line = places[0] if places else ("", 0)
        message = first_line(relevant) or first_line(text) or "It failed and printed nothing."
        return Failure(
            name, message, self._path(file, package), line, ends_of(relevant or text, MAX_FAILURE), is_error
        )

    def _path(self, file: str, package: str) -> str:
        """Return the path in the tree: a bare name lies in the package, others below the module."""
        if not file:
            return ""
        folder = self._below
        if "/" not in file and package.startswith(f"{self._module}/") and self._module:
            folder = "/".join(part for part in (folder, package[len(self._module) + 1 :]) if part)
        file = file.removeprefix("./")
        return f"{folder}/{file}" if folder and not file.startswith(f"{folder}/") else file


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
        shown_as="cargo test",
        why="there is a Cargo.toml",
        env={
            "CARGO_HOME": str(home / ".cargo"),
            "RUSTUP_HOME": str(home / ".rustup"),
            "CARGO_TARGET_DIR": "/tmp/target",
            "CARGO_TERM_PROGRESS_WHEN": "never",
            "CARGO_INCREMENTAL": "0",
        },
        readable=[str(folder) for folder in wanted if folder.is_dir()],
    )


def read_cargo(stdout: str, stderr: str, tree: Path) -> Counts | None:
    """Count the tests of all binaries; None if nothing was built or run."""
    out, err = plain(stdout, tree), plain(stderr, tree)
    results = [tuple(map(int, row)) for row in _RESULT.findall(out)]
    tests = [(name, outcome) for name, outcome in _TEST.findall(out)]
    if not results:
        failures = _broken(err)
        return Counts(errors=len(failures), failures=failures) if failures else None
    sections = dict[str, str](_SECTION.findall(out))
    failures = [_rust_failure(name, sections.get(name, "")) for name, outcome in tests if outcome == "FAILED"]
    passed, failed, ignored = (sum(column) for column in zip(*results, strict=True))
    broken = _broken(err) if "could not compile" in err else []
    return Counts(
        passed=passed,
        failed=failed,
        errors=len(broken),
        skipped=ignored,
        failures=[*failures, *broken],
        tests=[name for name, outcome in tests if not outcome.startswith("ignored")],
        skipped_tests=[name for name, outcome in tests if outcome.startswith("ignored")],
    )


def _rust_failure(name: str, text: str) -> Failure:
    place = _PANIC.search(text)
    after = text[place.end() :].partition("\n")[2] if place else text
    message = first_line(after) or first_line(text) or "The test failed."
    file, line = (place[1], int(place[2])) if place else ("", 0)
    return Failure(name, message, file, line, ends_of(text, MAX_FAILURE))


def _broken(stderr: str) -> list[Failure]:
    """Return the compiler errors."""
    failures = list[Failure]()
    for match in _ERROR.finditer(stderr):
        if not _COUNT.search(match[1]):
            text = stderr[match.start() :].partition("\n\n")[0]
            file, line = match[2] or "", int(match[3] or 0)
            failures.append(
                Failure(file or "build", match[1], file, line, ends_of(text, MAX_FAILURE), is_error=True)
            )
    return failures


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
    failed = errors = 0
    failures, tests, passed, skipped = list[Failure](), list[str](), list[str](), list[str]()
    for case in root.iter("testcase"):
        name = _name(case)
        broken, wrong = case.find("error"), case.find("failure")
        if case.find("skipped") is not None and broken is None and wrong is None:
            skipped.append(name)
            continue
        tests.append(name)
        if broken is not None:
            errors += 1
            failures.append(_junit_failure(case, broken, name, tree, is_error=True))
        elif wrong is not None:
            failed += 1
            failures.append(_junit_failure(case, wrong, name, tree, is_error=False))
        else:
            passed.append(name)
    return Counts(
        passed=len(passed),
        failed=failed,
        errors=errors,
        skipped=len(skipped),
        failures=failures,
        tests=tests,
        skipped_tests=skipped,
    )


def _junit_failure(
    case: ElementTree.Element, outcome: ElementTree.Element, name: str, tree: Path, *, is_error: bool
) -> Failure:
    text = plain(outcome.text or "", tree)
    message = plain(outcome.get("message") or "", tree) or first_line(text)
    if message == "collection failure":  # the cause is in the last lines
        message = next(
            (line[1:].strip() for line in reversed(text.splitlines()) if line[:2] == "E "), message
        )
    file, line = case.get("file") or "", _number(case.get("line"))
    places = [
        (match[1], int(match[2])) for match in _JUNIT_PLACE.finditer(text) if not match[1].startswith("/")
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
    if name == module and not group:  # the file could not be collected
        return plain(file)
    inner = group.removeprefix(module).strip(".").replace(".", "::") if group.startswith(module) else ""
    return plain("::".join(part for part in (file, inner, name) if part))


def _number(text: str | None) -> int:
    return int(text) + 1 if text and text.isdecimal() else 0
