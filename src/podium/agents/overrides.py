"""Prompts of a project or user that replace shipped ones.

A folder of overrides contains `SET/TASK.md` and, for parts that tasks include, `SET/_part.md`. A set is a
folder of shipped prompts. Overriding a part changes every task that includes it. Errors are found when the
files are read: syntax, a part that does not exist, a variable that the shipped prompt does not use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import jinja2
import jinja2.meta
from jinja2 import nodes

from podium.agents.prompts import Template, compile_all, environment_of, is_task, read_texts
from podium.errors import UsageError
from podium.settings import nearest

_INCLUDE = re.compile(r"""{%-?\s*include\s+(["'])(?P<part>[^"']+)\1\s*-?%}""")
_DEEPEST = 10
"""Maximum depth of nested parts."""
_BYTES_PER_TOKEN = 4


class PromptSet:
    """The shipped prompts of one folder, and the files that replace some of them."""

    def __init__(self, name: str, shipped: Path, folders: Sequence[Path | str] = ()) -> None:
        """`folders` are those of overrides, highest precedence first."""
        self.name = name
        self.folder = shipped
        self.shipped_texts = read_texts(shipped)
        self.own = _find(name, folders)
        """Files that replace or add to shipped ones, by file name."""

    @property
    def tasks(self) -> list[str]:
        """Names of the prompts, without the ending."""
        return [name.removesuffix(".md") for name in self.shipped_texts if is_task(name)]

    @cached_property
    def shipped(self) -> dict[str, Template]:
        """The prompts as they are shipped, by task."""
        return compile_all(self.shipped_texts, self.folder)

    @cached_property
    def current(self) -> dict[str, Template]:
        """The effective prompts, by task. Raises `UsageError` for the first error in an override."""
        if not self.own:
            return self.shipped
        self._check()
        changed = {f"{task}.md" for task in self.tasks if self.text(task) != self.shipped_text(task)}
        own = compile_all(self._texts, self.folder, only=changed, trusted=False)
        return {**self.shipped, **own}

    def overridden(self) -> dict[str, Template]:
        """Return the prompts that differ from the shipped ones, by task."""
        if not self.own:
            return {}
        current = self.current
        return {task: current[task] for task in self.tasks if current[task] is not self.shipped[task]}

    def text(self, task: str) -> str:
        """Return the effective template, with its parts inlined."""
        return _inlined(self._texts[f"{task}.md"], self._texts)

    def shipped_text(self, task: str) -> str:
        """Return the shipped template, with its parts inlined."""
        return _inlined(self.shipped_texts[f"{task}.md"], self.shipped_texts)

    def shipped_files(self, task: str) -> list[str]:
        """Return the names of the files of a shipped prompt, its own first."""
        return list(_files(f"{task}.md", self.shipped_texts))

    def own_files(self, task: str) -> list[Path]:
        """Return the override files of a prompt."""
        return [self.own[name] for name in _files(f"{task}.md", self._texts) if name in self.own]

    def check_task(self, task: str) -> None:
        """Raise `UsageError` if there is no such prompt."""
        if task not in self.tasks:
            meant = nearest(task, self.tasks)
            hint = f"Did you mean {self.name}/{meant}?" if meant else f"It has: {', '.join(self.tasks)}."
            raise UsageError(f"{self.name} has no prompt {task}.", hint=hint)

    # ── validation ──

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {**self.shipped_texts, **{name: _read(file) for name, file in self.own.items()}}

    def _check(self) -> None:
        for name, file in self.own.items():
            self._check_file(name, file)
        for task in self.tasks:
            if self.own_files(task):
                self._check_variables(task)

    def _check_file(self, name: str, file: Path) -> None:
        """Raise `UsageError` if a file replaces nothing, has a syntax error or includes a missing part."""
        if is_task(name) and name not in self.shipped_texts:
            meant = nearest(name, [f"{task}.md" for task in self.tasks])
            hint = f"Did you mean {meant}? " if meant else ""
            raise UsageError(
                f"{file} replaces no prompt: {self.name} has none of that name.",
                hint=f"{hint}Parts that prompts include begin with _. See `podium prompts list {self.name}`.",
            )
        environment = environment_of(self._texts, trusted=False)
        try:
            parsed = environment.parse(self._texts[name], name)
            environment.compile(self._texts[name], name)
        except jinja2.TemplateSyntaxError as error:
            reason = (error.message or "it cannot be read").rstrip(".")
            raise UsageError(f"The prompt {file} has a mistake in line {error.lineno}: {reason}.") from error
        for node in parsed.find_all((nodes.Include, nodes.Extends, nodes.Import, nodes.FromImport)):
            wanted = node.template
            if isinstance(wanted, nodes.Const) and wanted.value not in self._texts:
                raise UsageError(
                    f"The prompt {file} includes {wanted.value} in line {node.lineno}, which is not there.",
                    hint=f"Put it beside the prompt, or use: {', '.join(self._parts())}.",
                )

    def _parts(self) -> list[str]:
        return [name for name in self._texts if not is_task(name)] or ["none"]

    def _check_variables(self, task: str) -> None:
        """Raise `UsageError` if a prompt uses a variable that the shipped one does not."""
        environment = environment_of(self._texts, trusted=False)
        known = jinja2.meta.find_undeclared_variables(environment.parse(self.shipped_text(task)))
        used = jinja2.meta.find_undeclared_variables(environment.parse(self.text(task)))
        for variable in sorted(used - known):
            file, line = self._place(task, variable, environment)
            meant = nearest(variable, sorted(known))
            hint = f"Did you mean {meant}? " if meant else ""
            raise UsageError(
                f"The prompt {file} uses the unknown variable {variable} in line {line}.",
                hint=f"{hint}{self.name}/{task} is given: {', '.join(sorted(known))}.",
            )

    def _place(self, task: str, variable: str, environment: jinja2.Environment) -> tuple[Path, int]:
        """Return the override file and the line in which a prompt first uses a variable."""
        files = self.own_files(task)
        for file in files:
            parsed = environment.parse(self._texts[file.name], file.name)
            lines = [node.lineno for node in parsed.find_all(nodes.Name) if node.name == variable]
            if lines:
                return file, min(lines)
        return files[0], 1


class Overrides:
    """The prompts that replace shipped ones in one run."""

    def __init__(self, sets: Iterable[PromptSet] = ()) -> None:
        """Raises `UsageError` for the first error in a file."""
        self._replaced: dict[str, Template] = {}
        self.hashes: dict[str, str] = {}
        """Hash of each overridden prompt, by SET/TASK: kept in the run's log."""
        for prompts in sets:
            for task, template in prompts.overridden().items():
                self._replaced[prompts.shipped[task].file] = template
                self.hashes[f"{prompts.name}/{task}"] = template.hash

    def template(self, shipped: Template) -> Template:
        """Return the effective prompt for a shipped one."""
        return self._replaced.get(shipped.file, shipped) if shipped.file else shipped


def fixed_characters(text: str) -> int:
    """Return the number of fixed characters of a template, over all its branches."""
    tokens = environment_of({}, trusted=True).lex(text)
    return sum(len(value) for _, kind, value in tokens if kind == "data")


def estimated_tokens(characters: int) -> int:
    """Return the approximate number of tokens of a text of that length."""
    return -(-characters // _BYTES_PER_TOKEN)


def _find(name: str, folders: Sequence[Path | str]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for folder in reversed(folders):
        files |= {file.name: file for file in sorted((Path(folder) / name).glob("*.md"))}
    return files


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"The prompt {file} is not UTF-8 text.") from error
    except OSError as error:
        raise UsageError(f"The prompt {file} cannot be read: {error.strerror}.") from error


def _inlined(text: str, texts: Mapping[str, str], depth: int = 0) -> str:
    """Inline parts, also nested ones."""
    if depth >= _DEEPEST:
        return text
    return _INCLUDE.sub(
        lambda match: _inlined(texts[match["part"]], texts, depth + 1) if match["part"] in texts else "", text
    )


def _files(name: str, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield a file and all files that it includes, each once."""
    todo, seen = [name], set[str]()
    while todo:
        current = todo.pop(0)
        if current in seen or current not in texts:
            continue
        seen.add(current)
        yield current
        todo += [match["part"] for match in _INCLUDE.finditer(texts[current])]
