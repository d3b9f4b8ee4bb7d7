"""Which folders users of a shared server may have changed by `build`: those below one that was named for it.

A folder is taken only if all of it lies there: where its name leads to, its repository, and the objects which
that borrows. Otherwise a link, or a file called `.git`, could lead to what belongs to others.
"""

from __future__ import annotations

from pathlib import Path

from podium.errors import PodiumError
from podium.server.problems import RefusedError
from podium.settings.places import named
from podium.tools.workspace.origin import find_origin

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
