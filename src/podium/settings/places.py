"""Settings files, store paths, and files with private permissions."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import platformdirs

from podium.errors import SettingsError, UsageError

FILE_NAME = "podium.toml"
PROMPTS = Path(".podium", "prompts")
"""A project's folder of prompts, relative to the project."""
_SHOWN = 80
"""Maximum characters of a path in a message, taken from both ends."""


def current_folder() -> Path:
    """Return the current folder; raise `SettingsError` if it was removed."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise SettingsError("The current folder was deleted.", hint="Go to another one: cd ~") from error


def at_home(path: str | Path) -> Path:
    """Expand `~` and `~name` in a path. An unknown user name is left unchanged, as in a shell."""
    return Path(os.path.expanduser(path))


def named(path: str | Path) -> Path:
    """Return the path of a file or folder named by a user; it need not exist. Raises `UsageError` if it
    cannot be checked: the name is too long, a link is cyclic, or a folder is not accessible."""
    resolved = at_home(path)
    try:
        resolved.stat()
    except (FileNotFoundError, NotADirectoryError):
        return resolved
    except (OSError, ValueError) as error:
        shown = str(path)
        if len(shown) > _SHOWN:
            shown = f"{shown[: _SHOWN // 2]}…{shown[-_SHOWN // 2 :]}"
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{shown} cannot be accessed: {why}.", hint="Give another path.") from error
    return resolved


def settings_files(cwd: Path, env: Mapping[str, str]) -> list[Path]:
    """Return the applicable files: the nearest project file up to the git root, then the user's."""
    named = env.get("PODIUM_CONFIG")
    user = Path(named) if named else user_file()
    project = next((file for file in _upward(cwd) if _is_there(file)), None)
    files = [file for file in (project, user) if file is not None and _is_there(file)]
    if named and user not in files:
        raise SettingsError(f"PODIUM_CONFIG names {named}, which is not a file.", hint="Correct or unset it.")
    return list(dict.fromkeys(file.resolve() for file in files))


def _is_there(file: Path) -> bool:
    try:
        return file.exists() and not file.is_dir()
    except OSError as error:  # a parent folder is not accessible
        raise SettingsError(
            f"{file} cannot be accessed: {error.strerror}.", hint="Name another with PODIUM_CONFIG=FILE."
        ) from error


def user_file() -> Path:
    """Return the path of the user's settings file; it need not exist."""
    return Path(platformdirs.user_config_dir("podium", appauthor=False)) / FILE_NAME


def project_prompts(cwd: Path) -> Path:
    """Return the folder for a project's own prompts: the nearest `.podium/prompts` up to the git root; else
    the one beside the project's settings file, or in `cwd`, which need not exist."""
    project = next((file for file in _upward(cwd) if _is_there(file)), None)
    above = (file.parent / PROMPTS for file in _upward(cwd))
    beside = (project.parent if project else cwd.absolute()) / PROMPTS
    return next((folder for folder in above if os.path.isdir(folder)), beside)


def user_prompts(env: Mapping[str, str]) -> Path:
    """Return the folder for a user's own prompts, beside the user's settings file; it need not exist."""
    named = env.get("PODIUM_CONFIG")
    return (Path(named).absolute() if named else user_file()).parent / "prompts"


def default_store() -> str:
    """Return the URL of the store in the user's data folder."""
    return f"sqlite:///{Path(platformdirs.user_data_dir('podium', appauthor=False)) / 'podium.sqlite'}"


def store_url(value: str, base: Path) -> str:
    """Return a store's URL with an absolute path; relative paths are relative to `base`."""
    if "://" in value and not value.startswith("sqlite:///"):
        return value
    path = store_path(value.removeprefix("sqlite:///"))
    return f"sqlite:///{path if path.is_absolute() else (base / path).absolute()}"


def store_file(url: str) -> Path | None:
    """Return the file of an SQLite store; None for a store of another kind."""
    path = url.removeprefix("sqlite:///")
    return None if "://" in path else Path(path)


def store_path(name: str | Path) -> Path:
    """Return the file of a store; raise `SettingsError` for the home of an unknown user, since the file would
    be created."""
    path = at_home(name)
    if path.parts and path.parts[0].startswith("~"):
        raise SettingsError(
            f"The store {name}: there is no user {path.parts[0][1:]}.", hint="Give the full path."
        )
    return path


def _upward(cwd: Path) -> Iterator[Path]:
    """Yield the possible paths of a project's settings file: in this folder and above, up to the git root."""
    for folder in (cwd.absolute(), *cwd.absolute().parents):
        yield folder / FILE_NAME
        if (folder / ".git").exists():
            return


FILE_MODE = 0o600
FOLDER_MODE = 0o700
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents with mode 0700. Existing folders keep their mode."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        try:
            parent.mkdir(FOLDER_MODE)
        except FileExistsError:
            continue  # another process was faster
        parent.chmod(FOLDER_MODE)
    if not folder.is_dir():
        raise NotADirectoryError(20, os.strerror(20), str(folder))


def make_private_file(file: Path) -> None:
    """Create an empty file with mode 0600. An existing file is left as it is."""
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    except FileExistsError:
        return
    try:
        os.fchmod(opened, FILE_MODE)
    finally:
        os.close(opened)


def write_private(file: Path, data: bytes) -> None:
    """Write a file. A new one gets mode 0600; an existing one keeps its mode."""
    make_private_file(file)
    file.write_bytes(data)


def others_may(path: Path) -> bool:
    """Return whether anyone but the owner has rights on a file or folder."""
    return bool(path.stat().st_mode & _OTHERS)
