"""Files and environment variables that a call looks up, if its arguments name them.

The result of such a call depends on more than its arguments: elsewhere the file may be missing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

LEAST_NAME = 3
"""Minimum characters of a name that counts within a longer text."""
MAX_NAMES = 1_000
_EVENTS = ("open", "os.listdir", "os.scandir")


class LookUps:
    """Names that were looked up since the last `clear`. There should be one of these in a process."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        sys.addaudithook(self._hear)
        for name in ("stat", "lstat", "access", "readlink"):
            setattr(os, name, self._noting(getattr(os, name)))
        variables: Any = type(os.environ)
        variables.__getitem__ = self._noting(variables.__getitem__, 1)

    def clear(self) -> None:
        self._names.clear()

    def are_named_by(self, texts: list[str]) -> bool:
        """Return True if a text is or holds the name of a file or variable that was looked up, or is a folder
        above it."""
        return any(_is_named(name, text) for name in self._names for text in texts)

    def _hear(self, event: str, args: Any) -> None:
        if event in _EVENTS and args:
            self._note(args[0])

    def _noting(self, function: Callable[..., Any], position: int = 0) -> Callable[..., Any]:
        def noting(*args: Any, **kwargs: Any) -> Any:
            if len(args) > position:
                self._note(args[position])
            return function(*args, **kwargs)

        return noting

    def _note(self, name: Any) -> None:
        if isinstance(name, os.PathLike):
            name = os.fspath(name)  # pyright: ignore
        if isinstance(name, bytes):
            name = os.fsdecode(name)
        if isinstance(name, str) and name and len(self._names) < MAX_NAMES:
            self._names.add(name)


def _is_named(name: str, text: str) -> bool:
    last = os.path.basename(name.rstrip("/"))
    return (
        text in (name, last)
        or (len(last) >= LEAST_NAME and last in text)
        or (len(text) >= LEAST_NAME and name.endswith(text))
        or name.startswith(text.rstrip("/") + "/")
    )


def texts_in(values: list[Any], depth: int = 5) -> list[str]:
    """Return the texts in arguments, also those in containers and in the attributes of objects."""
    texts: list[str] = []
    for value in values:
        if isinstance(value, str):
            texts += [value] if value else []
        elif isinstance(value, (list, tuple, set)) and depth:
            texts += texts_in(list(value), depth - 1)  # pyright: ignore
        elif isinstance(value, dict) and depth:
            texts += texts_in([*value, *value.values()], depth - 1)  # pyright: ignore
        elif depth and not isinstance(value, type):
            texts += texts_in(list(getattr(value, "__dict__", {}).values()), depth - 1)  # pyright: ignore
    return texts
