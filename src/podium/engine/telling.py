"""What a workflow tells and leaves behind: its own events, warnings and artifacts. Never told twice."""

from __future__ import annotations

from podium.engine.codec import content_hash, encode, fingerprint
from podium.engine.core import Core
from podium.engine.events import ArtifactCreated, EventData
from podium.engine.redact import clean_name

ENGINE_NAMESPACES = frozenset({"", "run", "step", "model", "budget", "artifact"})


WELCOME: set[str] = set()
"""Types of events that were looked at: once is enough."""


def check_namespace(data: EventData) -> None:
    """Refuse events that only the engine may write."""
    if data.type.split(".", 1)[0] in ENGINE_NAMESPACES:
        raise ValueError(f"an event of type {data.type!r} belongs to the engine; use a namespace of your own")
    WELCOME.add(data.type)


def tell(core: Core, data: EventData) -> None:
    """Append an event at the current branch, unless an earlier life of the run has told it."""
    branch = core.enter()
    emitted = core.memo.emitted
    known = emitted.get((branch.path, data.type)) if emitted else None
    if known and not branch.stale_before:
        known.popleft()
        return
    raw = core.journal.redact(encode(data))
    if known and hash(raw) in known:  # steps ran again here, so only the content tells which one it is
        known.remove(hash(raw))
        return
    if core.replaying:
        raise core.diverged(branch.path, f"the log does not hold this {data.type}")
    core.journal.append_raw(branch.path, data.type, raw)


WAIT_BYTES = 65_536
"""Whoever keeps more at once waits until it is on disk, so that memory does not fill up. Less is written with
the next step: until then a crash loses it, and the resumed workflow keeps the same again."""


async def keep(core: Core, name: str, data: bytes | str, media_type: str) -> ArtifactCreated:
    """Store an artifact, unless the log holds the same one already."""
    name = clean_name(name, core.journal.redact)
    path = core.enter().take("artifact", name)
    content = core.journal.redact(data.encode("utf-8", "replace") if isinstance(data, str) else data)
    made = core.memo.artifacts.get(path)
    if made is None or made.blob != content_hash(content):
        if core.replaying:
            raise core.diverged(path, "the log does not hold this artifact")
        digest = core.journal.put_blob(content)
        made = ArtifactCreated(
            id=fingerprint([path, digest])[:12],
            name=name,
            media_type=media_type,
            bytes=len(content),
            blob=digest,
        )
        core.emit(path, made)
        if len(content) > WAIT_BYTES:
            await core.committed()
    core.artifacts[path] = made
    return made
