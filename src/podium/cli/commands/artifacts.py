"""`podium artifacts`: list what a run made, print one, or save them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from podium.api.outcome import result_of
from podium.cli.card import say_line
from podium.cli.flags import AsJson, RunId, StoreUrl
from podium.cli.opening import find_run, opened
from podium.cli.terminal import out, print_json, say
from podium.engine.events import ArtifactCreated
from podium.engine.log import Store
from podium.engine.state import RunState
from podium.errors import UsageError
from podium.report.words import one_line, safe, size
from podium.settings import nearest
from podium.settings.places import named

Wanted = Annotated[str | None, Parameter(help="The name or id of one; without it, all are listed.")]
Output = Annotated[
    Path | None, Parameter(alias="-o", metavar="FILE|DIR", help="Save to this file, or all into this folder.")
]


async def artifacts(
    run: RunId = "last",
    name: Wanted = None,
    /,
    *,
    output: Output = None,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """List what a run made; with a name print it, with -o save it."""
    async with opened(store) as (_, opened_store):
        found = await find_run(opened_store, run)
        result, state = await result_of(opened_store, found)
        made = result.artifacts if name is None else [_chosen(result.artifacts, name)]
        if output is not None:
            contents = [(_file_name(item.name), await opened_store.get_blob(item.blob)) for item in made]
            _save(contents, output, one=name is not None)
        elif json:
            print_json({"run_id": found.run_id, "artifacts": result.to_dict()["artifacts"]})
        elif name is not None:
            await _print(opened_store, made[0])
        else:
            _list(state)
    return 0


def _chosen(made: list[ArtifactCreated], wanted: str) -> ArtifactCreated:
    """The newest of that name, or the one of that id (or the beginning of it)."""
    for artifact in reversed(made):
        if wanted in (artifact.name, artifact.id) or (len(wanted) >= 6 and artifact.id.startswith(wanted)):
            return artifact
    names = [artifact.name for artifact in made]
    meant = nearest(wanted, names)
    hint = f"Did you mean {meant}?" if meant else f"It made: {', '.join(names) or 'nothing'}."
    raise UsageError(f"The run has no artifact {wanted}.", hint=hint)


def _list(state: RunState) -> None:
    """One line each; where it was made tells those of the same name apart."""
    made = state.artifacts
    if not made:
        say("This run made no artifacts.")
    width = max((len(one_line(artifact.name)) for artifact in made.values()), default=0)
    for path, artifact in made.items():
        told = [f"{size(artifact.bytes):>9}", one_line(artifact.media_type), artifact.id]
        told.append(one_line(path.rpartition("/")[0]))
        say_line(out(), one_line(artifact.name).ljust(width), (f"  {'  '.join(told)}".rstrip(), "dim"))


async def _print(store: Store, artifact: ArtifactCreated) -> None:
    """Raw bytes into a pipe; on a terminal only text, and only what is safe there."""
    data = await store.get_blob(artifact.blob)
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(data)
        return
    if not artifact.media_type.startswith("text/") and artifact.media_type != "application/json":
        raise UsageError(f"{artifact.name} is {artifact.media_type}, not text.", hint="Save it with -o FILE.")
    say_line(out(), safe(data.decode("utf-8", "replace")))


def _save(contents: list[tuple[str, bytes]], target: Path, *, one: bool) -> None:
    """One into a file or folder, many into a folder; equal names get a number."""
    target = named(target)
    into_folder = not one or target.is_dir()
    try:
        if into_folder:
            target.mkdir(parents=True, exist_ok=True)
        taken: dict[str, int] = {}
        for name, data in contents:
            taken[name] = taken.get(name, 0) + 1
            numbered = name if taken[name] == 1 else f"{taken[name]}-{name}"
            file = target / numbered if into_folder else target
            file.write_bytes(data)
            say(str(file))
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written: {error.strerror}.", hint="Choose another with -o."
        ) from error


def _file_name(name: str) -> str:
    """A name that stays inside its folder, whatever a model called it."""
    last = one_line(name).replace("\\", "/").rpartition("/")[2].lstrip(".")
    return last or "artifact"
