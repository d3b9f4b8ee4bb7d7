"""Which tests a project has: what the user says, else the first framework that something speaks for."""

from __future__ import annotations

import re

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.testing.command import Project, TestCommand
from podium.tools.testing.golang import find_go
from podium.tools.testing.node import ENVIRONMENT as NODE_ENVIRONMENT
from podium.tools.testing.node import find_npm
from podium.tools.testing.python import environment, find_interpreter, find_pytest, options
from podium.tools.testing.rust import find_cargo

_TARGET = re.compile(r"^test\s*:(?!=)", re.MULTILINE)


async def find_command(project: Project, sandbox: Sandbox, given: str = "") -> TestCommand | None:
    """How this project's tests are run; `None` if there are none."""
    if given.strip():
        return given_command(project, given.strip())
    found = await find_pytest(project, sandbox)
    return found or find_npm(project) or find_go(project) or find_cargo(project) or find_make(project)


def find_make(project: Project) -> TestCommand | None:
    """`make test`; its exit code is all that it tells, unless it runs pytest."""
    for name in ("GNUmakefile", "makefile", "Makefile"):
        if _TARGET.search(project.text(name)):
            return _anything(project, ["make", "test"], "make", "make test", f"{name} has a target `test`")
    return None


def given_command(project: Project, given: str) -> TestCommand:
    """What the user typed, for a shell to read."""
    return _anything(project, ["sh", "-c", given], "command", given, "the user said so")


def _anything(project: Project, argv: list[str], framework: str, told_as: str, why: str) -> TestCommand:
    """A command that may run any framework: all of them get what they need, and pytest writes results."""
    parts = [find_npm(project), find_go(project), find_cargo(project)]
    others = [part for part in parts if part is not None]
    interpreter = find_interpreter(project)
    env = {**NODE_ENVIRONMENT, **{name: value for part in others for name, value in part.env.items()}}
    env |= {**environment(project), "PYTEST_ADDOPTS": " ".join(options(project.results))}
    readable = [*interpreter.readable, *(folder for part in others for folder in part.readable)]
    return TestCommand(
        argv=argv,
        framework=framework,
        told_as=told_as,
        why=why,
        env=env,
        readable=list(dict.fromkeys(readable)),
        links={name: target for part in others for name, target in part.links.items()},
    )
