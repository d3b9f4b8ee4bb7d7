"""The difference that a run made to files, as a person reads it in a terminal."""

from __future__ import annotations

from podium.cli.card import say_line
from podium.cli.terminal import out, print_raw, results
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.errors import UsageError
from podium.report.words import safe

MEDIA_TYPE = "text/x-diff"
STYLES = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}
"""By how a line begins; `diff --git` begins a file."""


async def print_diff(store: Store, result: RunResult) -> None:
    """The newest patch of a run: in colours on a terminal, elsewhere byte for byte."""
    patches = [one for one in result.artifacts if one.media_type == MEDIA_TYPE]
    if not patches:
        raise UsageError(
            f"Run {result.run_id} has made no patch.",
            hint="A build makes one of what it changed when it ends.",
        )
    data = await store.get_blob(patches[-1].blob)
    if not results().isatty():
        print_raw(data)
        return
    for line in data.decode("utf-8", "replace").splitlines():
        say_line(out(), (safe(line), STYLES.get(line[:1], "")))
