"""Research sources: search providers and retrieval.

    from podium.tools.sources.providers import WORKERS, Found, Kind, Provider, Retrieved
    from podium.tools.sources.providers import providers_for, retrieve

    providers_for(worker, settings, corpus=None, *, online=None) -> list[Provider]
        worker: web_search, academic_search, news_search or social_media. With a corpus, only the corpus is
        searched, unless `online` is true; without one, the online providers. Opening connects nothing.
    await provider.search(query, limit) -> list[Found]
    await retrieve(found, at=ISO_TIME, corpus=None, fetcher=None) -> Retrieved

Every failure is a one-sentence `ToolError` (`podium.tools.tool`) that may be shown to a user. Results are
untrusted text: fence them (`podium.tools.tool.untrusted`) before a model sees them.
"""

from __future__ import annotations
