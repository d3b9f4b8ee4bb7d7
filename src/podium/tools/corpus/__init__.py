"""Searchable document folders (corpora). `Corpus` and the location of the indexes are in `corpus.py`.

    corpus = await open_corpus(Path("notes"), settings)     # creates or updates the index
    corpus.troubles                                         # files that could not be read, one sentence each
    for passage in await corpus.search("water temperature", limit=8):
        document = await corpus.read(passage.path)
        assert document.text[passage.start : passage.end] == passage.snippet

Blocking work runs in threads, off the event loop. Any number of processes may share one index.
"""

from __future__ import annotations
