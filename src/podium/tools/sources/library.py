"""The user's own documents as a provider, for any of the workers that search."""

from __future__ import annotations

from podium.tools.corpus.corpus import Corpus, url_of
from podium.tools.sources.found import Found, Kind


class CorpusSearch:
    """A corpus; what it finds carries the place of the passage."""

    kind: Kind = "corpus"

    def __init__(self, corpus: Corpus) -> None:
        self.name = f"Corpus {corpus.folder.name or corpus.folder}"
        self._corpus = corpus

    async def search(self, query: str, limit: int) -> list[Found]:
        return [
            Found(
                passage.title, url_of(passage.path), passage.snippet, "corpus", passage.published,
                passage.authors, self.name, start=passage.start, end=passage.end,
            )
            for passage in await self._corpus.search(query, limit)
        ]  # fmt: skip
