"""Mistakes in options name the flag as it was typed: `--min-score`, never `min_score`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest

from podium.cli.app import COMMANDS, FAMILIES, build_app
from podium.cli.main import main
from podium.engine.workflow import Option
from podium.workflows import SHIPPED, find_workflow

FREE = {"files", "web", "roles", "brief", "corpus", "team", "departments", "project", "workspace", "tone"}
"""Options that take any text, or whose mistakes are about what they name: a folder, a file, a role."""


def kinds(hint: Any) -> Iterator[Any]:
    """The plain types and limits that a type is made of."""
    if get_origin(hint) is Literal:
        yield Literal
    elif args := get_args(hint):
        for arg in args:
            yield from kinds(arg)
    else:
        yield hint


def wrong(option: Option) -> str:
    """A value that the option cannot have; empty: any text will do for it."""
    types = list(kinds(option.type))
    limits = [kind.le for kind in types if getattr(kind, "le", None) is not None]
    if limits:
        return str(int(limits[0]) + 1)
    if any(getattr(kind, "ge", None) is not None for kind in types):
        return "-1"
    numbers = {int, float, Literal} & {kind for kind in types if isinstance(kind, type) or kind is Literal}
    return "nonsense" if numbers or Any in types else ""


def options_of(workflow: str) -> list[Option]:
    return find_workflow(workflow).options


CASES = [
    (workflow, option.name, value)
    for workflow in SHIPPED
    for option in options_of(workflow)
    if option.name not in FREE and (value := wrong(option))
]


def test_most_options_can_be_wrong() -> None:
    assert len(CASES) >= 20
    assert {"min_score", "max_depth", "min_quality", "synthesis_rounds"} <= {name for _, name, _ in CASES}


@pytest.mark.parametrize(("workflow", "name", "value"), CASES)
def test_a_workflows_option_is_named_as_typed(
    workflow: str, name: str, value: str, capfd: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    flag = f"--{name.replace('_', '-')}"
    store = ("--store", str(tmp_path / "s.sqlite"), "--model", "rehearsal")
    # Free texts are refused by the brief: it must not be refused for anything else.
    where = ("--no-online", "--corpus", str(tmp_path)) if workflow == "research" else ()
    code = main(["run", workflow, "a request", f"{flag}={value}", *where, *store])
    output = capfd.readouterr().err
    assert code == 2, output
    assert flag in output
    assert "_" not in name or name not in output


def commands() -> Iterator[tuple[str, ...]]:
    for _, name, *_ in COMMANDS:
        if name in FAMILIES:
            yield from ((name, command) for command, *_ in FAMILIES[name][1])
        else:
            yield (name,)


def required(name: str) -> list[str]:
    """Words for an argument that a command cannot do without."""
    return [name, "x"] if name.startswith("-") else ["x"]


@pytest.mark.parametrize("command", list(commands()), ids=" ".join)
def test_an_option_of_a_command_is_named_as_typed(
    command: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    app = build_app()
    for word in command:
        app = app[word]
    arguments = app.assemble_argument_collection()
    needed = [word for argument in arguments if argument.required for word in required(argument.name)]
    flags = [
        next(name for name in argument.names if name.startswith("--"))
        for argument in arguments
        if any(name.startswith("--") for name in argument.names) and {int, float} & set(kinds(argument.hint))
    ]
    for flag in flags:
        assert main([*command, *needed, f"{flag}=nonsense"]) == 2
        output = capfd.readouterr().err
        assert flag in output
        assert flag[2:].replace("-", "_") not in output or "-" not in flag[2:]
