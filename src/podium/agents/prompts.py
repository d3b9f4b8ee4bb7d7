"""Prompt templates, and the question that an ask is fingerprinted by.

    prompts = Prompts.load(Path(__file__).parent / "prompts")
    await run.ask(critic, "grade", prompt=prompts["grade"], output=text)

A missing variable of a template is an error, never empty text in a prompt. Files whose name begins with `_`
are parts that others include.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
import msgspec
from jinja2.sandbox import ImmutableSandboxedEnvironment

from podium.agents.agent import Agent
from podium.engine import codec
from podium.engine.codec import encode
from podium.errors import PromptError, UsageError
from podium.settings import nearest


class Template:
    """One compiled prompt, with a hash of its full source."""

    def __init__(self, name: str, compiled: jinja2.Template, digest: str, file: str = "") -> None:
        self.name = name
        self.hash = digest
        """Changes when the file, or one that it includes, changes: part of a step's fingerprint."""
        self.file = file
        """Path of the shipped file; empty for a template defined in code."""
        self._compiled = compiled

    def render(self, variables: Mapping[str, Any]) -> str:
        """Return the prompt with its variables filled in. Raises `PromptError` if that is not possible."""
        try:
            context = self._compiled.new_context({**self._compiled.globals, **variables}, shared=True)
            return "".join(self._compiled.root_render_func(context)).strip()
        except jinja2.UndefinedError as error:
            passed = ", ".join(sorted(variables)) or "none"
            raise PromptError(
                f"The prompt {self.name} cannot be rendered: {error.message}.",
                hint=f"Pass it to `ask` as a keyword. Variables that were passed: {passed}.",
            ) from error
        except Exception as error:
            raise PromptError(f"The prompt {self.name} cannot be rendered: {error}.") from error


class Prompts:
    """The prompts of one folder, by task."""

    def __init__(self, templates: Mapping[str, Template], source: str) -> None:
        self._templates = dict(templates)
        self._source = source

    @classmethod
    def load(cls, folder: Path | str) -> Prompts:
        """Read and compile every `TASK.md` of a folder."""
        root = Path(folder)
        if not root.is_dir():
            raise UsageError(f"There is no folder of prompts {root}.")
        return cls(compile_all(read_texts(root), root), str(root))

    def __getitem__(self, task: str) -> Template:
        template = self._templates.get(task)
        if template is None:
            meant = nearest(task, list(self._templates))
            known = ", ".join(self._templates) or "none"
            raise UsageError(
                f"There is no prompt {task}.md in {self._source}.",
                hint=f"Did you mean {meant}?" if meant else f"Prompts in it: {known}.",
            )
        return template

    def __contains__(self, task: object) -> bool:
        return task in self._templates

    def __iter__(self) -> Iterator[str]:
        return iter(self._templates)


def read_texts(folder: Path) -> dict[str, str]:
    """Return the text of every `*.md` file of a folder by its name, tasks and parts."""
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.md"))}


def compile_all(
    texts: Mapping[str, str], folder: Path, *, only: Collection[str] | None = None, trusted: bool = True
) -> dict[str, Template]:
    """Compile the tasks among these texts, or `only` some of them (file names). Texts that are not `trusted`
    run in a sandbox."""
    sources = {name: _with_parts(text, texts) for name, text in texts.items()}
    environment = environment_of(sources, trusted=trusted)
    tasks = [name for name in sources if is_task(name) and (only is None or name in only)]
    return {
        name.removesuffix(".md"): _compile(name, sources, environment, str(folder / name)) for name in tasks
    }


def is_task(name: str) -> bool:
    """Return whether a file of this name is a prompt; others are parts that prompts include."""
    return not name.startswith("_")


@lru_cache(maxsize=256)
def template_of(text: str, name: str) -> Template:
    """Return a template that is defined in code."""
    sources = {name: text}
    return _compile(name, sources, _environment(ImmutableSandboxedEnvironment, jinja2.DictLoader(sources)))


def listed(variables: Mapping[str, Any]) -> str:
    """Return a prompt without a template: each variable under its name."""
    return "\n\n".join(f"## {_title(name)}\n\n{_shown(value)}" for name, value in variables.items())


def _title(name: str) -> str:
    return name.replace("_", " ").strip().capitalize()


def _shown(value: Any) -> str:
    return value.strip() if isinstance(value, str) else as_json(value)


def as_json(value: Any) -> str:
    """Return readable JSON of any value that can be logged; in templates `{{ value | json }}`."""
    return msgspec.json.format(encode(value), indent=2).decode()


class _Quick(jinja2.Environment):
    """An environment that looks up dictionary keys before attributes: `{{ node.title }}` is nearly always a
    key, and a missing attribute costs an exception each time."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj) is dict and attribute in obj:
            return obj[attribute]  # pyright: ignore[reportUnknownVariableType] - a template's value
        return super().getattr(obj, attribute)


class _QuickSandboxed(ImmutableSandboxedEnvironment):
    """The same for a user's prompts, which run in a sandbox."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj) is dict and attribute in obj:
            return obj[attribute]  # pyright: ignore[reportUnknownVariableType] - a template's value
        return super().getattr(obj, attribute)


def environment_of(sources: Mapping[str, str], *, trusted: bool) -> jinja2.Environment:
    """Return the environment in which prompt files are compiled."""
    return _environment(_Quick if trusted else _QuickSandboxed, jinja2.DictLoader(sources))


def _environment(kind: type[jinja2.Environment], loader: jinja2.BaseLoader) -> jinja2.Environment:
    """Return a strict environment. Templates defined in code are sandboxed, because they may contain text
    from outside; a shipped prompt file is as trusted as the code beside it."""
    environment = kind(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # prompts are Markdown for a model, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    environment.filters["json"] = as_json
    return environment


def _finalized(value: Any) -> Any:
    """Return the output of `{{ value }}`: text unchanged, data as JSON rather than as Python."""
    if type(value) is str or isinstance(value, (str, int, float, jinja2.Undefined)) or value is None:
        return value
    return as_json(value)


_INCLUDE = re.compile(r"""^{% include "(?P<part>[^"]+)" %}$""", re.MULTILINE)


def _with_parts(text: str, texts: Mapping[str, str]) -> str:
    """Inline parts at load time: including them takes a third of the rendering time. Anything but a plain `{%
    include "part.md" %}` on its own line is left to the template."""
    return _INCLUDE.sub(lambda match: texts.get(match["part"], match[0]), text)


def _compile(
    name: str, sources: Mapping[str, str], environment: jinja2.Environment, file: str = ""
) -> Template:
    try:
        digest = _digest(name, sources, environment)
        compiled = environment.get_template(name)
        compiled.globals = dict(compiled.globals)  # a chain of mappings would be slow
        return Template(name, compiled, digest, file)
    except jinja2.TemplateSyntaxError as error:
        raise UsageError(
            f"The prompt {error.name or name} has a mistake in line {error.lineno}: {error.message}."
        ) from error


def _digest(name: str, sources: Mapping[str, str], environment: jinja2.Environment) -> str:
    """Return a hash of a template and of all that it includes; of the whole folder if the includes are
    dynamic."""
    needed: dict[str, str] = {}
    todo = [name]
    while todo:
        current = todo.pop()
        if current in needed or current not in sources:
            continue
        needed[current] = sources[current]
        for other in jinja2.meta.find_referenced_templates(environment.parse(sources[current], current)):
            todo += [other] if other else list(sources)
    return hashlib.blake2b(encode(sorted(needed.items())), digest_size=8).hexdigest()


class Question(msgspec.Struct):
    """The arguments of `run.ask`."""

    agent: Agent
    task: str
    prompt: Template | str | None
    """A template; the text itself; `None`: the variables, each under its name."""
    variables: Mapping[str, Any]
    returns: Any
    """The type of the result; `str` requests text."""

    @classmethod
    def of(
        cls,
        agent: Agent,
        task: str,
        prompt: Template | str | None,
        variables: Mapping[str, Any],
        returns: Any,
    ) -> Question:
        """Create a question. A string is the prompt itself, or a template if there are variables. Without a
        prompt, the agent's own prompt for this task is used, and without that the variables are listed."""
        if isinstance(prompt, str) and variables:
            prompt = template_of(prompt, task)
        elif prompt is None and agent.prompts is not None:
            prompt = agent.prompts[task]
        elif not prompt and not variables:
            raise UsageError(
                f"The ask {task} of {agent.name} has neither a prompt nor variables.",
                hint='Give it one: run.ask(agent, "task", prompt="…").',
            )
        return cls(agent, task, prompt, variables, returns)

    def fingerprinted(self) -> list[Any]:
        """Return the values that the result depends on. Excludes the model of `--model` on purpose: finished
        work is kept when a run is resumed with another one."""
        agent = self.agent
        prompt = self.prompt.hash if isinstance(self.prompt, Template) else self.prompt
        return [
            agent.name,
            agent.role,
            agent.instructions,
            agent.profile,
            agent.model,
            agent.temperature,
            agent.max_tokens,
            self.task,
            prompt,
            self.variables,
            _schema_mark(self.returns),
        ]

    def about(self, model: str) -> dict[str, Any]:
        """Return a description of the step for display."""
        about = {"agent": self.agent.name, "role": self.agent.role, "task": self.task, "model": model}
        if not self.agent.role:
            del about["role"]
        if isinstance(self.prompt, Template):
            about |= {"prompt": self.prompt.name, "prompt_hash": self.prompt.hash}
        return about

    def render(self) -> str:
        """Return the prompt as the model will read it."""
        if isinstance(self.prompt, Template):
            return self.prompt.render(self.variables)
        return self.prompt or listed(self.variables)


@lru_cache(maxsize=512)
def _schema_mark(returns: Any) -> str:
    return "" if returns is str else codec.fingerprint(codec.schema(returns))
