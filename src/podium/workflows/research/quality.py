"""Quality workers. Programs find what they can; only facts and language are left to models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from podium.agents.agent import Agent
from podium.brain.vocabulary import word_set
from podium.engine.process import offload
from podium.workflows.research.agents import agent_of
from podium.workflows.research.context import Checked, Study, WorkerOutput
from podium.workflows.research.contracts import (
    Check,
    Claim,
    Contradiction,
    Edit,
    FactCheck,
    FoundContradiction,
    Passage,
    PointCheck,
)
from podium.workflows.research.lookup import LOOKUPS, TURNS, source_tools
from podium.workflows.research.measures.citations import (
    check_citations,
    cited_by_name,
    cited_ids,
    only_known,
    split_claims,
)
from podium.workflows.research.measures.differences import stems
from podium.workflows.research.measures.quotes import locate, overlap, parts_of
from podium.workflows.research.measures.structure import readability, seo
from podium.workflows.research.measures.support import (
    find_support,
    missing_support,
    own_passage,
    supporting_span,
)
from podium.workflows.research.measures.text import count_words
from podium.workflows.research.writer import clean_draft, revised, unwrapped, value_of

AT_A_TIME = 60
"""Maximum claims in one call of the fact checker."""
LEAST_KEPT = 0.6
"""Minimum share of the words and of the cited sources that an edit must keep to be accepted."""
COPIED = 0.25
"""Share of copied words from which a warning is added."""


# ── facts ────────────────────────────────────────────────────────────────────────────────────────


async def check_facts(study: Study, worker: str, *, cheaper: bool) -> WorkerOutput:
    """Check the claims of the draft."""
    checked = await facts_of(study, clean_draft(study)[0], agent_of(worker, cheaper=cheaper))
    counts = {name: sum(claim.verdict == name for claim in checked.claims) for name in VERDICTS}
    result: dict[str, Any] = {"claims": len(checked.claims), **counts}
    result |= {"unsupported": checked.unsupported} if checked.unsupported else {}
    return WorkerOutput(worker, checked, result={**result, "contradictions": len(checked.contradictions)})


async def facts_of(
    study: Study,
    article: str,
    agent: Agent,
    points: Sequence[str] | None = None,
    known: Checked | None = None,
) -> Checked:
    """Link every claim to the passage that supports it. A quotation that does not occur in its source is
    ignored, whatever the model says. Many claims are checked in several parts in parallel.

    `points` are also searched for in the sources; by default the study's checklist. If a program cannot
    confirm what the checker verified, a `known` verdict is used. A first check may look things up in the
    whole sources, unless the prompt shows them.
    """
    claims = claims_in(article, cited_only=known is not None and known.cited_only)
    labels = {row.text: row.labelled for row in split_claims(article) if row.labelled}
    points = study.checklist if points is None else points
    parts = in_parts(claims, AT_A_TIME)
    if known is None and not study.shows_all:
        agent = replace(agent, tools=source_tools(study), max_tool_calls=LOOKUPS, max_turns=TURNS)
    if len(parts) == 1:
        answers = [await _check(study, agent, claims, labels, points)]
    else:
        outcomes = await study.run.gather(
            {
                f"part-{nth}": _check(study, agent, part, labels, points if nth == 1 else None)
                for nth, part in enumerate(parts, 1)
            }
        )
        answers = [outcome.unwrap() for outcome in outcomes.values()]
    checks = {check.claim_id: check for answer in answers for check in answer.checks}
    titles, before = study.contexts, {claim.text: claim for claim in known.claims} if known else {}
    return Checked(
        [_tied_or_known(claim, checks.get(claim.id), study.texts, titles, before) for claim in claims],
        contradictions_in(
            [contradiction for answer in answers for contradiction in answer.contradictions], study.texts
        ),
        uncovered(list(points), [point for answer in answers for point in answer.points], study.texts),
    )


def in_parts(claims: list[Claim], most: int) -> list[list[Claim]]:
    """Split claims into parts of nearly equal size."""
    size = -(-len(claims) // max(-(-len(claims) // most), 1)) or 1
    return [claims[at : at + size] for at in range(0, len(claims), size)] or [[]]


def _tied_or_known(
    claim: Claim,
    check: Check | None,
    texts: Mapping[str, str],
    titles: Mapping[str, str],
    known: Mapping[str, Claim],
) -> Claim:
    """Return the checked on a claim, with the known one as fallback. A claim that the checker did not confirm
    stays unverified."""
    checked = tied(claim, check, texts, titles)
    before = known.get(claim.text)
    if checked.verdict != "unverified" or before is None or before.verdict != "verified":
        return checked
    confirmed = check is None or check.verdict == "verified"
    return before.model_copy(update={"id": claim.id}) if confirmed else checked


async def _check(
    study: Study,
    agent: Agent,
    claims: list[Claim],
    labels: Mapping[str, str],
    points: Sequence[str] | None,
) -> FactCheck:
    """Check one part: with all sources if points and contradictions are wanted, otherwise with the cited
    ones. `labels` are table rows with their column headings, which the checker sees instead of the text."""
    cited = None if points is not None else {source for claim in claims for source in claim.source_ids}
    texts = [labels.get(claim.text, claim.text) for claim in claims]
    return await study.run.ask(
        agent,
        "fact_check",
        returns=FactCheck,
        topic=study.brief.topic,
        sources=study.fenced(texts, cited),
        claims=[{**claim.shown(), "text": text} for claim, text in zip(claims, texts, strict=True)],
        points=list(points or ()),
        lookups=agent.max_tool_calls if agent.tools else 0,
    )


VERDICTS = ("verified", "unverified", "contradicted")


def claims_in(markdown: str, *, cited_only: bool = False) -> list[Claim]:
    sentences = [sentence for sentence in split_claims(markdown) if sentence.source_ids or not cited_only]
    return [
        Claim(id=f"c{nth}", text=sentence.text, source_ids=list(sentence.source_ids))
        for nth, sentence in enumerate(sentences, 1)
    ]


def tied(
    claim: Claim, check: Check | None, texts: Mapping[str, str], titles: Mapping[str, str] | None = None
) -> Claim:
    """Return the verdict that a program can confirm, and the shortest passage that supports the claim."""
    if check is None:
        return claim.model_copy(update={"reason": "The fact checker gave no verdict on it."})
    if check.verdict == "unverified":
        return claim.model_copy(update={"reason": check.reason})
    places = _places(check, texts)
    if not places:
        return claim.model_copy(update={"reason": "The quoted passage does not occur in the source."})
    source, place = places[0]
    text = texts[source]
    if check.verdict == "contradicted":
        return claim.model_copy(
            update={**_quoted(source, text, place, check.reason), "verdict": "contradicted"}
        )
    title = (titles or {}).get(source, "")
    span = supporting_span(claim.text, text, *place, title) if len(places) == 1 else None
    if span is None:
        together = "\n".join(own_passage(texts[other], *where) for other, where in places)
        reason = missing_support(claim.text, together, title, text=text, read=True)
        if reason or len(places) == 1:
            reason = reason or "The sentences around the quoted passage say something else."
            return claim.model_copy(update=_quoted(source, text, place, reason))
    update = _quoted(source, text, span or place, check.reason)
    update["also"] = [
        Passage(source_id=other, quote=texts[other][slice(*where)], start=where[0], end=where[1])
        for other, where in places[1:]
    ]
    uncited = [other for other, _ in places if other not in claim.source_ids]
    if uncited:
        return claim.model_copy(update={**update, "reason": f"It is in {uncited[0]}, which is not cited."})
    return claim.model_copy(update={**update, "verdict": "verified"})


def _places(check: Check, texts: Mapping[str, str]) -> list[tuple[str, tuple[int, int]]]:
    """Return source and span of each passage of a check. Parts of a quotation with `…` may be far apart; if
    one is missing, the result is empty."""
    places: list[tuple[str, tuple[int, int]]] = []
    named = [(check.source_id, check.quote), *((passage.source_id, passage.quote) for passage in check.also)]
    for source, quote in named:
        text = texts.get(source, "")
        whole = locate(quote, text) if quote.strip() else None
        parts = [whole] if whole else [locate(part, text) for part in parts_of(quote)]
        if not parts or None in parts:
            return []
        places += [(source, place) for place in parts if place is not None]
    return places


def _quoted(source: str, text: str, place: tuple[int, int], reason: str) -> dict[str, Any]:
    start, end = place
    quote = text[start:end]
    return {"quote": quote, "quote_source": source, "start": start, "end": end, "reason": reason}


def uncovered(points: list[str], checks: list[PointCheck], texts: Mapping[str, str]) -> list[str]:
    """Return the points for which the fact checker names no passage that occurs in a source. A point that it
    does not mention is unknown and not included."""
    names = {f"p{nth}": point for nth, point in enumerate(points, 1)}
    answers = {check.point_id: check for check in checks if check.point_id in names}
    return [
        names[key]
        for key, check in answers.items()
        if not check.quote.strip() or locate(check.quote, texts.get(check.source_id, "")) is None
    ]


def contradictions_in(reported: list[FoundContradiction], texts: dict[str, str]) -> list[Contradiction]:
    """Return the contradictions whose two passages actually occur in two sources."""
    confirmed: dict[tuple[str, int, str, int], Contradiction] = {}
    for contradiction in reported:
        passages: list[Passage] = []
        for side in (contradiction.first, contradiction.second):
            place = locate(side.quote, texts.get(side.source_id, "")) if side.quote.strip() else None
            if place is not None:
                quote = texts[side.source_id][place[0] : place[1]]
                passages.append(Passage(source_id=side.source_id, quote=quote, start=place[0], end=place[1]))
        if len(passages) == 2 and passages[0].source_id != passages[1].source_id:
            first, second = sorted(passages, key=lambda side: (int(side.source_id[1:]), side.start))
            key = first.source_id, first.start, second.source_id, second.start
            confirmed.setdefault(
                key, Contradiction(about=contradiction.about.strip(), passages=[first, second])
            )
    return list(confirmed.values())


def looked_up(claim: Claim, texts: Mapping[str, str], titles: Mapping[str, str]) -> Claim:
    """Link a claim to a passage of a cited source, by program alone."""
    for source in claim.source_ids:
        text = texts.get(source, "")
        place = find_support(claim.text, text, titles.get(source, ""))
        if place is not None:
            quoted = _quoted(source, text, place, "A program found the passage.")
            return claim.model_copy(update={**quoted, "verdict": "verified"})
    return claim


def checked_again(study: Study, checked: Checked | None, article: str) -> Checked | None:
    """Verify the claims of an edited article: keep verdicts of nearly unchanged claims, and check the others
    by program."""
    if checked is None:
        return None
    carried, names = carried_over(checked, article), study.contexts
    claims = [
        looked_up(claim, study.texts, names) if claim.reason == CHANGED else claim for claim in carried.claims
    ]
    return replace(carried, claims=claims)


def carried_over(checked: Checked, markdown: str) -> Checked:
    """Transfer the verdicts to the edited article. A changed sentence keeps its verdict if it still says
    nearly the same and cites the same; so does one made of two consecutive sentences. Otherwise it is
    unchecked."""
    same = {old.text: old for old in checked.claims}
    every = [*checked.claims, *(_joined(*two) for two in pairwise(checked.claims))]
    claims: list[Claim] = []
    for claim in claims_in(markdown, cited_only=checked.cited_only):
        likely = [same[claim.text]] if claim.text in same else every
        before = max(likely, key=lambda old: _alike(old, claim), default=None)
        if before is not None and _alike(before, claim) >= ALIKE:
            now = {"id": claim.id, "text": claim.text, "source_ids": claim.source_ids}
            claims.append(before.model_copy(update=now))
        else:
            claims.append(claim.model_copy(update={"reason": CHANGED}))
    return replace(checked, claims=claims)


def _joined(first: Claim, second: Claim) -> Claim:
    """Join two claims into one sentence, which is verified only if both are."""
    verdict = first.verdict if first.verdict == second.verdict else "unverified"
    also = [*first.also, *second.passages]
    text, reason = f"{first.text} {second.text}", first.reason or second.reason
    return first.model_copy(update={"text": text, "verdict": verdict, "also": also, "reason": reason})


SAME_WORDS = 0.9
"""Minimum share of a changed sentence's content words that the original must contain."""
ALIKE = 0.75
CHANGED = "The editor changed it after it was checked."


def _alike(old: Claim, new: Claim) -> float:
    rests = (
        {old.quote_source, *(passage.source_id for passage in old.also)} if old.quote_source else set[str]()
    )
    if old.verdict == "verified" and not rests <= set(new.source_ids):
        return 0.0
    if old.text == new.text:
        return 1.0
    if missing_support(new.text, old.text) or not _keeps_limits(old, new):  # other figures, names, negations
        return 0.0
    needed = stems(new.text)
    if needed and len(needed & stems(old.text)) / len(needed) >= SAME_WORDS:
        return SAME_WORDS
    first, second = set(old.text.lower().split()), set(new.text.lower().split())
    return len(first & second) / len(first | second) if first | second else 0.0


_LIMITS = word_set("only may might could must should unless except some most all often rarely usually")


def _keeps_limits(old: Claim, new: Claim) -> bool:
    """True if a changed sentence has exactly the limiting words of the original."""
    first, second = (set(claim.text.lower().replace(",", " ").split()) & _LIMITS for claim in (old, new))
    return first == second


# ── language ─────────────────────────────────────────────────────────────────────────────────────


async def edit(study: Study, worker: str, *, cheaper: bool) -> WorkerOutput:
    """Edit the article's language. An edit that lost too much is discarded, but its grade is used."""
    (draft, _), again = clean_draft(study), revised(study)
    reply = await study.run.ask(
        agent_of(worker, cheaper=cheaper, words=study.brief.length),
        "edit",
        returns=Edit,
        topic=study.brief.topic,
        tone=study.brief.tone,
        length=study.brief.length,
        feedback=list(study.feedback),
        draft=study.sealed(draft, "the article"),
        last=again["last"],
        failed=again["failed"],
    )
    words, cited = count_words(draft), cited_ids(draft)
    known = only_known(unwrapped(reply.article), study.sources)
    remaining = [source_id for source_id in cited_ids(known.markdown) if source_id in cited]
    fits = count_words(known.markdown) >= words * LEAST_KEPT and len(remaining) >= len(cited) * LEAST_KEPT
    value = reply.model_copy(update={"article": known.markdown if fits else ""})
    result = {"grammar": reply.grammar, "changes": reply.changes, "taken": fits}
    return WorkerOutput(worker, value, result={**result, "removed": list(known.removed)})


def article_of(study: Study) -> str:
    """Return the current article: the edited one if it was accepted, otherwise the draft."""
    edited = value_of(study, "editor", Edit)
    return edited.article if edited and edited.article else clean_draft(study)[0]


# ── checks by program ────────────────────────────────────────────────────────────────────────────


async def format_citations(study: Study, worker: str) -> WorkerOutput:
    """Find citations of sources that do not exist, sources without a citation, and sentences without one."""
    draft, removed = clean_draft(study)
    check = check_citations(draft, study.sources)
    result = {
        "quality": check.accuracy,
        "orphans": list(check.orphans),
        "missing": list(check.missing)[:20],
        "errors": removed,
        "by_name": cited_by_name(draft),
    }
    return WorkerOutput(worker, result, result=result)


async def optimize_seo(study: Study, worker: str) -> WorkerOutput:
    measured = seo(clean_draft(study)[0], study.brief.topic)
    result = {"score": measured.score, "findings": list(measured.findings)}
    return WorkerOutput(worker, result, result=result)


async def check_readability(study: Study, worker: str) -> WorkerOutput:
    measured = readability(clean_draft(study)[0])
    result = {"flesch": measured.flesch, "grade": measured.grade, "score": measured.score}
    return WorkerOutput(worker, result, result=result)


async def check_plagiarism(study: Study, worker: str) -> WorkerOutput:
    measured = await offload(overlap, clean_draft(study)[0], study.texts)
    passages = [
        {"text": passage.text[:300], "source_id": passage.source_id} for passage in measured.passages[:20]
    ]
    result = {"share": measured.share, "passages": passages, "copied": measured.share >= COPIED}
    return WorkerOutput(worker, result, result=result)
