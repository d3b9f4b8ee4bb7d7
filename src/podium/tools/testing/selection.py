"""Selectors: the arguments that run a part of the tests.

A selector comes from a model. It is split into words without a shell, and only a few options are allowed:
none of them reads or writes a file, loads code or changes what is collected. A name from `TestReport.tests`
is a selector in each framework.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import msgspec

from podium.tools.openat_walk import printable
from podium.tools.testing.report import Project, TestCommand
from podium.tools.tool import ToolError

MAX_SELECTOR = 5_000
PLACEHOLDER = "{selector}"
"""Stands for the selector in a command of the user."""

OPTIONS = {"-k": 1, "-t": 1, "-run": 1, "-m": 1, "-x": 0, "--maxfail": 1}
"""Allowed options and the number of their values."""
_ACCEPTED = {
    "pytest": ("-k", "-m", "-x", "--maxfail"),
    "jest": ("-t", "-x", "--maxfail"),
    "vitest": ("-t", "-x", "--maxfail"),
    "mocha": ("-t", "-x"),
    "node": ("-t",),
    "go": ("-run", "-x"),
    "cargo": (),
}
_FORMS = {
    "pytest": "files, node ids such as tests/test_a.py::test_b, -k EXPRESSION, -m MARKER, -x and --maxfail=N",
    "jest": "file patterns, -t NAME and -x",
    "vitest": "file patterns, -t NAME and -x",
    "mocha": "files, -t NAME and -x",
    "node": "files and -t NAME",
    "go": "packages such as ./calc, -run REGEX and -x",
    "cargo": "parts of test names",
}
_WHOLE_ID = re.compile(r"[^\s'\"]+::[^\s'\"\[]+\[.*\]", re.DOTALL)
_GO_TEST = re.compile(r"(?P<package>[\w./~-]+)\.(?P<test>(?:Test|Example|Fuzz)\w*(?:/.+)?)", re.DOTALL)
_JOINED = ("and", "or", "not")
_NAMED = " > "
"""Between file and name in the tests of Jest, Vitest, Mocha and Node."""


class _Part(msgspec.Struct, frozen=True):
    """An option with its value, or a word without an option."""

    option: str
    value: str


def select(command: TestCommand, selector: str, project: Project) -> tuple[TestCommand, str]:
    """Return the command for the selected tests, or the whole suite with a sentence that says so.

    Raises a `ToolError` if the selector is refused.
    """
    parts = list(_parts(selector, command.framework))
    if command.framework in ("command", "make") or PLACEHOLDER in command.shown_as:
        return _fill(command, parts)
    accepted = _ACCEPTED.get(command.framework)
    if accepted is None:
        return command, whole_suite(command)
    for part in parts:
        if part.option and part.option not in accepted:
            raise ToolError(
                f"{part.option} is not an option of {command.framework} here: "
                f"{_FORMS[command.framework]} are allowed."
            )
    if command.framework == "node":
        return _select_node(command, parts, project)
    words = list(_words(command.framework, parts, project))
    shown = f"{command.shown_as} {shlex.join(words)}"
    return msgspec.structs.replace(command, argv=_joined(command, words), shown_as=shown), ""


def whole_suite(command: TestCommand) -> str:
    """Return the sentence that says that the selector was not used."""
    return (
        f"The whole suite was run: `{command.shown_as}` takes no selector. "
        f"A command with `{PLACEHOLDER}` in it does."
    )


def without_selector(command: TestCommand) -> TestCommand:
    """Return the command for all tests: a placeholder in it is empty."""
    return _fill(command, [])[0] if PLACEHOLDER in command.shown_as else command


def _parts(selector: str, framework: str) -> Iterator[_Part]:
    """Split a selector; refuse options that are not allowed."""
    words = _split(selector)
    at = 0
    while at < len(words):
        word, at = words[at], at + 1
        option, equals, value = word.partition("=")
        if not word.startswith("-"):
            yield _Part("", _checked(word))
            continue
        if option not in OPTIONS:
            allowed = ", ".join(OPTIONS)
            raise ToolError(f"The option {printable(option)[:60]} is refused: only {allowed} are allowed.")
        if OPTIONS[option] and not equals:
            if at >= len(words):
                raise ToolError(f"{option} needs a value.")
            value, at = words[at], at + 1
            while option in ("-k", "-m") and framework != "command" and at < len(words):
                if words[at] not in _JOINED and value.rpartition(" ")[2] not in _JOINED:
                    break
                value, at = f"{value} {words[at]}", at + 1
        if option == "--maxfail" and not (value.isascii() and value.isdecimal() and len(value) < 6):
            raise ToolError("--maxfail needs a number.")
        if value.startswith("-") or (equals and not OPTIONS[option]):
            raise ToolError(f"The value of {option} is refused: {printable(value)[:60]}.")
        yield _Part(option, value)


def _split(selector: str) -> list[str]:
    encoded = selector.encode("utf-8", "replace")
    if len(encoded) > MAX_SELECTOR or b"\0" in encoded or encoded.decode() != selector:
        raise ToolError(f"A selector has at most {MAX_SELECTOR:,} bytes of text.")
    text = selector.strip()
    is_name = _WHOLE_ID.fullmatch(text) or _NAMED in text or _GO_TEST.fullmatch(text)
    if is_name and not text.startswith(("-", "'", '"')):
        return [text]  # the name of a test, perhaps with spaces
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ToolError(f"The selector has an open quotation mark: {printable(text)[:100]}.") from error


def _checked(word: str) -> str:
    """Refuse words that would name files outside the project, or a file of arguments."""
    path = word.partition("::")[0]
    if word.startswith(("@", "~", "/")) or ".." in path.split("/"):
        raise ToolError(f"{printable(word)[:100]} is refused: name files of the project, relative to it.")
    return word


def _words(framework: str, parts: list[_Part], project: Project) -> Iterator[str]:
    """Yield the arguments in the framework's own form."""
    for part in parts:
        if framework == "pytest":
            yield from _pytest(part, project)
        elif framework == "go":
            yield from _go(part)
        elif framework == "cargo":
            yield part.value
        elif part.option == "-t":
            yield from ("--grep" if framework == "mocha" else "-t", part.value)
        elif part.option in ("-x", "--maxfail"):
            yield "--bail" if framework == "mocha" else f"--bail={part.value or 1}"
        else:
            file, _, name = part.value.partition(_NAMED)
            yield from _file_and_name(framework, _below(file, project), name)


def _file_and_name(framework: str, file: str, name: str) -> Iterator[str]:
    yield re.escape(file).replace(r"\-", "-") if framework == "jest" and name else file
    if name and framework == "mocha":
        yield from ("--grep", f"^{re.escape(name)}$")
    elif name:
        yield from ("-t", f"^{re.escape(name)}$")


def _pytest(part: _Part, project: Project) -> Iterator[str]:
    if part.option:
        yield f"{part.option}={part.value}" if part.option == "--maxfail" else part.option
        if part.option in ("-k", "-m"):
            yield part.value
        return
    word = _below(part.value, project)
    path = word.partition("::")[0].rstrip("/")
    files = project.own_files()
    if path not in (".", "") and path not in files and not any(file.startswith(path + "/") for file in files):
        raise ToolError(f"There is no file or folder {printable(path)[:200]} to test.")
    yield word


def _go(part: _Part) -> Iterator[str]:
    if part.option == "-run":
        yield from ("-run", part.value)
    elif part.option == "-x":
        yield "-failfast"
    elif match := _GO_TEST.fullmatch(part.value):
        pattern = "/".join(f"^{re.escape(name)}$" for name in match["test"].split("/"))
        yield from ("-run", pattern, match["package"])
    else:
        yield part.value


def _below(path: str, project: Project) -> str:
    """Return a path relative to the project's folder."""
    prefix = f"{project.below}/" if project.below else ""
    known = set(project.own_files())
    file = path.partition("::")[0]
    return path[len(prefix) :] if prefix and file not in known and path.startswith(prefix) else path


def _joined(command: TestCommand, words: list[str]) -> list[str]:
    """Insert the arguments where the framework expects them."""
    argv = list(command.argv)
    if command.framework == "go":
        values = {at + 1 for at, word in enumerate(words) if word == "-run"}
        packages = [word for at, word in enumerate(words) if not word.startswith("-") and at not in values]
        options = [word for at, word in enumerate(words) if word.startswith("-") or at in values]
        every = argv.pop()
        return [*argv, *options, *(packages or [every])]
    if command.framework == "cargo":
        return [*argv, "--", *words]
    if argv[0] == "npm" and "--" not in argv:
        argv.append("--")
    return [*argv, *words]


def _select_node(command: TestCommand, parts: list[_Part], project: Project) -> tuple[TestCommand, str]:
    """Run `node --test` without npm: files in the script would be run as well, and options must come before
    files."""
    script = _plain_words(command.script)
    if script is None:
        return command, whole_suite(command)
    options = [word for word in script[1:] if word.startswith("-")]
    given = [word for word in script[1:] if not word.startswith("-")]
    known, files, names = set(project.own_files()), list[str](), list[str]()
    for part in parts:
        first, *rest = part.value.split(_NAMED)
        if part.option:
            names.append(part.value)
        elif _below(first, project) in known or not rest:
            files.append(_below(first, project))
            names += map(re.escape, rest[-1:])
        else:
            names.append(re.escape(rest[-1]))
    patterns = [f"--test-name-pattern={name}" for name in names]
    argv = ["node", *options, *patterns, *(files or given)]
    return msgspec.structs.replace(command, argv=argv, shown_as=shlex.join(argv)), ""


def _plain_words(script: str) -> list[str] | None:
    """Return the words of a script that needs no shell; None if it does, or if an option has its value in the
    next word."""
    if re.search(r"[&|;<>()$`\\*?\[\]{}~#!\n=]", re.sub(r"(?<=\s)--[\w-]+=", "--", script)):
        return None
    try:
        words = shlex.split(script)
    except ValueError:
        return None
    loose = {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"}
    return None if not words or words[0] != "node" or loose & set(words) else words


def _fill(command: TestCommand, parts: list[_Part]) -> tuple[TestCommand, str]:
    """Pass the words to the shell of the user's command as its parameters: it never parses them."""
    if PLACEHOLDER not in command.shown_as:
        return command, whole_suite(command)
    text = command.shown_as
    for quoted in (f"'{PLACEHOLDER}'", f'"{PLACEHOLDER}"', PLACEHOLDER):
        text = text.replace(quoted, '"$@"')
    words = [word for part in parts for word in (part.option, part.value) if word]
    shown = " ".join(command.shown_as.replace(PLACEHOLDER, shlex.join(words)).split())
    return msgspec.structs.replace(command, argv=["sh", "-c", text, "sh", *words], shown_as=shown), ""
