"""`go test -json`, read event by event."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from pathlib import Path

import msgspec

from podium.tools.testing.command import Project, TestCommand
from podium.tools.testing.report import Counts, Failure
from podium.tools.testing.trimming import MAX_FAILURE, ends_of, first_line, plain

_PLACE = re.compile(r"^\s*([\w./-]+\.go):(\d+)", re.MULTILINE)
_NOISE = re.compile(r"^(=== |--- |FAIL|PASS|ok\s|exit status)", re.MULTILINE)


class _Event(msgspec.Struct, rename="pascal"):
    action: str
    package: str = ""
    test: str = ""
    output: str = ""
    import_path: str = ""


def find_go(project: Project) -> TestCommand | None:
    """How a Go module is tested; what it needs of others must be in the module cache, or vendored."""
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
    """Every test without subtests of its own, and packages that do not build; `None`: not such output."""
    printed, ended = defaultdict[tuple[str, str], list[str]](list), dict[tuple[str, str], str]()
    built = defaultdict[str, list[str]](list)
    seen = False
    for line in output.splitlines():
        try:
            event = msgspec.json.decode(line, type=_Event)
        except msgspec.MsgspecError:  # printed by something else, such as the compiler
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
