"""Folders of documents that can be searched: `Corpus` in `corpus.py`, where they are kept in `shelf.py`.

    corpus = await open_corpus(Path("notes"), settings)     # makes the index, or brings it up to date
    corpus.troubles                                         # files that could not be read, one sentence each
    for passage in await corpus.search("water temperature", limit=8):
        document = await corpus.read(passage.path)
        assert document.text[passage.start : passage.end] == passage.snippet

Everything here works beside the event loop, and any number of processes may use one index.
"""

from __future__ import annotations
