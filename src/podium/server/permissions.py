"""Rules for users of a shared server.

A folder is taken only if all of it lies there: where its name leads to, its repository, and the objects which
that borrows. Otherwise a link, or a file called `.git`, could lead to what belongs to others.

The only user of a server on their own machine may do everything: it is their machine.
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
"""In the operator's folder: the name of whoever asks, so that everybody has projects of their own."""


def projects_of(root: str, user: str) -> Path:
    """The folder whose projects a user may name. A user's name holds neither dots nor slashes."""
    return named(root.replace(USER, user)).resolve()


def project_folder(root: str, user: str, name: str) -> str:
    """The full path of a project by its name; refused if it is not there or leads elsewhere."""
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
"""Options of `build` for users whose operator has named a folder of projects for them."""


def check_operator(caller: Caller, what: str) -> None:
    """Some things are for whoever runs the server."""
    if caller.user is not None:
        raise RefusedError(
            403, f"On a shared server, {what} cannot be used here.", hint="Ask whoever runs this server."
        )


def check_workflow(caller: Caller, name: str) -> None:
    if caller.user is not None and name not in SHIPPED:
        raise RefusedError(
            403, f"The workflow {name} cannot be used here.", hint=f"These can: {', '.join(SHIPPED)}."
        )


async def check_models(hall: ServerState, caller: Caller, *names: str | None) -> None:
    """Code and other people's replies are no models for everybody."""
    for name in names:
        if caller.user is None or not name:
            continue
        if name.startswith("replay:"):
            await hall.run_for(caller, name.removeprefix("replay:"))
        elif name.startswith("python:") or "@" in name:
            raise RefusedError(
                403, f"The model {name} cannot be used here.", hint="Ask whoever runs this server."
            )


def may_use(hall: ServerState, caller: Caller, workflow: str, option: str) -> bool:
    if workflow == "build" and option in WITH_PROJECTS and hall.workspaces:
        return True
    return caller.user is None or (workflow in SHIPPED and option in builtin(workflow).shared_options)


def options_for(hall: ServerState, caller: Caller, workflow: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with projects and folders of one's own; those that reach into the machine are refused."""
    if caller.user is None:
        return options
    known = {option.name for option in find_workflow(workflow).options}
    for name, value in options.items():
        file = name == "team" and value and str(value) not in TEAMS
        if file or (name in known and not may_use(hall, caller, workflow, name)):
            raise RefusedError(403, f"The option {name} cannot be used on a shared server.")
    own: dict[str, Any] = {}
    if options.get("project"):
        own["project"] = project_of(caller, str(options["project"]))
    if workflow == "build" and options.get("workspace"):
        own["workspace"] = project_folder(hall.workspaces, caller.name, str(options["workspace"]))
    return {**options, **own}


def project_of(caller: Caller, name: str) -> str:
    """Users do not share projects: each has their own of a name."""
    return f"{caller.name}/{name.strip()}" if caller.user is not None else name


def shown_project(caller: Caller, stored: str) -> str | None:
    """The name by which a caller knows a project; `None`: it is not theirs."""
    if caller.user is None:
        return stored
    owner, slash, name = stored.partition("/")
    return name if slash and owner == caller.name else None


async def check_room(hall: ServerState, caller: Caller) -> None:
    """A queue that grows for ever helps nobody."""
    _, queued = await hall.conductor.count_of(caller.name)
    most = caller.user.max_queued if caller.user else 100_000
    if queued >= most:
        raise RefusedError(
            429, f"You have {queued} runs waiting already.", hint="Let some of them finish first."
        )
