"""Settings that decide which tests a framework collects, and how it is started."""

from __future__ import annotations

import configparser
import fnmatch
import re
import shlex
import tomllib
from collections.abc import Sequence
from typing import Any

import msgspec

from podium.tools.testing.cases import is_collected

_REDUCING = re.compile(
    r"^(?:-k|-m|--deselect|--ignore|--ignore-glob|--co|--collect-only|--lf|--last-failed|--sw|--stepwise\w*|--nf"
    r"|--noconftest|--confcutdir|--rootdir|-c|--config-file|--setup-only|--setup-plan|--fixtures|--help|-h"
    r"|--version|-t|--testNamePattern|--testPathPatterns?|--testPathIgnorePatterns|--testMatch|--passWithNoTests"
    r"|--onlyChanged|--only\w*|--findRelatedTests|--exclude|--grep|-g|--skip|-run|--run|-skip|--no-run|--lib|--bins"
    r"|--shard|--changed|--related)(?:=.*)?$|^-k.+|^-p$|^-pno:(?:python|unittest|junitxml|doctest)"
)
"""Options that leave tests out."""
_ESCAPES = re.compile(r"\|\|\s*(?:true|:|exit 0|echo)|;\s*(?:true|exit 0)|^-(?=\w)|exit 0|&\s*$")
"""Ways to end with success whatever the tests do."""
_COUNTED = ("--doctest-modules", "--doctest-glob", "--doctest-plus")
"""Options that add tests; without them there are fewer."""


def pytest_settings(name: str, text: str) -> dict[str, Any]:
    """Return the pytest section of a settings file; empty if there is none."""
    try:
        if name == "pyproject.toml":
            tool = tomllib.loads(text).get("tool", {}).get("pytest", {})
            return dict(tool.get("ini_options", tool))
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.read_string(text)
        section = "tool:pytest" if name == "setup.cfg" else "pytest"
        return dict(parser[section]) if parser.has_section(section) else {}
    except (tomllib.TOMLDecodeError, configparser.Error, AttributeError, TypeError, ValueError):
        return {}


def pytest_problem(name: str, before: str, after: str, tests: Sequence[str]) -> str:
    """Return why pytest collects less with changed settings; empty if it does not. `tests` are the paths of
    all test files."""
    old, new = pytest_settings(name, before), pytest_settings(name, after)
    if old and not new:
        return "the settings of pytest are gone"
    if reason := options_problem(_words(old.get("addopts")), _words(new.get("addopts"))):
        return reason
    for key in ("python_classes", "python_functions"):
        default = "Test" if key == "python_classes" else "test"
        gone = set(_words(old.get(key, default))) - set(_words(new.get(key, default)))
        if gone:
            return f"{key} leaves out {', '.join(sorted(gone))}"
    lost = [path for path in tests if _collects(old, path) and not _collects(new, path)]
    return f"{', '.join(lost[:3])} {'is' if len(lost) == 1 else 'are'} no longer collected" if lost else ""


def options_problem(before: Sequence[str], after: Sequence[str]) -> str:
    """Return which option leaves tests out that the command did not leave out before."""
    for index, word in enumerate(after):
        value = after[index + 1] if index + 1 < len(after) else ""
        pair = before[before.index(word) + 1 :][:1] if word in before else None
        is_new = pair is None or (not word.startswith("--") and pair != [value])
        if word == "-p":
            if re.fullmatch(r"no:(?:python|unittest|junitxml|doctest)", value):
                return f"-p {value} leaves tests out"
        elif _REDUCING.match(word) and is_new:
            return f"{word} leaves tests out"
    gone = [word for word in before if word.startswith(_COUNTED) and word not in after]
    return f"without {gone[0]} there are fewer tests" if gone else ""


def _words(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(word) for word in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    try:
        return shlex.split(str(value or ""), comments=True)
    except ValueError:
        return str(value or "").split()


def _collects(settings: dict[str, Any], path: str) -> bool:
    """Return True if pytest looks into a file with these settings."""
    *folders, name = path.split("/")
    patterns = _words(settings.get("python_files")) or ["test_*.py", "*_test.py"]
    if path.endswith(".py") and not any(
        fnmatch.fnmatchcase(path if "/" in pattern else name, pattern) for pattern in patterns
    ):
        return False
    roots = [root.strip("./") for root in _words(settings.get("testpaths"))]
    if roots and not any(not root or path == root or _below(path, root) for root in roots):
        return False
    excluded = _words(settings.get("norecursedirs"))
    return not any(fnmatch.fnmatchcase(folder, pattern) for folder in folders for pattern in excluded)


def _below(path: str, root: str) -> bool:
    parts = path.split("/")
    return any(fnmatch.fnmatchcase("/".join(parts[:count]), root) for count in range(1, len(parts)))


_LISTS = re.compile(
    r"[\"']?\b(testMatch|testRegex|include|roots|projects|spec|exclude|testPathIgnorePatterns|modulePathIgnorePatterns"
    r"|coveragePathIgnorePatterns|passWithNoTests|testNamePattern|bail|onlyChanged|allowOnly|dir|ignore)[\"']?\s*:\s*"
    r"(\[[^\]]*\]|[^,\n}]+)"
)
_WANTED = {"testMatch", "testRegex", "include", "roots", "projects", "spec"}
_HARMLESS = {"coveragePathIgnorePatterns", "bail", "dir", "allowOnly"}


def javascript_problem(before: str, after: str) -> str:
    """Return why Jest, Vitest or Mocha collects less with changed settings; empty if it does not."""
    old, new = _lists(before), _lists(after)
    for key in sorted(old.keys() | new.keys()):
        if old.get(key) == new.get(key) or key in _HARMLESS:
            continue
        was, now = old.get(key), new.get(key, set())
        if key in _WANTED:
            if (was is None and now) or (was is not None and now and not was <= now):
                return f"{key} selects fewer tests"
        elif now - (was or set()) - {"false", "0", "[]"}:
            return f"{key} leaves tests out"
    return ""


def _lists(text: str) -> dict[str, set[str]]:
    lists = dict[str, set[str]]()
    for key, value in _LISTS.findall(text):
        words = re.findall(r"[\"'`]([^\"'`]+)[\"'`]|([\w./*-]+)", value)
        lists.setdefault(key, set()).update(first or other for first, other in words)
    return lists


def package_problem(before: str, after: str) -> str:
    """Return how package.json starts fewer tests; empty if it does not."""
    old, new = _package(before), _package(after)
    for name in ("test", "pretest", "posttest"):
        was, now = old.get(name, ""), new.get(name, "")
        if name == "test" and was and now != was and (reason := command_problem(was, now)):
            return f"the script `{name}`: {reason}"
        if name != "test" and now != was and _ESCAPES.search(now):
            return f"the script `{name}` hides failures"
    return javascript_problem(_about_tests(before), _about_tests(after))


def _package(text: str) -> dict[str, str]:
    try:
        scripts = msgspec.json.decode(text or "{}").get("scripts", {})
        return {str(name): str(value) for name, value in scripts.items()}
    except (msgspec.MsgspecError, AttributeError):
        return {}


def _about_tests(text: str) -> str:
    """Return the section of the test framework in package.json."""
    try:
        package = msgspec.json.decode(text or "{}")
        return "\n".join(
            msgspec.json.encode(package[key]).decode()
            for key in ("jest", "vitest", "mocha")
            if key in package
        )
    except (msgspec.MsgspecError, AttributeError):
        return ""


def command_problem(before: str, after: str) -> str:
    """Return how a changed command runs fewer tests; empty if it only has harmless options more."""
    if not after.strip():
        return "it is gone"
    if _ESCAPES.search(after) and not _ESCAPES.search(before):
        return "it hides failures"
    old, new = _words(before), _words(after)
    if reason := options_problem(old, new):
        return reason
    gone = [word for word in old if word not in new and word not in ("&&",)]
    programs = [word for word in gone if not word.startswith("-")]
    if programs:
        return f"it no longer has `{programs[0]}`"
    narrowed = [word for word in new if word not in old and not word.startswith("-") and is_collected(word)]
    named = [word for word in narrowed if "/" in word or re.search(r"\.\w{2,3}$", word)]
    return f"it names only {named[0]}" if named else ""


_TARGET = re.compile(
    r"^(?:[\w-]+ )*(test|tests|check|unit|pytest)(?: [\w-]+)*\s*:(?!=)([^\n]*)\n((?:\t[^\n]*\n?)*)",
    re.MULTILINE,
)


def makefile_problem(before: str, after: str) -> str:
    """Return how a Makefile's test targets run fewer tests; empty if they do not."""
    old, new = _targets(before), _targets(after)
    for name, was in old.items():
        now = new.get(name)
        if now is None:
            return f"the target `{name}` is gone"
        if now != was and (reason := command_problem(was, now)):
            return f"the target `{name}`: {reason}"
    variables = [_variables(text) for text in (before, after)]
    for name, value in variables[1].items():
        was = variables[0].get(name, "")
        if value != was and (reason := options_problem(_words(was), _words(value))):
            return f"{name}: {reason}"
    return ""


def _targets(text: str) -> dict[str, str]:
    return {match[1]: f"{match[2]}\n{match[3]}".strip() for match in _TARGET.finditer(text)}


def _variables(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w+)\s*[:?+]?=\s*(.*)$", text, re.MULTILINE))


def tox_problem(before: str, after: str) -> str:
    """Return how tox runs fewer tests; empty if it does not."""
    old, new = _commands(before), _commands(after)
    for name, was in old.items():
        now = new.get(name, "")
        if now != was and (reason := command_problem(was, now)):
            return f"`commands` of {name}: {reason}"
    return ""


def _commands(text: str) -> dict[str, str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {name: section["commands"] for name, section in parser.items() if "commands" in section}


_CARGO = re.compile(r"^\s*(?:test|doctest|harness|autotests)\s*=\s*false|^\s*required-features", re.MULTILINE)


def cargo_problem(before: str, after: str) -> str:
    """Return how Cargo runs fewer tests; empty if it does not."""
    old, new = _CARGO.findall(before), _CARGO.findall(after)
    return f"`{new[-1].strip()}` leaves tests out" if len(new) > len(old) else ""
