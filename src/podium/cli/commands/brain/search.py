"""`podium brain search`: facts by name, by word and, with an embedding model, by meaning."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from podium.cli.facts import ProjectName, as_data, opened_brain, print_facts
from podium.cli.flags import AsJson, StoreUrl, whole_number
from podium.cli.terminal import print_json, say
from podium.errors import UsageError


async def search(
    text: Annotated[str, Parameter(help="A name, some words, or a whole request.")],
    /,
    *,
    project: ProjectName = None,
    limit: Annotated[int, Parameter(metavar="N", converter=whole_number, help="Most facts to list.")] = 20,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """The accepted facts that matter to a text, the most telling first.

    This is what the heads of departments are given.
    """
    if not text.strip():
        raise UsageError("There is nothing to search for.", hint="Give a name or some words.")
    if limit < 1:
        raise UsageError("--limit must be at least 1.")
    async with opened_brain(store, project) as (_, _, brain):
        found = await brain.search(text, limit)
        warning = brain.warning
    if json:
        print_json({"project": brain.project, "facts": [as_data(fact) for fact in found], "warning": warning})
        return 0
    if found:
        print_facts(found)
    else:
        say("Nothing is known about that.")
    if warning:
        say(("Warning: ", "bold yellow"), warning, to_stderr=True)
    return 0
