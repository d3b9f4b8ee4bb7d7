"""Tools of the fact checker: search and read the sources of the run, beyond the passages of a prompt."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from podium.agents.tools import Tool, tool
from podium.workflows.research.context import Study
from podium.workflows.research.measures.text import best_passages

LOOKUPS = 6
"""Maximum tool calls of one fact check."""
TURNS = 3
"""Maximum turns of one fact check: each sends all passages again."""
FOUND_ROOM = 6_000
"""Characters that one search returns."""
PAGE = 12_000
"""Characters of a source that one call returns."""

SourceId = Annotated[str, Field(description="Id of a source, such as s3.")]
SourceOrAll = Annotated[str, Field(description="Only in this source; empty: in all.")]
Wanted = Annotated[str, Field(min_length=3, max_length=400, description="What the passages should say.")]
Offset = Annotated[int, Field(ge=0, description="Character to begin at.")]


def source_tools(study: Study) -> list[Tool]:
    """Return the tools. They see the texts that the run has retrieved, and nothing else."""

    @tool(safe=True)
    def search_sources(text: Wanted, source_id: SourceOrAll = "") -> str:
        """Find passages in the whole texts of the sources."""
        texts = {source_id: _text_of(study, source_id)} if source_id else dict(study.texts)
        passages = best_passages(texts, [text], FOUND_ROOM)
        fenced = [study.sealed(passage, f"source {key}") for key, passage in passages.items()]
        return "\n\n".join(fenced) or "Nothing was found."

    @tool(safe=True)
    def read_source(source_id: SourceId, offset: Offset = 0) -> str:
        """Read the text of a source."""
        text = _text_of(study, source_id)
        part = text[offset : offset + PAGE]
        end = offset + len(part)
        note = f"\n[characters {offset:,} to {end:,} of {len(text):,}]"
        return study.sealed(part, f"source {source_id}") + note

    return [search_sources, read_source]


def _text_of(study: Study, source_id: str) -> str:
    if source_id not in study.texts:
        raise LookupError(f"there is no source {source_id}; there are: {', '.join(study.texts)}")
    return study.texts[source_id]
