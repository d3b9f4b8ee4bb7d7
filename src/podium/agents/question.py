"""One question to an agent, before anybody has answered it: what is asked, and what makes it the same."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from podium.agents.agent import Agent
from podium.agents.prompts import Template, listed, template_of
from podium.engine import codec
from podium.errors import UsageError


class Question(msgspec.Struct, frozen=True):
    """What `run.ask` was called with."""

    agent: Agent
    task: str
    prompt: Template | str | None
    """A template; the text itself; `None`: the variables, each under its name."""
    variables: Mapping[str, Any]
    returns: Any
    """The type of the answer; `str` asks for text."""

    @classmethod
    def of(
        cls,
        agent: Agent,
        task: str,
        prompt: Template | str | None,
        variables: Mapping[str, Any],
        returns: Any,
    ) -> Question:
        """A string is the prompt itself, or a template if variables come with it. Without a prompt the
        agent's own for this task is used, and without that the variables are listed."""
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
        """What the answer depends on. The model that a run chooses with `--model` is left out on purpose:
        finished work is kept when a run is resumed with another one."""
        agent = self.agent
        prompt = self.prompt.hash if isinstance(self.prompt, Template) else self.prompt
        return [
            agent.name, agent.role, agent.instructions, agent.profile, agent.model, agent.temperature,
            agent.max_tokens, self.task, prompt, self.variables, _schema_mark(self.returns),
        ]  # fmt: skip

    def about(self, model: str) -> dict[str, Any]:
        """For people who look at the step."""
        told = {"agent": self.agent.name, "role": self.agent.role, "task": self.task, "model": model}
        if isinstance(self.prompt, Template):
            told |= {"prompt": self.prompt.name, "prompt_hash": self.prompt.hash}
        return {name: value for name, value in told.items() if value}

    def render(self) -> str:
        """The prompt as the model will read it."""
        if isinstance(self.prompt, Template):
            return self.prompt.render(self.variables)
        return self.prompt or listed(self.variables)

    @property
    def schema(self) -> dict[str, Any] | None:
        return None if self.returns is str else codec.schema(self.returns)


@lru_cache(maxsize=512)
def _schema_mark(returns: Any) -> str:
    return "" if returns is str else codec.fingerprint(codec.schema(returns))
