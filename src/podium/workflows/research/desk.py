"""Direct draft, final editor and blind comparison of a research run.

The draft has no sources, so it never becomes the article: its points are a checklist, and its text is a
reference for the comparison and another version for the editor. Citations that the editor adds are checked
again; a citation that does not hold is removed. With `sources_only` the editor may state only what a passage
says, and does not see the draft.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain

from podium.engine.process import offload
from podium.errors import StepFailedError
from podium.workflows.delivery.contracts import Delivered
from podium.workflows.delivery.events import summary_of
from podium.workflows.delivery.flow import Desk, affordable, deliver
from podium.workflows.research.agents import agent_of
from podium.workflows.research.article import content_of
from podium.workflows.research.context import Checked, Study, Version, WorkerOutput
from podium.workflows.research.contracts import Claim, Edit
from podium.workflows.research.library import SearchAnswer
from podium.workflows.research.measures.citations import (
    UNSOURCED,
    cited_ids,
    illustrations_in,
    marks_of,
    only_known,
    split_claims,
    with_marks_inside,
)
from podium.workflows.research.measures.markup import CITATION, prose_of
from podium.workflows.research.measures.text import count_words, sentences_in, stems_of
from podium.workflows.research.merger import best_version
from podium.workflows.research.policy import SEARCHES, Decision, decide, target_of
from podium.workflows.research.quality import (
    CHANGED,
    LEAST_KEPT,
    carried_over,
    check_facts,
    checked_again,
    claims_in,
    facts_of,
    looked_up,
)
from podium.workflows.research.report_data import against
from podium.workflows.research.search import POINT_RESULTS, scrape, shelve, take_texts
from podium.workflows.research.supervisor import judge, measure, score
from podium.workflows.research.writer import clean_draft, write_article

SOURCES_ONLY = (
    "The passages of the sources above are the only ground. Every statement that you add or change says what "
    "a passage says, in words close to it, and ends with the marker of that source, such as [@s3]. A program "
    "looks it up and takes back a change that no passage supports, so give each statement a change of its "
    "own where you can. Keep every marker at its sentence, and cite in no other way: no list of references, "
    "it is added later. Reword or cut what the fact checker could not confirm. What the sources do not say "
    "is left out; where the reader needs to know that, one short sentence says so."
)
LEAST_EVIDENCE = 0.35
"""Minimum share of the verified statements that an edit must keep: it may cut, but not remove the sources."""
RULE = (
    "Make it the best answer to the question that there is, and let the reader see what the sources support. "
    "Where the other version answers more fully or more clearly, take its order, tables, examples and code "
    "as they are, and put the team's evidence into them. Every statement that a passage above supports "
    "ends with the marker of that source, such as [@s3]: keep the markers that are there, and set one also "
    "where a passage says what the other version says in its own words. Where a passage contradicts the "
    "other version, the passage counts. What the question needs and no passage says is stated as "
    f"well, in its place; such a sentence ends with {UNSOURCED} instead of a marker (as in: Most shops ask "
    f"for a receipt {UNSOURCED}.), also in a list or in a table's cell; code needs none. One sentence or "
    "cell holds either what a source says or what none says. A fact checker looks up what you cite. Write no "
    "sentence about the sources or what they do not say, no web address outside code, and no list of "
    f"references: it is added later. The marks {UNSOURCED} are taken out before the reader sees the text; "
    f"instead, the very last line of the article is {UNSOURCED} and one sentence in the article's language "
    "that says: what has no citation is general knowledge or could not be confirmed in the sources."
)
JUDGED_BY = (
    "Sources that can be followed count: of two texts that say the same, the one whose statements name their "
    "sources is better under `correct` and `usable`. Sources do not make up for an answer that is missing."
)
NOT_COVERED = (
    "The sources do not say, tell, mention or cover what is said about it; nothing about it is known."
)
"""Words of a sentence that says what the sources leave open."""
LONG = 8
"""Minimum words of a new sentence without a citation that must repeat what the article says."""
REPEATED = 0.6
"""Share of such a sentence's content words that the article must contain."""


def desk_of(study: Study, *, floor: bool, editor: bool) -> Desk | None:
    """Return the task description for drafter, editor and judges, or None if none of them is wanted."""
    if not (floor or editor):
        return None
    brief = study.brief
    kind = brief.content_type.replace("_", " ")
    article = "An" if kind[0] in "aeiou" else "A"
    return Desk(
        study.run,
        brief.topic,
        form=f"{article} {kind} of about {brief.length} words. Tone: {brief.tone}.",
        rule=SOURCES_ONLY if study.sources_only else RULE,
        judged_by=JUDGED_BY,
        floor=floor,
        editor=editor,
        rewrites=not study.sources_only,
        shows_draft=not study.sources_only,
        seal=study.sealed,
        rendered=lambda text: content_of(text, study.sources, brief.citation_style),
        noted=study.note,
    )


async def hand_over(study: Study) -> None:
    """Let the editor finish the best version, and compare it with the direct draft."""
    version = best_version(study)
    if study.desk is None or version is None or not version.article.strip():
        return
    study.final, study.made = version, dict(version.made)
    material, gaps = material_of(study, version), list(version.quality.missing)

    async def revise(remarks: list[str]) -> str:
        study.final = new = await _revised(study, study.final or version, remarks)
        material[:], gaps[:] = material_of(study, new), []
        return new.article

    def accept(before: str, after: str) -> str:
        return objection(study, study.final or version, after)

    async def mark(text: str) -> str:
        before = study.final or version
        text = with_marks_inside(only_known(text, study.sources).markdown)
        checked = await _facts_after(study, before, text)
        new = marked(text, checked) if keeps_evidence(before, checked) else None
        if new is None:
            study.warn("The editor's version lost too much of its evidence; the version before is kept.")
            return before.article
        study.final = replace(before, checked=checked)
        return new

    strict = study.sources_only
    delivered = await deliver(
        study.desk,
        version.article,
        study.draft,
        material=material,
        gaps=gaps,
        revise=revise,
        accept=accept if strict else None,
        settle=None if strict else mark,
        replace=False,
    )
    study.final = await _judged_again(study, version, _finished(study, study.final or version, delivered))
    study.edited, study.comparison = delivered.checked, delivered.shown()
    if delivered.edited is not None:
        study.notes.append(f"Final editor: {summary_of(delivered.edited)}.")


async def _facts_after(study: Study, version: Version, text: str) -> Checked | None:
    """Return the claims of an edited article, checked by the fact checker. If the budget does not allow that,
    or no claim is open, they are only compared by program."""
    if version.checked is None:
        return None
    known = await offload(checked_again, study, replace(version.checked, cited_only=True), text)
    if known is None or all(claim.verdict == "verified" for claim in known.claims):
        return known
    agent = agent_of("fact_checker")
    if not await affordable(study.run, agent, text, *study.fenced(claim.text for claim in known.claims)):
        study.warn("What the editor changed was compared with the sources only by a program.")
        return known
    try:
        checked = await facts_of(study, text, agent, points=[], known=known)
    except StepFailedError as error:
        study.warn(f"What the editor changed was compared with the sources only by a program: {error.reason}")
        return known
    for claim in checked.claims:
        if claim.verdict == "contradicted":
            study.warn(f"A source contradicts what the article says: “{_short(claim)}”")
    return replace(checked, unsupported=known.unsupported, cited_only=True)


def keeps_evidence(version: Version, checked: Checked | None) -> bool:
    """True if an edit kept enough of the verified statements."""
    if checked is None:
        return True
    return version.checked is None or checked.verified >= LEAST_EVIDENCE * version.checked.verified


def marked(text: str, checked: Checked | None) -> str:
    """Return an edited article in which only statements that a passage supports or contradicts have a
    citation. A statement whose citation does not hold is marked as general knowledge instead."""
    marks = marks_of(text)
    if checked is None or len(marks) != len(CITATION.findall(text)):
        return text
    supported = {claim.text for claim in checked.claims if claim.verdict != "unverified"}
    places = iter(marks)
    text = re.sub(
        rf"[ \t]*(?:{CITATION.pattern})",
        lambda match: match[0] if next(places).sentence in supported else UNSOURCED,
        text,
    )
    return re.sub(rf"{UNSOURCED}(?:[ \t]*{UNSOURCED})+", UNSOURCED, text)


def _finished(study: Study, version: Version, delivered: Delivered) -> Version:
    """Return the version after the editor's pass, with its claims checked and its quality measured again."""
    missing = list(delivered.missing) if delivered.checked else version.quality.missing
    if delivered.document == version.article:
        return replace(version, quality=version.quality.model_copy(update={"missing": missing}))
    return measured_again(study, version, delivered.document, missing)


async def _judged_again(study: Study, before: Version, final: Version) -> Version:
    """Return the final version with its coverage and tone judged again, if it differs from the version before
    and that one covered too little, or the editor names gaps."""
    enough = before.judged and before.judged.coverage >= target_of("coverage", study.brief.min_quality)
    if before.judged is None or final.article == before.article or (enough and not final.quality.missing):
        return final
    judged = await judge(study, final.article)
    if judged is None:
        return final
    measured = measure(study, final.article, final.checked, judged)
    return replace(final, quality=score(study, measured, final.quality.missing), judged=judged)


def measured_again(study: Study, version: Version, article: str, missing: list[str]) -> Version:
    """Return an edited article with the verdicts that still hold and its quality. Coverage and tone are those
    of the judged version."""
    checked = checked_again(study, version.checked, article)
    quality = score(study, measure(study, article, checked, version.judged), missing)
    return replace(version, article=article, checked=checked, quality=quality)


# ── material and objections for the editor ───────────────────────────────────────────────────────


def material_of(study: Study, version: Version) -> list[tuple[str, str]]:
    """Return the material for the editor: unconfirmed claims and uncovered points, then the passages, those
    of cited sources first, under the article's ids."""
    claims = claims_in(version.article)
    cited = cited_ids(version.article)
    shown = study.passages([claim.text for claim in claims])
    order = {f"source {source_id}": nth for nth, source_id in enumerate(cited)}
    passages = sorted(shown, key=lambda named: order.get(named[0], len(order)))
    lists = {
        "What the fact checker could not confirm": [
            f"{claim.text} ({claim.reason or 'not confirmed'})" for claim in version.doubtful
        ],
        "Points that the sources do not cover": version.unsupported,
    }
    shown_lists = [
        (title, "\n".join(f"- {line}" for line in lines)) for title, lines in lists.items() if lines
    ]
    return [*shown_lists, *passages]


def objection(study: Study, version: Version, after: str) -> str:
    """Return the reason why an edited article does not replace a version, or an empty string."""
    known = only_known(after, study.sources)
    if known.removed:
        return f"{known.removed[0]}."
    before = version.article
    words, cited = count_words(before), cited_ids(before)
    kept_ids = [source_id for source_id in cited_ids(after) if source_id in cited]
    if count_words(after) < words * LEAST_KEPT or len(kept_ids) < len(cited) * LEAST_KEPT:
        return "Too many of its words or sources would be lost."
    why = _unfounded(study, version, after) or _uncited(version, after)
    return why or _falls(study, version, after)


def _unfounded(study: Study, version: Version, after: str) -> str:
    """Return the objection to a new claim that no passage of its cited sources supports, or an empty
    string."""
    old = {claim.text: set(claim.source_ids) for claim in split_claims(version.article)}
    titles = study.contexts
    carried = carried_over(version.checked or Checked(claims_in(version.article), []), after)
    for claim in carried.claims:
        if set(claim.source_ids) >= old.get(claim.text, {""}) or (
            claim.reason != CHANGED and claim.source_ids
        ):
            continue
        if not claim.source_ids:
            return f"It has no citation: “{_short(claim)}”"
        if looked_up(claim, study.texts, titles).verdict != "verified":
            return f"No passage of {', '.join(claim.source_ids)} supports it: “{_short(claim)}”"
    return ""


def _short(claim: Claim) -> str:
    return claim.text if len(claim.text) <= 160 else f"{claim.text[:159]}…"


def _uncited(version: Version, after: str) -> str:
    """Return the objection to a new sentence without a citation that states something new, or an empty
    string."""
    old = {sentence for text in prose_of(version.article) for sentence in sentences_in(text)}
    open_points = [*version.quality.missing, *version.unsupported, NOT_COVERED]
    known = stems_of("\n".join([version.article, *open_points]))
    claims = {claim.text for claim in split_claims(after)}
    paragraphs = [sentences_in(text) for text in prose_of(after)]
    made_up = {sentence for sentences in paragraphs for sentence in illustrations_in(sentences)}
    for sentence in chain.from_iterable(paragraphs):
        stems = stems_of(sentence)
        if not stems or len(sentence.split()) < LONG or sentence in old | claims | made_up:
            continue
        if len(stems & known) / len(stems) < REPEATED:
            return f"It has no citation: “{sentence[:160]}”"
    return ""


def _falls(study: Study, version: Version, after: str) -> str:
    """Return the objection if an edit takes the article below the target quality, or an empty string."""
    target = study.brief.min_quality
    if version.quality.overall < target:
        return ""
    quality = measured_again(study, version, after, []).quality.overall
    if quality >= target:
        return ""
    return f"The quality would fall to {', below the target of '.join(against(quality, target))}."


# ── revision ─────────────────────────────────────────────────────────────────────────────────────


async def _revised(study: Study, version: Version, remarks: list[str]) -> Version:
    """Search for the points of the editor's remarks, rewrite the article, and check its facts."""
    writer = agent_of("article_writer", words=study.brief.length)
    shown = "".join(text for _, text in material_of(study, version))
    async with study.run.branch("revision"):
        if not await affordable(study.run, writer, shown, version.article, times=2):
            study.warn("The editor's remarks are not worked in: the budget does not allow it.")
            return version
        study.missing, study.remarks = list(remarks), []
        study.feedback = ["The final editor has sent the last version back."]
        study.failed = version.doubtful
        await _search(study, remarks)
        made = await write_article(study, "article_writer", cheaper=False, alone=True)
        study.made = _without_parts(study.made) | {"article_writer": made}
        checker = await check_facts(study, "fact_checker", cheaper=False)
    return _better(study, version, checker.value)


def _without_parts(made: dict[str, WorkerOutput]) -> dict[str, WorkerOutput]:
    """Return the work of other workers that stays valid for a new article; of the language editor only the
    grade."""
    valid = {
        name: output
        for name, output in made.items()
        if name not in ("introduction_writer", "conclusion_writer")
    }
    graded = valid.get("editor")
    if graded is not None and isinstance(graded.value, Edit):
        valid["editor"] = replace(graded, value=graded.value.model_copy(update={"article": ""}))
    return valid


def _better(study: Study, version: Version, checked: Checked) -> Version:
    """Return the revised version, unless it lost too much of its evidence or fell below the target
    quality."""
    article = clean_draft(study)[0]
    if version.checked is not None and checked.verified < LEAST_KEPT * version.checked.verified:
        study.warn("The revision lost too much of its evidence; the version before is kept.")
        study.made = dict(version.made)
        return version
    quality = score(study, measure(study, article, checked, version.judged), [])
    new = Version(version.iteration, article, checked, quality, dict(study.made), version.judged)
    if decide_version(study, version) == "complete" != decide_version(study, new):
        study.warn("The revision fell below the quality asked for; the version before is kept.")
        study.made = dict(version.made)
        return version
    return new


def decide_version(study: Study, version: Version) -> Decision:
    """Decide whether a version is good enough, by the rule of every iteration."""
    quality = version.quality
    return decide(quality.overall, study.brief.min_quality, study.iteration, quality.coverage)


async def _search(study: Study, remarks: list[str]) -> None:
    """Search for every remark. A failed search leaves the sources unchanged."""
    plan = study.plan.workers if study.plan else []
    worker = next((name for name in plan if name in SEARCHES), "")
    if not worker:
        return
    try:
        for nth, remark in enumerate(remarks):
            answer = await study.run.step(
                "search", study.library.search, worker, remark, POINT_RESULTS, returns=SearchAnswer
            )
            await shelve(study, answer.found, nth)
        if "web_scraper" in plan:
            await take_texts(study, (await scrape(study, "web_scraper")).value)
    except StepFailedError as error:
        study.warn(f"Nothing more was found for the editor's remarks: {error.reason}")
