"""Where things happen in a run: `story/dialogue/attempt#2/grade`.

A name that occurs again in its branch gets a number (`grade#2`); an explicit key takes the number's
place (`grade[alice]`). The separators are quoted in names, so a path can always be taken apart again.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import quote

_PLAIN = re.compile(r"[^/#\[\]%\x00-\x1f]+")


@lru_cache(maxsize=4096)
def quoted(name: str) -> str:
    """A name as one part of a path."""
    if _PLAIN.fullmatch(name):
        return name
    if not name:
        raise ValueError("a step or branch needs a name")
    return quote(name, safe=" !$&'()*+,;=:@~")


def joined(parent: str, name: str, occurrence: int, key: str | None) -> str:
    """The path of a step or branch below `parent`."""
    part = quoted(name)
    if key is not None:
        part = f"{part}[{quoted(key)}]"
    elif occurrence > 1:
        part = f"{part}#{occurrence}"
    return f"{parent}/{part}" if parent else part
