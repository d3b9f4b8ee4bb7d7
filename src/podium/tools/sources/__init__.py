"""Sources for research: who can be asked, and reading what they found.

    from podium.tools.sources.choosing import WORKERS, providers_for
    from podium.tools.sources.found import Found, Kind, Provider, Retrieved
    from podium.tools.sources.retrieving import retrieve

    providers_for(worker, settings, corpus=None, *, online=None) -> list[Provider]
        worker: web_search, academic_search, news_search or social_media. With a corpus, only the corpus is
        asked, unless `online` is true; without one, the providers on the web. Opening connects nothing.
    await provider.search(query, limit) -> list[Found]
    await retrieve(found, at=ISO_TIME, corpus=None, fetcher=None) -> Retrieved

Every failure is a `ToolError` (`podium.tools.tool`) of one sentence that may be shown to a person. What comes
back is untrusted text: fence it (`podium.tools.untrusted`) before a model sees it.
"""

from __future__ import annotations
