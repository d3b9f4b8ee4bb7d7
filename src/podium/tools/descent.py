"""The way down to a folder, one name at a time from an open handle: nothing can be exchanged in between."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

NO_LINKS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a folder on the way is opened."""


def open_root(root: Path) -> int:
    """A handle of the folder where it begins; that one was named by the user, and may be a link."""
    return os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


@contextmanager
def descended(handle: int, folders: Iterable[str], enter: Callable[[str, int], int]) -> Generator[int]:
    """A handle of the folder that the names lead to. `enter` opens a name in the folder of a handle, without
    following links. All handles are closed in the end, the first one too."""
    try:
        for name in folders:
            deeper = enter(name, handle)
            os.close(handle)
            handle = deeper
        yield handle
    finally:
        os.close(handle)
