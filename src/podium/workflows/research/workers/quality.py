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
from podium.workflows.research.workers.writing import clean_draft, revised, unwrapped, value_of

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
    counts = {name: sum(one.verdict == name for one in checked.claims) for name in VERDICTS}
    told: dict[str, Any] = {"claims": len(checked.claims), **counts}
    told |= {"unsupported": checked.unsupported} if checked.unsupported else {}
    return WorkerOutput(worker, checked, result={**told, "contradictions": len(checked.contradictions)})


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
    confirm what the checker verified, a `known` verdict is used.
    """
    claims = claims_in(article, cited_only=known is not None and known.cited_only)
    points = study.checklist if points is None else points
    parts = in_parts(claims, AT_A_TIME)
    if len(parts) == 1:
        answers = [await _check(study, agent, claims, points)]
    else:
        outcomes = await study.run.gather(
            {
                f"part-{nth}": _check(study, agent, part, points if nth == 1 else None)
                for nth, part in enumerate(parts, 1)
            }
        )
        answers = [outcome.unwrap() for outcome in outcomes.values()]
    checks = {one.claim_id: one for answer in answers for one in answer.checks}
    titles, before = study.contexts, {one.text: one for one in known.claims} if known else {}
    return Checked(
        [_tied_or_known(one, checks.get(one.id), study.texts, titles, before) for one in claims],
        contradictions_in([one for answer in answers for one in answer.contradictions], study.texts),
        uncovered(list(points), [one for answer in answers for one in answer.points], study.texts),
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
    """Return the verdict on a claim, with the known one as fallback. A claim that the checker did not confirm
    stays unverified."""
    found = tied(claim, check, texts, titles)
    before = known.get(claim.text)
    if found.verdict != "unverified" or before is None or before.verdict != "verified":
        return found
    confirmed = check is None or check.verdict == "verified"
    return before.model_copy(update={"id": claim.id}) if confirmed else found


async def _check(study: Study, agent: Agent, claims: list[Claim], points: Sequence[str] | None) -> FactCheck:
    """Check one part: with all sources if points and contradictions are wanted, otherwise with the cited
    ones."""
    cited = None if points is not None else {source for one in claims for source in one.source_ids}
    return await study.run.ask(
        agent, "fact_check", returns=FactCheck, topic=study.brief.topic,
        sources=study.fenced((one.text for one in claims), cited), claims=[one.shown() for one in claims],
        points=list(points or ()),
    )  # fmt: skip


VERDICTS = ("verified", "unverified", "contradicted")


def claims_in(markdown: str, *, cited_only: bool = False) -> list[Claim]:
    found = [one for one in split_claims(markdown) if one.source_ids or not cited_only]
    return [
        Claim(id=f"c{nth}", text=one.text, source_ids=list(one.source_ids))
        for nth, one in enumerate(found, 1)
    ]


def tied(
    claim: Claim, check: Check | None, texts: Mapping[str, str], titles: Mapping[str, str] | None = None
) -> Claim:
    """Return the verdict that a program can confirm, and the shortest passage that supports the claim."""
    if check is None:
        return claim.model_copy(update={"reason": "The fact checker said nothing about it."})
    if check.verdict == "unverified":
        return claim.model_copy(update={"reason": check.reason})
    places = _places(check, texts)
    if not places:
        return claim.model_copy(update={"reason": "The passage that was named does not stand in the source."})
    source, place = places[0]
    text = texts[source]
    if check.verdict == "contradicted":
        return claim.model_copy(update={**_quoted(check, text, place), "verdict": "contradicted"})
    title = (titles or {}).get(source, "")
    span = supporting_span(claim.text, text, *place, title) if len(places) == 1 else None
    if span is None:
        together = "\n".join(own_passage(texts[one], *where) for one, where in places)
        reason = missing_support(claim.text, together, title, text=text, read=True)
        if reason or len(places) == 1:
            reason = reason or "The sentences around the quoted passage say something else."
            return claim.model_copy(update={**_quoted(check, text, place), "reason": reason})
    found = _quoted(check, text, span or place)
    found["also"] = [
        Passage(source_id=one, quote=texts[one][slice(*where)], start=where[0], end=where[1])
        for one, where in places[1:]
    ]
    uncited = [one for one, _ in places if one not in claim.source_ids]
    if uncited:
        return claim.model_copy(update={**found, "reason": f"It stands in {uncited[0]}, which is not cited."})
    return claim.model_copy(update={**found, "verdict": "verified"})


def _places(check: Check, texts: Mapping[str, str]) -> list[tuple[str, tuple[int, int]]]:
    """Return source and span of each passage of a check. Parts of a quotation with `…` may be far apart; if
    one is missing, the result is empty."""
    found: list[tuple[str, tuple[int, int]]] = []
    named = [(check.source_id, check.quote), *((one.source_id, one.quote) for one in check.also)]
    for source, quote in named:
        text = texts.get(source, "")
        whole = locate(quote, text) if quote.strip() else None
        parts = [whole] if whole else [locate(one, text) for one in parts_of(quote)]
        if not parts or None in parts:
            return []
        found += [(source, place) for place in parts if place is not None]
    return found


def _quoted(check: Check, text: str, place: tuple[int, int]) -> dict[str, Any]:
    start, end = place
    return {
        "quote": text[start:end], "quote_source": check.source_id, "start": start, "end": end,
        "reason": check.reason,
    }  # fmt: skip


def uncovered(points: list[str], checks: list[PointCheck], texts: Mapping[str, str]) -> list[str]:
    """Return the points for which the fact checker names no passage that occurs in a source. A point that it
    does not mention is unknown and not included."""
    names = {f"p{nth}": point for nth, point in enumerate(points, 1)}
    said = {one.point_id: one for one in checks if one.point_id in names}
    return [
        names[key]
        for key, one in said.items()
        if not one.quote.strip() or locate(one.quote, texts.get(one.source_id, "")) is None
    ]


def contradictions_in(found: list[FoundContradiction], texts: dict[str, str]) -> list[Contradiction]:
    """Return the contradictions whose two passages actually occur in two sources."""
    kept: dict[tuple[str, int, str, int], Contradiction] = {}
    for one in found:
        passages: list[Passage] = []
        for side in (one.first, one.second):
            place = locate(side.quote, texts.get(side.source_id, "")) if side.quote.strip() else None
            if place is not None:
                quote = texts[side.source_id][place[0] : place[1]]
                passages.append(Passage(source_id=side.source_id, quote=quote, start=place[0], end=place[1]))
        if len(passages) == 2 and passages[0].source_id != passages[1].source_id:
            first, second = sorted(passages, key=lambda side: (int(side.source_id[1:]), side.start))
            key = first.source_id, first.start, second.source_id, second.start
            kept.setdefault(key, Contradiction(about=one.about.strip(), passages=[first, second]))
    return list(kept.values())


def looked_up(claim: Claim, texts: Mapping[str, str], titles: Mapping[str, str]) -> Claim:
    """Link a claim to a passage of a cited source, by program alone."""
    for source in claim.source_ids:
        text = texts.get(source, "")
        place = find_support(claim.text, text, titles.get(source, ""))
        if place is not None:
            found = {
                "quote": text[place[0] : place[1]], "quote_source": source, "start": place[0],
                "end": place[1], "reason": "A program found the passage.", "verdict": "verified",
            }  # fmt: skip
            return claim.model_copy(update=found)
    return claim


def checked_again(study: Study, checked: Checked | None, article: str) -> Checked | None:
    """Verify the claims of an edited article: keep verdicts of nearly unchanged claims, and check the others
    by program."""
    if checked is None:
        return None
    carried, names = carried_over(checked, article), study.contexts
    claims = [looked_up(one, study.texts, names) if one.reason == CHANGED else one for one in carried.claims]
    return replace(carried, claims=claims)


def carried_over(checked: Checked, markdown: str) -> Checked:
    """Transfer the verdicts to the edited article. A changed sentence keeps its verdict if it still says
    nearly the same and cites the same; so does one made of two consecutive sentences. Otherwise it is
    unchecked."""
    same = {old.text: old for old in checked.claims}
    every = [*checked.claims, *(_joined(*two) for two in pairwise(checked.claims))]
    claims: list[Claim] = []
    for one in claims_in(markdown, cited_only=checked.cited_only):
        likely = [same[one.text]] if one.text in same else every
        before = max(likely, key=lambda old: _alike(old, one), default=None)
        if before is not None and _alike(before, one) >= ALIKE:
            now = {"id": one.id, "text": one.text, "source_ids": one.source_ids}
            claims.append(before.model_copy(update=now))
        else:
            claims.append(one.model_copy(update={"reason": CHANGED}))
    return replace(checked, claims=claims)


def _joined(first: Claim, second: Claim) -> Claim:
    """Join two claims into one sentence, which is verified only if both are."""
    verdict = first.verdict if first.verdict == second.verdict else "unverified"
    other = Passage(source_id=second.quote_source, quote=second.quote, start=second.start, end=second.end)
    also = [*first.also, *([other] if second.quote else []), *second.also]
    text, reason = f"{first.text} {second.text}", first.reason or second.reason
    return first.model_copy(update={"text": text, "verdict": verdict, "also": also, "reason": reason})


SAME_WORDS = 0.9
"""Minimum share of a changed sentence's content words that the original must contain."""
ALIKE = 0.75
CHANGED = "The editor changed it after it was checked."


def _alike(old: Claim, new: Claim) -> float:
    rests = {old.quote_source, *(one.source_id for one in old.also)} if old.quote_source else set[str]()
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
    first, second = (set(one.text.lower().replace(",", " ").split()) & _LIMITS for one in (old, new))
    return first == second


# ── language ─────────────────────────────────────────────────────────────────────────────────────


async def edit(study: Study, worker: str, *, cheaper: bool) -> WorkerOutput:
    """Edit the article's language. An edit that lost too much is discarded, but its grade is used."""
    (draft, _), again = clean_draft(study), revised(study)
    found = await study.run.ask(
        agent_of(worker, cheaper=cheaper, words=study.brief.length), "edit", returns=Edit,
        topic=study.brief.topic, tone=study.brief.tone, length=study.brief.length,
        feedback=list(study.feedback), draft=study.sealed(draft, "the article"), last=again["last"],
        failed=again["failed"],
    )  # fmt: skip
    words, cited = count_words(draft), cited_ids(draft)
    known = only_known(unwrapped(found.article), study.sources)
    left = [one for one in cited_ids(known.markdown) if one in cited]
    fits = count_words(known.markdown) >= words * LEAST_KEPT and len(left) >= len(cited) * LEAST_KEPT
    value = found.model_copy(update={"article": known.markdown if fits else ""})
    told = {"grammar": found.grammar, "changes": found.changes, "taken": fits}
    return WorkerOutput(worker, value, result={**told, "removed": list(known.removed)})


def article_of(study: Study) -> str:
    """Return the current article: the edited one if it was accepted, otherwise the draft."""
    edited = value_of(study, "editor", Edit)
    return edited.article if edited and edited.article else clean_draft(study)[0]


# ── checks by program ────────────────────────────────────────────────────────────────────────────


async def format_citations(study: Study, worker: str) -> WorkerOutput:
    """Find citations of sources that do not exist, sources without a citation, and sentences without one."""
    draft, removed = clean_draft(study)
    check = check_citations(draft, study.sources)
    told = {
        "quality": check.accuracy, "orphans": list(check.orphans), "missing": list(check.missing)[:20],
        "errors": removed, "by_name": cited_by_name(draft),
    }  # fmt: skip
    return WorkerOutput(worker, told, result=told)


async def optimize_seo(study: Study, worker: str) -> WorkerOutput:
    found = seo(clean_draft(study)[0], study.brief.topic)
    told = {"score": found.score, "findings": list(found.findings)}
    return WorkerOutput(worker, told, result=told)


async def check_readability(study: Study, worker: str) -> WorkerOutput:
    found = readability(clean_draft(study)[0])
    told = {"flesch": found.flesch, "grade": found.grade, "score": found.score}
    return WorkerOutput(worker, told, result=told)


async def check_plagiarism(study: Study, worker: str) -> WorkerOutput:
    found = await offload(overlap, clean_draft(study)[0], study.texts)
    passages = [{"text": one.text[:300], "source_id": one.source_id} for one in found.passages[:20]]
    told = {"share": found.share, "passages": passages, "copied": found.share >= COPIED}
    return WorkerOutput(worker, told, result=told)
