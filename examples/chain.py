"""A chain: research a topic, draft from the notes, polish the draft.

podium run examples/chain.py "the history of lighthouses"
"""

import podium

researcher = podium.Agent("researcher", instructions="You collect facts and say where they come from.")
writer = podium.Agent("writer", instructions="You write short, plain articles.")
editor = podium.Agent("editor", instructions="You tighten prose without changing what it says.")


@podium.workflow
async def chain(run: podium.Run, request: str) -> str:
    """Run three agents one after the other; each reads the result of the one before."""
    notes = await run.ask(researcher, "research", prompt="Collect notes on: {{ topic }}", topic=request)
    draft = await run.ask(
        writer, "draft", prompt="Write an article from these notes:\n{{ notes }}", notes=notes
    )
    article = await run.ask(editor, "polish", prompt="Polish this article:\n{{ draft }}", draft=draft)
    await run.artifact("article.md", article, "text/markdown")
    return article
