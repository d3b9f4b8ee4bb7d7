"""`podium artifacts`: list what a run made, print one, or save them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from podium.api.outcome import result_of
from podium.cli.card import say_line
from podium.cli.failure import FAILED, tell
from podium.cli.flags import AsJson, RunId, StoreUrl
from podium.cli.opening import find_run, opened
from podium.cli.terminal import out, print_json, say
from podium.engine.events import ArtifactCreated
from podium.engine.log import Store
from podium.engine.state import RunState
from podium.errors import StoreError, UsageError
from podium.report.words import FileNames, count, one_line, safe, size
from podium.settings import nearest
from podium.settings.places import named, write_private

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
            failed = await _save(opened_store, made, output, one=name is not None)
            return FAILED if failed else 0
        if json:
            print_json({"run_id": found.run_id, "artifacts": result.to_dict()["artifacts"]})
        elif name is not None:
            await _print(opened_store, made[0])
        else:
            _list(state)
    return 0


def _chosen(made: list[ArtifactCreated], wanted: str) -> ArtifactCreated:
    """Return the newest artifact with this name, or the one with this id or id prefix of at least 6
    characters."""
    for artifact in reversed(made):
        if wanted in (artifact.name, artifact.id) or (len(wanted) >= 6 and artifact.id.startswith(wanted)):
            return artifact
    names = [artifact.name for artifact in made]
    meant = nearest(wanted, names)
    hint = f"Did you mean {meant}?" if meant else f"It made: {', '.join(names) or 'nothing'}."
    raise UsageError(f"The run has no artifact {wanted}.", hint=hint)


def _list(state: RunState) -> None:
    """Print one line per artifact, with its path to tell artifacts of the same name apart."""
    made = state.artifacts
    if not made:
        say("This run made no artifacts.")
    width = max((len(one_line(artifact.name)) for artifact in made.values()), default=0)
    for path, artifact in made.items():
        told = [f"{size(artifact.bytes):>9}", one_line(artifact.media_type), artifact.id]
        told.append(one_line(path.rpartition("/")[0]))
        say_line(out(), one_line(artifact.name).ljust(width), (f"  {'  '.join(told)}".rstrip(), "dim"))


async def _print(store: Store, artifact: ArtifactCreated) -> None:
    """Print raw bytes into a pipe; on a terminal only text, with control characters removed."""
    data = await store.get_blob(artifact.blob)
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(data)
        return
    if not artifact.media_type.startswith("text/") and artifact.media_type != "application/json":
        raise UsageError(f"{artifact.name} is {artifact.media_type}, not text.", hint="Save it with -o FILE.")
    say_line(out(), safe(data.decode("utf-8", "replace")))


async def _save(store: Store, made: list[ArtifactCreated], target: Path, *, one: bool) -> int:
    """Save one artifact to a file or folder, or several to a folder. Returns how many could not be saved:
    each is reported, and the others are still saved."""
    target = named(target)
    into_folder = not one or target.is_dir()
    if into_folder:
        _make_folder(target)
    names, failed = FileNames(), 0
    for artifact in made:
        file = target / names.take(artifact.name) if into_folder else target
        try:
            write_private(file, await store.get_blob(artifact.blob))
        except (OSError, StoreError) as error:
            failed += 1
            reason = error.strerror if isinstance(error, OSError) else error.message
            tell(f"{one_line(artifact.name, 80)} was not saved: {reason}".rstrip(".") + ".")
        else:
            say(str(file))
    if failed:
        tell(
            f"{failed} of {count(len(made), 'artifact')} could not be saved.", "Choose another place with -o."
        )
    return failed


def _make_folder(target: Path) -> None:
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written: {error.strerror}.", hint="Choose another with -o."
        ) from error
