"""Built-in prompt sets: one for each workflow, and one that workflows share."""

from __future__ import annotations

from pathlib import Path

from podium.agents.overrides import Overrides, PromptSet
from podium.errors import UsageError
from podium.settings import Settings, nearest
from podium.workflows import SHIPPED, builtin

SHARED = "delivery"
"""The set for direct draft, editor and comparison, which several workflows use."""
_FOLDER = Path(__file__).parent
SETS = tuple(name for name in (*SHIPPED, SHARED) if (_FOLDER / name / "prompts").is_dir())

SHARED_BUDGET = 4_000
"""Most characters of fixed text in one shared prompt."""


def prompt_budget(name: str) -> int:
    """Return the most characters of fixed text in one prompt of a set, its parts included."""
    return SHARED_BUDGET if name == SHARED else builtin(name).prompt_budget


def prompt_set(name: str, settings: Settings) -> PromptSet:
    """Return one set with the overrides that these settings name; `UsageError` if there is no such set."""
    if name not in SETS:
        meant = nearest(name, SETS)
        hint = f"Did you mean {meant}?" if meant else f"There are: {', '.join(SETS)}."
        raise UsageError(f"There are no prompts of {name}.", hint=hint)
    return PromptSet(name, _FOLDER / name / "prompts", settings.prompt_folders)


def overrides_for(workflow: str, settings: Settings) -> Overrides:
    """Return the overrides of a workflow's prompts; none for a custom workflow."""
    if workflow not in SETS:
        return Overrides()
    check_folders(settings)
    names = [name for name in (workflow, SHARED) if _has_own(name, settings)]
    return Overrides(prompt_set(name, settings) for name in names)


def check_folders(settings: Settings) -> None:
    """Raise `UsageError` for a configured folder that does not exist, or that contains a misspelt set."""
    if settings.prompts and not Path(settings.prompts).is_dir():
        source = settings.sources.get("prompts", "settings")
        raise UsageError(
            f"The folder of prompts {settings.prompts} is not there.", hint=f"`prompts` in {source} names it."
        )
    for folder in map(Path, settings.prompt_folders):
        for child in sorted(folder.iterdir()) if folder.is_dir() else ():
            meant = nearest(child.name, SETS) if child.is_dir() and child.name not in SETS else ""
            if meant:
                raise UsageError(f"{child} replaces no prompts.", hint=f"Did you mean {meant}?")


def _has_own(name: str, settings: Settings) -> bool:
    return any((Path(folder) / name).is_dir() for folder in settings.prompt_folders)
