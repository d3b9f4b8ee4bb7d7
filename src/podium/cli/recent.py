"""What the shell can complete: runs, files and prompts. It says nothing when there is nothing to say."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from podium.errors import PodiumError

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

_WORKFLOWS = Path(__file__).parents[1] / "workflows"


def python_files(context: CompletionContext) -> list[str]:
    """Python files, and the folders on the way to them."""
    folder, slash, begun = context.incomplete.rpartition("/")
    found = sorted(Path(folder + slash or ".").glob(f"{begun}*")) if "*" not in begun else []
    names = [f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}" for path in found]
    return [name for name in names if name.endswith((".py", "/")) and not name.endswith("__/")]


def prompt_names(context: CompletionContext) -> list[str]:
    """Names of the shipped prompts, as WORKFLOW/TASK."""
    found = sorted(_WORKFLOWS.glob("*/prompts/[!_]*.md"))
    names = [f"{file.parent.parent.name}/{file.stem}" for file in found]
    return [name for name in names if name.startswith(context.incomplete)]


def prompt_workflows(context: CompletionContext) -> list[str]:
    """Names of the sets of shipped prompts."""
    found = sorted(folder.parent.name for folder in _WORKFLOWS.glob("*/prompts"))
    return [name for name in found if name.startswith(context.incomplete)]


def recent_runs(context: CompletionContext) -> list[tuple[str, str]]:
    """Ids of the newest runs, each with its status and request."""
    from podium.cli.opening import opened  # noqa: PLC0415 - only completion pays for it here

    async def read() -> list[tuple[str, str]]:
        async with opened() as (_, store):
            runs = await store.list_runs(limit=20)
        return [(run.run_id, f"{run.status}: {run.request[:60]}") for run in runs]

    try:
        return asyncio.run(read())
    except PodiumError:
        return []  # a half-typed command line is no place for an error message
