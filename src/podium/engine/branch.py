"""Branches, key counters and path quoting.

A name that occurs again in its branch gets a number (`grade#2`); an explicit key takes the number's
place (`grade[alice]`). The separators are quoted in names, so a path can always be taken apart again.
"""

from __future__ import annotations

import asyncio
import re
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

from podium.engine.budget import Scope
from podium.engine.redaction import SHORTEST, Redact, clean_name
from podium.errors import DuplicateKeyError

_PLAIN = re.compile(r"[^/#\[\]%\x00-\x1f]+")


@lru_cache(maxsize=4096)
def quoted(name: str) -> str:
    """Return a name, percent-quoted, as one part of a path."""
    if _PLAIN.fullmatch(name):
        return name
    if not name:
        raise ValueError("a step or branch needs a name")
    return quote(name, safe=" !$&'()*+,;=:@~")


def joined(parent: str, name: str, occurrence: int, key: str | None) -> str:
    """Return the path of a step or branch below `parent`."""
    part = quoted(name)
    if key is not None:
        part = f"{part}[{quoted(key)}]"
    elif occurrence > 1:
        part = f"{part}#{occurrence}"
    return f"{parent}/{part}" if parent else part


T = TypeVar("T")


class Branch:
    """The position of the current task in the run, with the limits that apply there."""

    __slots__ = (
        "_counts",
        "_keys",
        "_redact",
        "closing",
        "cut",
        "deadline",
        "depth",
        "depth_limit",
        "depth_scope",
        "path",
        "scopes",
        "stale_before",
        "task",
    )

    def __init__(
        self, path: str, task: asyncio.Task[Any] | None, parent: Branch | None, redact: Redact
    ) -> None:
        self.path = path
        self.task = task
        """The only task that may use this branch."""
        self._counts: dict[str, int] = {}
        self._keys: set[str] | None = None
        self._redact = redact
        self.stale_before = 0
        """Log position at which an earlier step ran again. Results that plain steps recorded before it are
        out of date, in this branch and below."""
        self.closing = False
        self.cut = False
        """The last step's result ends where a model's reply was cut off."""
        self.scopes: tuple[Scope, ...] = ()
        """The budget scopes that apply here, innermost first."""
        self.depth = 0
        self.depth_limit: int | None = None
        self.depth_scope = ""
        self.deadline: list[Deadline] = []
        if parent is not None:
            self.stale_before = parent.stale_before
            self.closing = parent.closing
            self.scopes = parent.scopes
            self.depth = parent.depth + 1
            self.depth_limit = parent.depth_limit
            self.depth_scope = parent.depth_scope
            self.deadline = parent.deadline

    def inside(self, path: str) -> Branch:
        """Return a branch of the same task at `path`, which does not count as depth."""
        child = Branch(path, self.task, self, self._redact)
        child.depth = self.depth
        return child

    def twin(self) -> Branch:
        """Return a branch at the same path for another task. Its steps need explicit paths or keys."""
        twin = self.inside(self.path)
        twin.task, twin.stale_before = None, self.stale_before
        return twin

    def take(self, name: str, key: str | None = None) -> str:
        """Return the path of the next step or branch of this name."""
        if len(name) >= SHORTEST or not name.isascii():
            name = clean_name(name, self._redact)
        if key is not None:
            path = joined(self.path, name, 0, clean_name(str(key), self._redact))
            if self._keys is None:
                self._keys = set()
            if path in self._keys:
                raise DuplicateKeyError(path)
            self._keys.add(path)
            return path
        occurrence = self._counts.get(name, 0) + 1
        self._counts[name] = occurrence
        return joined(self.path, name, occurrence, None)


class Deadline(msgspec.Struct, frozen=True):
    """A time budget, as the driven second at which it is used up."""

    scope: str
    limit: float
    at: float
    withheld: float = 0.0
    """Seconds of it that only closing steps may use."""
    grace: float = 0.0
    """Seconds after `at` in which closing steps may still run."""

    def ends(self, *, closing: bool) -> float:
        """Return the driven second after which no step runs."""
        return self.at + self.grace - (0.0 if closing else self.withheld)


class Ok(msgspec.Struct, Generic[T], frozen=True):
    """The result of a branch that completed."""

    value: T

    def unwrap(self) -> T:
        return self.value

    def __bool__(self) -> bool:
        return True


class Failed(msgspec.Struct, frozen=True):
    """A branch that ended with an error. The workflow decides what that means."""

    error: Exception

    def unwrap(self) -> Any:
        """Raise the error: for a branch that the workflow cannot do without."""
        raise self.error

    def __bool__(self) -> bool:
        return False


CURRENT: ContextVar[Branch] = ContextVar("podium_branch")
"""The branch that the running task is in."""
