"""Starting the programs of `inside/`: by a bare interpreter, so that it takes a few milliseconds."""

from __future__ import annotations

import sys
from pathlib import Path

import podium

_START = (
    "import sys; sys.path[:0] = [sys.argv.pop(1)]; "
    "from podium.tools.sandbox.inside.{name} import main; main()"
)


def bare_python(name: str) -> list[str]:
    """The beginning of a command line that runs one of them; what follows are its arguments."""
    home = str(Path(podium.__file__).parents[1])
    return [sys.executable, "-I", "-S", "-c", _START.format(name=name), home]
