"""Permissions of users on a shared server.

A project folder is accepted only if all of it is inside the user's projects folder: its resolved path, its
repository, and the object folders that the repository borrows. Otherwise a symbolic link, or a file named
`.git`, could point to other users' data.

The only user of a local server may do everything: it is their machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from podium.errors import PodiumError
from podium.server.auth import Caller
from podium.server.problems import RefusedError
from podium.server.state import ServerState
from podium.settings.places import named
from podium.tools.workspace.origin import find_origin
from podium.workflows import SHIPPED, builtin, find_workflow
from podium.workflows.studio.team import SHIPPED as TEAMS

USER = "{user}"
"""Placeholder for the caller's name in the operator's folder, so that each user has projects of their own."""


def projects_of(root: str, user: str) -> Path:
    """Return the folder whose projects a user may name. A user's name contains neither dots nor slashes."""
    return named(root.replace(USER, user)).resolve()


def project_folder(root: str, user: str, name: str) -> str:
    """Return the full path of a project. Raises `RefusedError` (403) if it does not exist or leads outside
    the folder."""
    projects = projects_of(root, user)
    refused = RefusedError(
        403, f"There is no project {name[:200]} here.", hint="Name a folder of those that you may use."
    )
    try:
        folder = (projects / name).resolve()
        if "\0" in name or folder == projects or not folder.is_relative_to(projects) or not folder.is_dir():
            raise refused
        origin = find_origin(folder)
    except (PodiumError, OSError, ValueError) as error:
        raise refused from error
    places = [Path(place) for place in (origin.folder, origin.git_dir, origin.common_dir) if place]
    places += origin.object_folders() if origin.common_dir else []
    if not all(place.resolve().is_relative_to(projects) for place in places):
        raise refused
    return str(folder)


WITH_PROJECTS = frozenset({"workspace", "test_command"})
"""Options of `build` that are allowed if the operator has named a projects folder."""


def check_operator(caller: Caller, what: str) -> None:
    """Raise `RefusedError` (403) for users of a shared server: only its operator may use this."""
    if caller.user is not None:
        raise RefusedError(
            403, f"On a shared server, {what} cannot be used here.", hint="Ask the operator of this server."
        )


def check_workflow(caller: Caller, name: str) -> None:
    if caller.user is not None and name not in SHIPPED:
        raise RefusedError(
            403, f"The workflow {name} cannot be used here.", hint=f"These can: {', '.join(SHIPPED)}."
        )


async def check_models(state: ServerState, caller: Caller, *names: str | None) -> None:
    """Refuse models that users of a shared server may not use: Python code, custom base URLs (`@`), and
    replays of other users' runs."""
    for name in names:
        if caller.user is None or not name:
            continue
        if name.startswith("replay:"):
            await state.run_for(caller, name.removeprefix("replay:"))
        elif name.startswith("python:") or "@" in name:
            raise RefusedError(
                403, f"The model {name} cannot be used here.", hint="Ask the operator of this server."
            )


def may_use(state: ServerState, caller: Caller, workflow: str, option: str) -> bool:
    if workflow == "build" and option in WITH_PROJECTS and state.workspaces:
        return True
    return caller.user is None or (workflow in SHIPPED and option in builtin(workflow).shared_options)


def options_for(state: ServerState, caller: Caller, workflow: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with project and workspace mapped to the caller's own. Raises `RefusedError` (403)
    for an option that gives access to the machine."""
    if caller.user is None:
        return options
    known = {option.name for option in find_workflow(workflow).options}
    for name, value in options.items():
        file = name == "team" and value and str(value) not in TEAMS
        if file or (name in known and not may_use(state, caller, workflow, name)):
            raise RefusedError(403, f"The option {name} cannot be used on a shared server.")
    own: dict[str, Any] = {}
    if options.get("project"):
        own["project"] = project_of(caller, str(options["project"]))
    if workflow == "build" and options.get("workspace"):
        own["workspace"] = project_folder(state.workspaces, caller.name, str(options["workspace"]))
    return {**options, **own}


def project_of(caller: Caller, name: str) -> str:
    """Return the stored name of a project. Users do not share projects, so it is prefixed with the user's
    name."""
    return f"{caller.name}/{name.strip()}" if caller.user is not None else name


def shown_project(caller: Caller, stored: str) -> str | None:
    """Return the name by which a caller knows a project. None: it belongs to another user."""
    if caller.user is None:
        return stored
    owner, slash, name = stored.partition("/")
    return name if slash and owner == caller.name else None


async def check_queue(state: ServerState, caller: Caller) -> None:
    """Raise `RefusedError` (429) if the caller's queue is full."""
    _, queued = await state.scheduler.count_of(caller.name)
    most = caller.user.max_queued if caller.user else 100_000
    if queued >= most:
        raise RefusedError(
            429, f"You have {queued} runs waiting already.", hint="Let some of them finish first."
        )
