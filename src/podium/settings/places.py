"""Where settings and runs lie: the files that count in a folder, and the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import platformdirs

from podium.errors import SettingsError

FILE_NAME = "podium.toml"


def settings_files(cwd: Path, env: Mapping[str, str]) -> list[Path]:
    """The files that count here: the nearest project file up to the git root, then the user's."""
    named = env.get("PODIUM_CONFIG")
    user = Path(named) if named else user_file()
    project = next((file for file in _upward(cwd) if _is_there(file)), None)
    found = [file for file in (project, user) if file is not None and _is_there(file)]
    if named and user not in found:
        raise SettingsError(f"PODIUM_CONFIG names {named}, which is not a file.", hint="Correct or unset it.")
    return list(dict.fromkeys(file.resolve() for file in found))


def _is_there(file: Path) -> bool:
    try:
        return file.exists() and not file.is_dir()
    except OSError as error:  # a folder on the way to it is closed to us
        raise SettingsError(
            f"{file} cannot be looked at: {error.strerror}.", hint="Name another with PODIUM_CONFIG=FILE."
        ) from error


def user_file() -> Path:
    """The user's own settings file; it need not exist."""
    return Path(platformdirs.user_config_dir("podium", appauthor=False)) / FILE_NAME


def default_store() -> str:
    """The store in the user's data folder."""
    return f"sqlite:///{Path(platformdirs.user_data_dir('podium', appauthor=False)) / 'podium.sqlite'}"


def store_url(value: str, base: Path) -> str:
    """A store's URL with an absolute path; relative ones count from `base`."""
    if "://" in value and not value.startswith("sqlite:///"):
        return value
    path = Path(value.removeprefix("sqlite:///")).expanduser()
    return f"sqlite:///{path if path.is_absolute() else (base / path).absolute()}"


def _upward(cwd: Path) -> Iterator[Path]:
    """Where a project's file may lie: here and above, no further than the git root."""
    for folder in (cwd.absolute(), *cwd.absolute().parents):
        yield folder / FILE_NAME
        if (folder / ".git").exists():
            return
