"""`podium prompts`: list the prompts of the shipped workflows, show one, copy one to change it."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from podium.agents.overrides import PromptSet, estimated_tokens, fixed_characters
from podium.cli.card import print_table, say_line
from podium.cli.flags import AsJson, option, prompt_names, prompt_workflows
from podium.cli.terminal import out, print_json, print_raw
from podium.errors import UsageError
from podium.report.words import count, safe
from podium.settings import Settings
from podium.settings.places import current_folder, named
from podium.workflows.prompt_sets import SETS, check_folders, prompt_budget, prompt_set

Prompt = Annotated[
    str, Parameter(metavar="WORKFLOW/TASK", completer=prompt_names, help="Prompt, e.g. tree/plan.")
]


def list_(
    workflow: Annotated[
        str,
        option(
            "Only prompts of this workflow; `delivery` lists the shared ones.",
            metavar="WORKFLOW",
            completer=prompt_workflows,
        ),
    ] = "",
    /,
    *,
    sizes: Annotated[bool, option("Compare sizes with their limits.")] = False,
    json: AsJson = False,
) -> int:
    """List the prompts of the shipped workflows with source, hash and size.

    The size counts the fixed text of all branches; tokens are estimated. Also checks your own prompts.
    """
    settings = Settings.load()
    check_folders(settings)
    sets = [prompt_set(name, settings) for name in ([workflow] if workflow else SETS)]
    rows = [_facts(prompts, task) for prompts in sets for task in prompts.tasks]
    if json:
        print_json({"prompts": rows, "folders": list(settings.prompt_folders)})
        return 0
    more = ("budget", "used") if sizes else ("hash", "source")
    cells = [(*_size(row), *(_budget(row) if sizes else (row["hash"], _source(row)))) for row in rows]
    figures = ("characters", "tokens", "budget", "used")
    print_table(out(), ("prompt", "characters", "tokens", *more), cells, figures=figures, spare=("hash",))
    return 0


def show(
    prompt: Prompt,
    /,
    *,
    shipped: Annotated[bool, option("Print the shipped prompt, even if yours is active.")] = False,
    diff: Annotated[bool, option("Print your changes to the shipped prompt.")] = False,
    json: AsJson = False,
) -> int:
    """Print the active prompt with its included parts.

    A prompt is a template: a run fills in `{{ name }}`; `{% if … %}` marks optional parts.
    """
    if shipped and diff:
        raise UsageError("--shipped and --diff cannot be combined.", hint="--diff shows both.")
    prompts, task = _find(prompt)
    if shipped:
        text, digest = prompts.shipped_text(task), prompts.shipped[task].hash
    else:
        digest, text = prompts.current[task].hash, prompts.text(task)
    if diff:
        text = _diff(prompts, task)
    if json:
        facts = {"text": text, "hash": digest} if shipped else {**_facts(prompts, task), "text": text}
        print_json({"workflow": prompts.name, "task": task, **facts})
    elif diff and not text:
        say_line(out(), f"{prompts.name}/{task} is the shipped prompt.")
    else:
        print_raw(safe(text).rstrip("\n").encode())
    return 0


def copy(
    prompt: Prompt,
    /,
    *,
    to: Annotated[
        Path | None,
        Parameter(metavar="DIR", help="Folder of your prompts; default: the one in the settings."),
    ] = None,
    force: Annotated[bool, option("Overwrite existing files.")] = False,
    json: AsJson = False,
) -> int:
    """Copy a shipped prompt and its included parts to your prompt folder.

    Edit the copy; the next run uses it. A changed part affects every prompt that includes it.
    """
    settings = Settings.load()
    prompts, task = _find(prompt)
    folder = named(to).absolute() if to else Path(settings.prompt_folders[0])
    names = prompts.shipped_files(task)
    target = folder / prompts.name
    if (target / names[0]).exists() and not force:
        raise UsageError(f"{target / names[0]} already exists.", hint="Overwrite it with --force.")
    existing = [name for name in names if (target / name).exists() and not force]
    written = [target / name for name in names if name not in existing]
    _write(prompts, written)
    used = str(folder) in settings.prompt_folders
    if json:
        kept_files = [str(target / name) for name in existing]
        print_json({"written": [str(file) for file in written], "kept": kept_files, "used": used})
        return 0
    for file in written:
        say_line(out(), ("✓ ", "green"), _shown(file))
    for name in existing:
        say_line(out(), (f"  {_shown(target / name)} exists and was kept", "dim"))
    if not used:
        say_line(out(), ("To use it  ", "dim"), f'prompts = "{folder}" in podium.toml')
    return 0


def _find(prompt: str) -> tuple[PromptSet, str]:
    name, slash, task = prompt.partition("/")
    if not slash:
        raise UsageError(f"{prompt} is not of the form WORKFLOW/TASK.", hint="See `podium prompts list`.")
    settings = Settings.load()
    prompts = prompt_set(name, settings)
    prompts.check_task(task)
    return prompts, task


def _facts(prompts: PromptSet, task: str) -> dict[str, Any]:
    current = prompts.current[task]
    characters = fixed_characters(prompts.text(task))
    return {
        "workflow": prompts.name,
        "task": task,
        "overridden": current is not prompts.shipped[task],
        "files": [str(file) for file in prompts.own_files(task)],
        "hash": current.hash,
        "shipped_hash": prompts.shipped[task].hash,
        "characters": characters,
        "tokens": estimated_tokens(characters),
        "budget": prompt_budget(prompts.name),
    }


def _size(row: dict[str, Any]) -> tuple[str, ...]:
    return f"{row['workflow']}/{row['task']}", f"{row['characters']:,}", f"{row['tokens']:,}"


def _budget(row: dict[str, Any]) -> tuple[str, ...]:
    return f"{row['budget']:,}", f"{row['characters'] / row['budget']:.0%}"


def _source(row: dict[str, Any]) -> str:
    files = [_shown(Path(file)) for file in row["files"]]
    if not files:
        return "shipped"
    same = "" if row["overridden"] else " (same as shipped)"
    more = f" and {count(len(files) - 1, 'part')}" if len(files) > 1 else ""
    return f"{files[0]}{more}{same}"


def _diff(prompts: PromptSet, task: str) -> str:
    before, after = prompts.shipped_text(task).splitlines(), prompts.text(task).splitlines()
    name = f"{prompts.name}/{task}"
    return "\n".join(difflib.unified_diff(before, after, f"{name} (shipped)", f"{name} (yours)", lineterm=""))


def _write(prompts: PromptSet, files: list[Path]) -> None:
    try:
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(prompts.shipped_texts[file.name], encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{files[0].parent} cannot be written: {error.strerror}.", hint="Choose another with --to."
        ) from error


def _shown(file: Path) -> str:
    """Return a path relative to the current folder if it is inside it."""
    here = current_folder()
    return str(file.relative_to(here)) if file.is_relative_to(here) else str(file)
